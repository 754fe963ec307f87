"""Learning to learn (MAML; Finn et al., 2017): initial values from which one step of gradient descent fits a new sine
wave. The meta-loss is the loss after that step, so that its gradient goes through the step: a derivative of a
derivative.

python examples/python/meta_learning.py [--device cuda]
"""

import math

import neura
from example import options
from neura import nn
from neura.func import functional_call, grad, vmap

args = options(__doc__)
neura.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1)).to(args.device)


def tasks(count):
    """For each task five points to learn from and ten to be judged by: [count, 5, 1], [count, 10, 1], with values."""
    amplitude, phase = 0.5 + 2 * neura.rand(count, 1, 1), math.pi * neura.rand(count, 1, 1)
    learn, judge = 6 * neura.rand(count, 5, 1) - 3, 6 * neura.rand(count, 10, 1) - 3
    values = [amplitude * (x + phase).sin() for x in (learn, judge)]
    return [x.to(args.device) for x in (learn, values[0], judge, values[1])]


def loss(parameters, x, y):
    return (functional_call(net, parameters, (x,)) - y).square().mean()


def adapted(parameters, x, y, rate=0.05):
    """The parameters after a step of gradient descent; the step is differentiable."""
    slopes = grad(loss)(parameters, x, y)
    return {name: p - rate * slopes[name] for name, p in parameters.items()}


def after_a_step(parameters, learn_x, learn_y, judge_x, judge_y):
    return loss(adapted(parameters, learn_x, learn_y), judge_x, judge_y)


# %% Many tasks at once: vmap runs the inner step for each of them
meta_loss = vmap(after_a_step, in_dims=(None, 0, 0, 0, 0))
optimizer = neura.optim.Adam(net.parameters(), lr=2e-3)
history, steps = [], 150 if args.quick else 1500
for step in range(steps):
    value = meta_loss(dict(net.named_parameters()), *tasks(25)).mean()
    optimizer.zero_grad()
    value.backward()  # the second derivative
    optimizer.step()
    history.append(value.item())
    if step % (steps // 5) == 0:
        print(f"step {step:4}  meta-loss {value.item():.3f}")
first, last = sum(history[:10]) / 10, sum(history[-10:]) / 10
print(f"meta-loss {first:.3f} -> {last:.3f}")
assert last < 0.8 * first, "the meta-loss falls"

# %% What was learned: a step helps these initial values more than it helps others
parameters = {name: p.detach() for name, p in net.named_parameters()}
new = tasks(200)
before = vmap(loss, in_dims=(None, 0, 0))(parameters, new[2], new[3]).mean().item()
after = meta_loss(parameters, *new).mean().item()
print(f"200 new waves: loss {before:.3f} before the step, {after:.3f} after it")
assert after < before
