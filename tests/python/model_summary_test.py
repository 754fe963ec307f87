"""neura.utils.summary: the table of a small network, its totals, and a model that is as it was afterwards."""

import neura
import pytest
from neura import nn
from neura.utils import summary

TABLE = """\
Module            Output          Parameters  Multiply-adds
-----------------------------------------------------------
Sequential        [2, 10]                  0              0
  0: Conv2d       [2, 8, 26, 26]          80         97,344
  1: BatchNorm2d  [2, 8, 26, 26]          16              0
  2: ReLU         [2, 8, 26, 26]           0              0
  3: MaxPool2d    [2, 8, 13, 13]           0              0
  4: Flatten      [2, 1352]                0              0
  5: Linear       [2, 10]             13,530         27,040
-----------------------------------------------------------
Parameters: 13,626, of which 13,546 are trained
Multiply-adds: 124,384
Bytes: 54,576 of parameters and buffers, 151,504 of outputs"""


def network():
    parts = nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1352, 10)
    model = nn.Sequential(*parts)
    model[0].requires_grad_(False)
    return model


def test_the_table():
    assert str(summary(network(), (2, 1, 28, 28))) == TABLE


def test_the_model_stays_what_it_was():
    model = network()
    model[2].eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    summary(model, inputs=neura.ones(2, 1, 28, 28))
    with pytest.raises(RuntimeError):
        summary(model, (2, 3, 28, 28))
    assert [m.training for m in model.modules()] == [True, True, True, False, True, True, True]
    assert all(neura.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(not m._forward_hooks and not m._forward_pre_hooks for m in model.modules())


def test_parts_used_twice_several_inputs_and_results():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.shared = nn.Linear(4, 4)
            self.up = nn.ConvTranspose1d(4, 2, 3, groups=2)

        def forward(self, x, y=None):
            return {"a": self.shared(self.shared(x)), "b": [self.up(y)]}

    got = summary(Two(), [(3, 4), (1, 4, 5)])
    assert [row.name for row in got.rows] == ["", "shared", "shared", "up"]
    assert got.rows[0].output_shapes == [(3, 4), (1, 2, 7)] and got.total_parameters == 20 + 4 * 3 + 2
    assert got.multiply_adds == 2 * 3 * 4 * 4 + 4 * 5 * 1 * 3
    named = summary(Two(), inputs={"x": neura.ones(3, 4), "y": neura.ones(1, 4, 5)})
    assert str(named) == str(got)


def test_what_is_refused():
    for arguments in ({}, {"input_size": (1,), "inputs": neura.ones(1)}):
        with pytest.raises(ValueError, match="one of input_size and inputs"):
            summary(nn.ReLU(), **arguments)
