"""Layers of integer weights: their biases, groups of weights, and what is refused."""

import neura
import pytest
from neura import nn, quantization as q


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_dynamic_layer_names_what_is_not_finite(value):
    made = q.quantize_dynamic(nn.Linear(2, 2))
    with pytest.raises(neura.errors.ValueError, match="DynamicLinear: expected finite numbers, got a range of"):
        made(neura.tensor([[value, 0.0]]))


@pytest.mark.parametrize("bits, group", [(8, 32), (4, 32), (4, 16), (8, 1)])
def test_weights_in_groups_are_within_half_a_step(bits, group):
    neura.manual_seed(0)
    layer = nn.Linear(96, 700)
    made = q.quantize_weights(layer, bits=bits, group=group)
    step = made.weight_scale.repeat_interleave(group, 1)
    assert bool(((made.float_weight() - layer.weight).abs() <= step * 0.5001).all())
    assert made.weight.nbytes * 8 == layer.weight.numel() * bits
    x = neura.randn(3, 2, 96, requires_grad=True)
    y = made(x)
    assert neura.allclose(y, nn.functional.linear(x, made.float_weight(), layer.bias), atol=1e-5)
    y.sum().backward()
    assert neura.allclose(x.grad[0, 0], made.float_weight().sum(0), atol=1e-4)


def test_a_dynamic_layer_keeps_its_bias_whatever_the_input():
    layer = nn.Linear(64, 8)
    layer.bias.data.copy_(neura.tensor([2.0, -3.0, 0.0, 1e4, -1e-3, 100.0, 0.5, -0.25]))
    made = q.quantize_dynamic(layer)
    assert neura.equal(made(neura.zeros(2, 64)), layer.bias.detach().expand(2, 8))
    x = neura.randn(3, 64) * 1e-6
    assert neura.allclose(made(x), layer(x), atol=1e-5)


@pytest.mark.parametrize("layer, sizes", [(nn.Linear(16, 4), (5, 16)), (nn.Conv2d(2, 4, 3), (5, 2, 6, 6))])
def test_a_layer_calibrated_on_small_numbers_keeps_its_bias(layer, sizes):
    layer.bias.data.copy_(neura.tensor([2.0, -3.0, 1e-8, 1e4]))
    x = neura.randn(sizes) * 1e-5
    prepared = q.prepare(layer.eval())
    prepared(x)
    made = q.convert(prepared)
    assert neura.allclose(made(x), layer(x), rtol=1e-6, atol=2e-6)
    relu = q.prepare(nn.Sequential(layer, nn.ReLU()).eval())
    relu(x)
    assert neura.allclose(q.convert(relu)(x), layer(x).relu(), rtol=1e-6, atol=2e-6)


def test_weights_of_four_bits_and_odd_features_stay():
    model = nn.Sequential(nn.Linear(33, 8), nn.Linear(8, 3))
    made = q.quantize_weights(model, bits=4, group=1)
    assert type(made[0]) is nn.Linear and type(made[1]) is q.WeightOnlyLinear


@pytest.mark.parametrize("options, text", [({"group": 0}, "group to be 1 or more"), ({"bits": 3}, "bits to be 8 or 4")])
def test_widths_that_no_layer_has_are_refused(options, text):
    for model in (nn.Linear(8, 2), nn.Sequential()):
        with pytest.raises(neura.errors.ValueError, match=text):
            q.quantize_weights(model, **options)


@pytest.mark.parametrize("function", [q.prepare, q.prepare_qat, q.quantize_dynamic, q.quantize_weights])
def test_the_names_to_skip_are_a_list(function):
    model = nn.Sequential(nn.Linear(8, 2)).eval()
    with pytest.raises(TypeError, match="expected skip to be a list of names, got the text '0'"):
        function(model, skip="0")
    assert type(function(model, skip=["0"])[0]) is nn.Linear


def test_weights_that_do_not_fit_into_groups_stay():
    model = nn.Sequential(nn.Linear(33, 4), nn.Linear(64, 4))
    made = q.quantize_weights(model)
    assert type(made[0]) is nn.Linear and type(made[1]) is q.WeightOnlyLinear
    with pytest.raises(ValueError, match="quantize_weights: expected bits to be 8 or 4, got 3"):
        q.quantize_weights(model, bits=3)
