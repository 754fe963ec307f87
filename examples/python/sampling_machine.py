"""Part of a model on a machine that can only draw samples, such as an Ising machine or an annealer: here its simulator.
Couplings go there, states of -1 and +1 come back. Within a function of your own, what the samples say is the forward,
and how they vary together is the derivative, so that the rest of the program trains as ever.

python examples/python/sampling_machine.py [--device cuda]
pip install dwave-samplers

Without the simulator the program says so, and that is all.
"""

import neura
from example import options

args = options(__doc__)
try:
    from dwave.samplers import SimulatedAnnealingSampler
except ImportError:
    print("nothing to show without the simulator: pip install dwave-samplers")
    raise SystemExit from None

neura.manual_seed(0)
SPINS, READS = 5, 500 if args.quick else 2000
PAIRS = [(i, j) for i in range(SPINS) for j in range(i + 1, SPINS)]
left, right = (neura.tensor([pair[k] for pair in PAIRS]) for k in (0, 1))
calls = 0


def statistics(states):
    """Of each state its spins, and the products of pairs: the energy is linear in them."""
    return neura.cat([states, states[:, left] * states[:, right]], dim=1)


# %% The border: numbers go over as Python's, and come back as an array
def draw(weights):
    global calls
    calls += 1
    fields, couplings = weights[:SPINS].tolist(), weights[SPINS:].tolist()
    answer = SimulatedAnnealingSampler().sample_ising(
        dict(enumerate(fields)),
        dict(zip(PAIRS, couplings)),
        num_reads=READS,
        num_sweeps=60,
        beta_range=[0.2, 1.0],
        seed=calls,
    )
    assert list(answer.variables) == list(range(SPINS))
    seen = statistics(neura.from_numpy(answer.record.sample.copy()).float())
    # Both sides mean the same: the energy that the machine reports is that of the states it sent.
    reported = neura.from_numpy(answer.record.energy.copy()).float()
    assert neura.allclose(seen @ weights.cpu(), reported, atol=1e-3)
    return seen.to(weights.device)


class Means(neura.autograd.Function):
    """The means of the statistics in equilibrium. Their derivative by a weight is minus a covariance."""

    @staticmethod
    def forward(ctx, weights):
        seen = draw(weights.detach())
        ctx.save_for_backward(seen)
        return seen.mean(dim=0)

    @staticmethod
    def backward(ctx, g):
        (seen,) = ctx.saved_tensors
        apart = seen - seen.mean(dim=0)
        return -(apart.T @ (apart @ g)) / len(seen)


# %% What is to be learned: the means of a distribution of 32 states, of which we know all
states = neura.tensor([[1.0 if n >> i & 1 else -1.0 for i in range(SPINS)] for n in range(1 << SPINS)])


def probabilities(weights):
    return (-statistics(states) @ weights.detach().cpu()).softmax(dim=0)


goal = probabilities(neura.randn(SPINS + len(PAIRS)) * 0.5)
wanted = (goal @ statistics(states)).to(args.device)


def divergence(weights):
    p = probabilities(weights)
    return (goal * (goal / p).log()).sum().item()


weights = neura.zeros(SPINS + len(PAIRS), device=args.device, requires_grad=True)
optimizer = neura.optim.Adam([weights], lr=0.1)
before = divergence(weights)
steps = 30 if args.quick else 80
for step in range(1, steps + 1):
    optimizer.zero_grad()
    loss = (Means.apply(weights) - wanted).square().sum()
    loss.backward()
    optimizer.step()
    if step % (steps // 5) == 0:
        print(f"step {step:2}  loss {loss.item():.4f}  divergence from the goal {divergence(weights):.4f}")
after = divergence(weights)
print(f"{calls} calls of the machine, {calls * READS} states; divergence {before:.3f} before, {after:.3f} after")
assert after < 0.1 * before
