"""Trains the same network twice, with large batches and with groups of small ones of unequal lengths, and compares.

python examples/python/gradient_accumulation.py [--steps N] [--device cuda]
"""

import neura
import neura.nn.functional as F
from example import options
from neura import nn
from neura.train import Run

LENGTHS = [5, 20, 1, 38]  # of the small batches that make a large one of 64


def network(device):
    neura.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 3)).to(device)
    return model, neura.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def main():
    args = options(__doc__, steps=100)
    steps, device = min(args.steps, 40) if args.quick else args.steps, args.device

    # %% One large batch a step
    large, optimizer = network(device)
    run = Run(large, optimizer)
    batches = [(x := neura.randn(64, 10, device=device), x[:, :3].argmax(1)) for _ in range(steps)]
    for x, y in batches:
        run.step(lambda: F.cross_entropy(large(x), y))

    # %% Small ones: each gives a sum, and over how many items
    small, optimizer = network(device)
    run = Run(small, optimizer, accumulate=len(LENGTHS))
    for x, y in batches:
        for a, b in zip(x.split(LENGTHS), y.split(LENGTHS)):
            run.step(lambda: (F.cross_entropy(small(a), b, reduction="sum"), len(b)))

    # %% The same by hand, for another loop
    manual, optimizer = network(device)
    for x, y in batches:
        optimizer.zero_grad()
        for a, b in zip(x.split(LENGTHS), y.split(LENGTHS)):
            (F.cross_entropy(manual(a), b, reduction="sum") / len(y)).backward()
        optimizer.step()

    accuracy = (large(batches[-1][0]).argmax(1) == batches[-1][1]).float().mean().item()
    print(f"accuracy with large batches: {accuracy:.2f}")
    assert accuracy > 0.7
    for name, model in (("run", small), ("by hand", manual)):
        farthest = max((p - q).abs().max().item() for p, q in zip(model.parameters(), large.parameters()))
        print(f"{name}: {run.steps} steps, largest difference of a weight {farthest:.1e}")
        assert farthest < 1e-5


if __name__ == "__main__":
    main()
