"""neura.profiler.NanTracker names the operation that made the first NaN, what went into it, and its module."""

import neura
import pytest
from neura import nn
from neura.profiler import NanTracker


class Root(nn.Module):
    def forward(self, x):
        return x.sqrt()


def test_forward_with_its_module_and_ranges():
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Tanh(), Root()), nn.Linear(2, 2))
    nn.init.constant_(model[0].weight, -1.0)
    with NanTracker() as tracker:
        model(neura.ones(3, 2))
        neura.tensor([0.0]).log()
    found = tracker.found
    assert (found.operation, found.backward, found.module) == ("sqrt", False, "Sequential.1.1")
    assert found.result.endswith("6 nan") and len(found.operands) == 1
    assert found.operands[0].startswith("float32 [3, 2] from -0.") and "nan" not in found.operands[0]
    assert str(found).startswith("in Sequential.1.1: sqrt gave float32 [3, 2]")


def test_backward():
    x = neura.tensor([0.0, 1.0], requires_grad=True)
    with NanTracker() as tracker:
        y = (x.sqrt() * 0).sum()
        assert tracker.found is None
        y.backward()
    assert tracker.found.backward and "sqrt" in tracker.found.operation


def test_after_a_module_it_is_not_the_modules():
    model = nn.Tanh()
    with NanTracker() as tracker:
        model(neura.ones(2)).sub(2).log()
    assert (tracker.found.operation, tracker.found.module) == ("log", "")


@pytest.mark.parametrize("infinities", [True, False])
def test_infinities_and_writing_in_place(infinities):
    x = neura.ones(2)
    with NanTracker(infinities) as tracker:
        x.sub_(1).reciprocal_()
        (x - x).exp()
    assert tracker.found.operation == ("reciprocal" if infinities else "sub")
    assert ("2 inf" if infinities else "2 nan") in tracker.found.result
    assert ("written in place" in tracker.found.operands[0]) == infinities


def test_nothing_to_find_and_again():
    tracker = NanTracker()
    with tracker:
        neura.ones(3).exp(), neura.arange(3) // 2, neura.ones(0).log()
    assert tracker.found is None
    with tracker:
        neura.tensor([1 + 1j, complex("nan")]).exp()
    assert tracker.found.operation == "exp"
    neura.tensor([-1.0]).log()
    assert tracker.found.operation == "exp"


def test_what_an_operation_writes():
    p, other = nn.Parameter(neura.ones(2)), nn.Parameter(neura.ones(3))
    optimizer = neura.optim.SGD([other, p], lr=float("inf"))
    ((p * 0).sum() + (other * 2).sum()).backward()
    with NanTracker(infinities=False) as tracker:
        optimizer.step()
    assert "sgd" in tracker.found.operation and tracker.found.result == "float32 [2], 2 nan"
    assert tracker.found.operands == ["float32 [2], written in place", "float32 [2] from 0 to 0"]

    norm = nn.BatchNorm1d(2, momentum=float("nan"))
    with NanTracker() as tracker:
        norm(neura.randn(4, 2))
    assert "batch_norm" in tracker.found.operation and tracker.found.result == "float32 [2], 2 nan"
