"""Three models that do not train, and the tool that finds out why: the first NaN, gradients that vanish, and memory
that grows from step to step.

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


# %% 2. Lower layers do not learn. How large are the gradients, layer by layer?
def gradient_flow(net):
    """The norm of each weight's gradient relative to the weight, from the first layer to the last."""
    loss = net(x).square().mean()
    net.zero_grad()
    loss.backward()
    return {n: (p.grad.norm() / p.norm()).item() for n, p in net.named_parameters() if n.endswith("weight")}


def deep(activation):
    layers = [layer for _ in range(8) for layer in (nn.Linear(16, 16), activation())]
    return nn.Sequential(*layers, nn.Linear(16, 1)).to(args.device)


def fix(m):
    if isinstance(m, nn.Linear):
        nn.init.kaiming_uniform_(m.weight, nonlinearity="relu")
        nn.init.zeros_(m.bias)


vanishing, healthy = gradient_flow(deep(nn.Sigmoid)), gradient_flow(deep(nn.ReLU).apply(fix))
for name, net in (("sigmoid", vanishing), ("relu, kaiming", healthy)):
    print(f"2. {name}: " + " ".join(f"{ratio:.0e}" for ratio in net.values()))
assert min(vanishing.values()) < 1e-6 * max(vanishing.values()), "the first layers' gradients vanish"
assert min(healthy.values()) > 1e-3 * max(healthy.values())


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
