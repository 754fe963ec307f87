"""Models that do not train, and the tool that finds out why: the first NaN, gradients that vanish or explode, and
memory that grows from step to step.

python examples/python/debugging_example.py
"""

import neura
from example import memory, options
from neura import nn
from neura.profiler import NanTracker

args = options(__doc__)
neura.manual_seed(0)
x = neura.rand(64, 16, device=args.device)


# %% 1. The loss is NaN. Which operation made the first one?
class Entropy(nn.Module):
    """Forgets that log(0) is infinite, and that 0 times infinity is NaN."""

    def forward(self, shares):
        return -(shares * shares.log()).sum(dim=1)


broken = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), Entropy()).to(args.device)
assert broken(x).isnan().any()
with NanTracker(infinities=False) as tracker:  # infinities=True would name the logarithm
    broken(x).mean().backward()
found = tracker.found
print(f"1. {found}")
assert found.operation == "mul" and found.module.endswith("2") and not found.backward

with NanTracker() as tracker:  # a NaN in backward: the root of 0 has an infinite slope
    z = neura.zeros(3, device=args.device, requires_grad=True)
    (z.sqrt() * 0).sum().backward()
print(f"   {tracker.found}")
assert tracker.found.backward


# %% 2. Lower layers do not learn, or nothing stays what it was. How large are the gradients, layer by layer?
def gradient_flow(net):
    """The norm of each weight's gradient relative to the weight, from the first layer to the last."""
    loss = net(x).square().mean()
    net.zero_grad()
    loss.backward()
    return {n: (p.grad.norm() / p.norm()).item() for n, p in net.named_parameters() if n.endswith("weight")}


def deep(activation):
    layers = [layer for _ in range(8) for layer in (nn.Linear(16, 16), activation())]
    return nn.Sequential(*layers, nn.Linear(16, 1)).to(args.device)


def scaled(factor):
    def initialize(m):
        if isinstance(m, nn.Linear):
            nn.init.kaiming_uniform_(m.weight, nonlinearity="relu")
            m.weight.data *= factor
            nn.init.zeros_(m.bias)

    return initialize


def verdict(flow):
    first, last = list(flow.values())[0], list(flow.values())[-1]
    if max(flow.values()) > 1e3:  # a step of rate 0.001 would replace the weights
        return "explodes"
    return "vanishes" if first < 1e-6 * last else "fine"


deep_ones = (deep(nn.Sigmoid), deep(nn.ReLU).apply(scaled(8)), deep(nn.ReLU).apply(scaled(1)))
for name, net, expected in zip(
    ("sigmoid", "weights 8 times too large", "relu, kaiming"), deep_ones, ("vanishes", "explodes", "fine")
):
    flow = gradient_flow(net)
    print(f"2. {name}: {verdict(flow)} " + " ".join(f"{ratio:.0e}" for ratio in flow.values()))
    assert verdict(flow) == expected


# %% 3. Memory grows from batch to batch of an evaluation. How much is in use after each?
def used_after_steps(keep):
    net, kept, used = nn.Sequential(nn.Linear(16, 4096), nn.Tanh(), nn.Linear(4096, 1)).to(args.device), [], []
    for _ in range(6):
        loss = net(x).square().mean()  # of an evaluation: no backward frees what it would read
        kept.append(keep(loss))
        del loss
        used.append(memory(args.device).memory_allocated() / 1e6)
    return used


leaking, fixed = used_after_steps(lambda loss: loss), used_after_steps(lambda loss: loss.detach())
print("3. losses with their history: " + " ".join(f"{u:.1f}" for u in leaking) + " MB")
print("   detached:                  " + " ".join(f"{u:.1f}" for u in fixed) + " MB")
step = (leaking[-1] - leaking[1]) / 4
assert step > 0.5 and all(b > a for a, b in zip(leaking, leaking[1:])), "each step leaves about a megabyte"
assert abs(fixed[-1] - fixed[1]) < 0.1 * step
