"""A network that learns in a second, for the tests of quantisation."""

import neura
from neura import nn


def network(seed=0, bn=True):
    neura.manual_seed(seed)
    norm = [nn.BatchNorm2d(8)] if bn else []
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        *norm,
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3, padding=1, stride=2, groups=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32, 10),
    )


def pictures(count, seed=0):
    """Pictures [count, 1, 8, 8] of 10 kinds, and the kinds: a bright bar that lies differently for each, in noise."""
    generator = neura.Generator().manual_seed(seed)
    kinds = neura.randint(0, 10, (count,), generator=generator)
    x = 0.4 * neura.randn(count, 1, 8, 8, generator=generator)
    rows = neura.arange(8).reshape(1, 8, 1)
    columns = neura.arange(8).reshape(1, 1, 8)
    place = kinds.reshape(-1, 1, 1)
    bars = neura.where(place < 5, rows == place + 1, columns == place - 4)
    return x + bars.unsqueeze(1).float(), kinds


def train(model, steps, lr=0.01, seed=1):
    optimizer = neura.optim.Adam(model.parameters(), lr=lr)
    for step in range(steps):
        x, kinds = pictures(64, seed * 1000 + step)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), kinds).backward()
        optimizer.step()


def accuracy(model):
    x, kinds = pictures(1000, 77)
    with neura.no_grad():
        return float((model(x).argmax(1) == kinds).float().mean())
