"""Federated averaging (McMahan et al., 2017): five clients train one model together and keep their data to
themselves. In each round a client continues from the common weights for a few steps on its own data; only weights
travel, and their mean, weighed by how much data each has, is the next common model.

python examples/python/federated_averaging.py [--device cuda]
"""

import neura
from example import options
from neura import nn

args = options(__doc__)
neura.manual_seed(0)
classes, rounds = 6, 10 if args.quick else 30

# %% Data: noisy prototypes. Each client sees some classes often and others seldom, and has another amount of it
prototypes = neura.randn(classes, 16)


def make(count, weights):
    label = neura.multinomial(weights, count, replacement=True)
    return (prototypes[label] + 1.1 * neura.randn(count, 16)).to(args.device), label.to(args.device)


clients = [make(100 + 60 * i, neura.rand(classes) ** 2 + 0.05) for i in range(5)]
test_x, test_y = make(3000, neura.ones(classes))


def network():
    neura.manual_seed(1)
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, classes)).to(args.device)


def train(net, x, y, steps):
    optimizer = neura.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for _ in range(steps):
        chosen = neura.randint(0, len(y), (32,), device=args.device)
        loss = nn.functional.cross_entropy(net(x[chosen]), y[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@neura.no_grad()
def accuracy(net):
    return (net(test_x).argmax(1) == test_y).float().mean().item()


# %% Rounds
common, visitor, total = network(), network(), sum(len(y) for _, y in clients)
for number in range(rounds):
    state = {name: neura.zeros_like(t) for name, t in common.state_dict().items()}
    for x, y in clients:
        visitor.load_state_dict(common.state_dict())
        train(visitor, x, y, steps=10)
        for name, t in visitor.state_dict().items():
            state[name] += t * (len(y) / total)
    common.load_state_dict(state)
    if number % (rounds // 5) == 0 or number == rounds - 1:
        print(f"round {number + 1:2}  accuracy of the common model {accuracy(common):.1%}")

# %% Against a model that sees all data at once, and those of clients alone
central = network()
train(central, neura.cat([x for x, _ in clients]), neura.cat([y for _, y in clients]), steps=10 * rounds)
alone = []
for x, y in clients:
    visitor.load_state_dict(network().state_dict())
    train(visitor, x, y, steps=10 * rounds)
    alone.append(accuracy(visitor))
print(f"all data in one place {accuracy(central):.1%}; clients alone", *(f"{a:.1%}" for a in alone))
assert accuracy(common) > accuracy(central) - 0.04, "near to training in one place"
assert accuracy(common) > max(alone)
