"""From tensors to batches: a data set, the two usual orders in which it is gone through, and the loader that makes
batches of it. How many there are, and of which sizes, follows from the sizes given, and is checked.

python examples/python/data_loading_example.py
"""

import neura
from example import options
from neura import nn
from neura.utils.data import DataLoader, RandomSampler, SequentialSampler, TensorDataset

args = options(__doc__)
neura.manual_seed(0)
ITEMS, FEATURES, BATCH = 100, 5, 32
numbers = neura.arange(ITEMS)
features = neura.cat([numbers[:, None].float(), neura.randn(ITEMS, FEATURES - 1)], dim=1)
data = TensorDataset(features, numbers)


def pass_over(name, loader, expected):
    """Prints and checks the sizes of the batches; returns the numbers of the items in the order in which they came."""
    print(f"{name}: {len(loader)} batches of", *(tuple(x.shape) for x, _ in loader))
    order = []
    for count, (x, n) in zip(expected, loader):
        assert x.shape == (count, FEATURES) and n.shape == (count,)
        assert x[:, 0].equal(n.float()), "rows stay together"
        order += n.tolist()
    assert len(loader) == len(expected)
    return order


# %% In order, which is what a loader does without another word; and at random, which is what shuffle=True does
sequential = DataLoader(data, batch_size=BATCH, sampler=SequentialSampler(data))
assert pass_over("sequential", sequential, [32, 32, 32, 4]) == list(range(ITEMS))
random = DataLoader(data, batch_size=BATCH, sampler=RandomSampler(data), drop_last=True)
assert pass_over("random, only full batches", random, [32, 32, 32]) != list(range(96))
shuffled = DataLoader(data, batch_size=BATCH, shuffle=True)
first = pass_over("shuffled", shuffled, [32, 32, 32, 4])
second = pass_over("and again", shuffled, [32, 32, 32, 4])
assert first != second and sorted(first) == sorted(second) == list(range(ITEMS))
print("every epoch has an order of its own, and each item comes exactly once")

# %% A training loop over it: the sum of a row
model = nn.Linear(FEATURES, 1).to(args.device)
nn.init.zeros_(model.weight)
optimizer = neura.optim.Adam(model.parameters(), lr=0.05)
losses = []
for epoch in range(20 if args.quick else 60):
    for x, _ in shuffled:
        x = x.to(args.device) / 50
        loss = nn.functional.mse_loss(model(x), x.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}")
assert losses[-1] < losses[0] / 4
