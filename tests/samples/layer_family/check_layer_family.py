"""A layer of a new family in Python: arguments, parameter, state dict."""

import inspect

import neura
import pytest


def test_it_scales_channels():
    layer = neura.nn.LayerScale(4, init=0.5)
    assert layer(neura.ones(3, 4)).tolist() == [[0.5] * 4] * 3
    assert list(layer.state_dict()) == ["weight"]
    assert layer.channels == 4 and layer.weight.requires_grad


def test_its_arguments_are_those_of_cpp():
    assert str(inspect.signature(neura.nn.LayerScale)) == "(channels, init=0.0001, device=None, dtype=None)"
    with pytest.raises(TypeError, match="LayerScale: expected channels, got none"):
        neura.nn.LayerScale()
