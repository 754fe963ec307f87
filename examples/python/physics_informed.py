"""A network that solves a differential equation, without a single measured value: it is trained so that its own second
derivative fulfils u'' = -u, u(0) = 0, u'(0) = 1. The answer is the sine.

python examples/python/physics_informed.py [--device cuda]
"""

import math

import neura
from example import options
from neura import nn
from neura.autograd import grad

args = options(__doc__)
neura.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1)).to(args.device)


def derivatives(t):
    """u, u' and u'' at the points t [N, 1]. Each point's value depends on that point alone, so that the gradient of the
    sum has every point's derivative; create_graph lets it be differentiated again."""
    u = net(t)
    (first,) = grad(u.sum(), t, create_graph=True)
    (second,) = grad(first.sum(), t, create_graph=True)
    return u, first, second


# %% The residual at random times, and the two conditions at 0
start = neura.zeros(1, 1, device=args.device, requires_grad=True)
optimizer = neura.optim.Adam(net.parameters(), lr=5e-3)
steps = 400 if args.quick else 2500
schedule = neura.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps)
residuals = []
for step in range(steps):
    t = (math.pi * neura.rand(64, 1)).to(args.device).requires_grad_()
    u, _, second = derivatives(t)
    residual = (second + u).square().mean()
    u0, first0, _ = derivatives(start)
    loss = residual + u0.square().sum() + (first0 - 1).square().sum()
    optimizer.zero_grad()
    loss.backward()  # the third derivative of the network, in its weights
    optimizer.step()
    schedule.step()
    residuals.append(residual.item())
    if step % (steps // 5) == 0:
        print(f"step {step:4}  residual {residual.item():.5f}  loss {loss.item():.5f}")

# %% Against the sine
t = neura.linspace(0, math.pi, 9, device=args.device).reshape(-1, 1)
with neura.no_grad():
    u = net(t)
worst = (u - t.sin()).abs().max().item()
print("     t  network     sine")
for a, b in zip(t.flatten().tolist(), u.flatten().tolist()):
    print(f"{a:6.3f}  {b:7.4f}  {math.sin(a):7.4f}")
print(f"largest error {worst:.4f}")
peak, last = max(residuals), sum(residuals[-20:]) / 20
assert last < peak / 10, "the residual falls"
assert worst < (0.15 if args.quick else 0.02)
