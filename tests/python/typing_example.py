"""A program as a careful user writes it: mypy --strict accepts it, and it runs."""

from __future__ import annotations

from collections.abc import Iterator

import neura
import neura.nn.functional as F
from neura import nn


class Net(nn.Module):
    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(features, 16)
        self.output = nn.Linear(16, classes)

    def forward(self, x: neura.Tensor) -> neura.Tensor:
        y: neura.Tensor = self.output(neura.relu(self.hidden(x)))
        return y


def batches(n: int, size: int = 32) -> Iterator[tuple[neura.Tensor, neura.Tensor]]:
    for _ in range(n):
        x = neura.randn(size, 2)
        yield x, (x.sum(dim=1) > 0).long()


@neura.no_grad()
def accuracy(net: Net, x: neura.Tensor, target: neura.Tensor) -> float:
    right = (net(x).argmax(dim=1) == target).float().mean()
    return float(right)


def train(steps: int) -> float:
    neura.manual_seed(1)
    net = Net(2, 2)
    optimizer = neura.optim.SGD(net.parameters(), lr=0.5)
    for x, target in batches(steps):
        loss = F.cross_entropy(net(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    x = neura.randn(200, 2)
    return accuracy(net, x, (x.sum(dim=1) > 0).long())


def arithmetic() -> neura.Tensor:
    x = neura.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y: neura.Tensor = (x @ x.T - 2 * x / 3) ** 2
    total = y[0].sum() + y[:, 1].max()
    total.backward()
    gradient = x.grad
    assert gradient is not None
    shape: tuple[int, ...] = gradient.shape
    assert shape == (2, 2) and gradient.dtype == neura.float32
    return gradient.softmax(dim=1).to(neura.float64)


if __name__ == "__main__":
    print(arithmetic(), train(100))
