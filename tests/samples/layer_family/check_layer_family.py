"""A layer of a new family in Python: arguments, parameter, state dict."""

import neura


def test_it_scales_channels():
    layer = neura.nn.LayerScale(4, init=0.5)
    assert layer(neura.ones(3, 4)).tolist() == [[0.5] * 4] * 3
    assert list(layer.state_dict()) == ["weight"]
    assert layer.channels == 4 and layer.weight.requires_grad
