"""Distillation (Hinton et al., 2015): a small network learns from few labelled points and from what a large one says
about many unlabelled ones. Softened by a temperature, its answers say more than a label: also how near the others
were.

python examples/python/distillation_example.py [--device cuda]
"""

import neura
import neura.nn.functional as F
from example import options
from neura import nn
from neura.train import distillation_loss

args = options(__doc__)
neura.manual_seed(0)


def spirals(count):
    label, radius = neura.randint(0, 3, (count,)), 0.1 + 0.9 * neura.rand(count)
    angle = 4 * radius + 2.0944 * label + 0.15 * neura.randn(count)
    points = neura.stack([radius * angle.cos(), radius * angle.sin()], dim=1)
    return points.to(args.device), label.to(args.device)


def network(width):
    return nn.Sequential(
        nn.Linear(2, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 3)
    ).to(args.device)  # fmt: skip


def train(net, loss_of):
    optimizer = neura.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(300 if args.quick else 1000):
        loss = loss_of(net)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


(x, y), (few_x, few_y), (test_x, test_y) = spirals(3000), spirals(30), spirals(3000)


@neura.no_grad()
def show(what, net):
    accuracy = (net(test_x).argmax(1) == test_y).float().mean().item()
    print(f"{what:32} {sum(p.numel() for p in net.parameters()):5} parameters, {accuracy:.1%} of new points right")
    return accuracy


# %% The teacher has all labels
teacher = network(64)
train(teacher, lambda net: F.cross_entropy(net(x), y))
of_teacher = show("teacher", teacher)

# %% A small network with 30 labels
alone, student = network(12), network(12)
student.load_state_dict(alone.state_dict())  # from the same initial values
train(alone, lambda net: F.cross_entropy(net(few_x), few_y))
of_alone = show("small network, 30 labels", alone)

# %% The same with the teacher's answers
temperature = 2.0
with neura.no_grad():
    soft = teacher(x)


def distilled(net):
    return distillation_loss(net(x), soft, temperature) + 0.1 * F.cross_entropy(net(few_x), few_y)


train(student, distilled)
of_student = show("small network, with the teacher", student)
assert of_teacher > 0.9 and of_student > of_alone + 0.03
