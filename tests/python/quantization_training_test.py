"""Training with fake quantisation, and what becomes of it."""

import copy

import neura
import pytest
from neura import nn, quantization as q
from quantization_models import accuracy, network, pictures, train


@pytest.fixture(scope="module")
def trained():
    model = network()
    train(model, 60)
    return model.eval()


def test_every_layer_is_prepared_and_a_second_call_changes_nothing():
    model = network()
    prepared = q.prepare_qat(model)
    found = [m for m in prepared.modules() if hasattr(m, "weight_fake_quant")]
    assert len(found) == 3 and all(isinstance(m.input_fake_quant, q.FakeQuantize) for m in found)
    assert not [m for m in prepared.modules() if type(m) in (nn.Linear, nn.Conv2d)]
    again = q.prepare_qat(prepared)
    assert repr(again) == repr(prepared)
    assert list(again.state_dict()) == list(prepared.state_dict())
    assert [type(m) for m in model][:2] == [nn.Conv2d, nn.BatchNorm2d]  # the model itself is as it was
    assert {id(p) for p in q.prepare_qat(model, inplace=True).parameters()} == {id(p) for p in model.parameters()}


def test_gradients_reach_weights_through_the_rounding():
    prepared = q.prepare_qat(network())
    x, kinds = pictures(16)
    nn.functional.cross_entropy(prepared(x), kinds).backward()
    assert all(p.grad is not None and bool(p.grad.abs().sum() > 0) for p in prepared.parameters())


@pytest.mark.parametrize("bn", [True, False])
@pytest.mark.parametrize("bits", [8, 4])
def test_converted_models_agree_with_the_fake_ones(bn, bits):
    prepared = q.prepare_qat(network(bn=bn), q.get_default_qat_qconfig(weight_bits=bits))
    train(prepared, 20)
    prepared.eval()
    x = pictures(50, 9)[0]
    with neura.no_grad():
        prepared.apply(q.disable_observer)
        want = prepared(x)
        inputs = []
        prepared[-1].register_forward_pre_hook(lambda module, given: inputs.append(given[0]))
        prepared(x)
    made = q.convert_qat(prepared)
    # one step of the last layer's input, times its weights
    last = made[-1]
    step = float(last.scale) * float(last.float_weight().abs().sum(1).max())
    assert float((made(x) - want).abs().max()) <= step
    # the layer by itself: nothing is rounded in between but its bias, to whole steps of the sums
    assert float((last(inputs[0]) - want).abs().max()) <= float(last.scale * last.weight_scale.max()) / 2 + 1e-5
    assert int(made[0].weight.abs().max()) <= 1 << (bits - 1)


def test_grids_and_statistics_are_frozen():
    prepared = q.prepare_qat(network())
    train(prepared, 5)
    prepared.apply(q.disable_observer)
    prepared.apply(q.freeze_bn_stats)
    frozen = {k: v.clone() for k, v in prepared.state_dict().items() if "fake_quant" in k or "running" in k}
    assert len(frozen) > 20
    weights = prepared[0].weight.detach().clone()
    train(prepared, 3, lr=0.1)
    assert all((prepared.state_dict()[k] == v).all() for k, v in frozen.items())
    assert not (prepared[0].weight == weights).all()


def test_training_with_rounding_beats_rounding_afterwards(trained):
    config = q.get_default_qconfig(weight_bits=2)
    prepared = q.prepare(trained, config)
    prepared(pictures(256, 5)[0])
    afterwards = accuracy(q.convert(prepared))
    model = q.prepare_qat(copy.deepcopy(trained).train(), q.get_default_qat_qconfig(weight_bits=2))
    train(model, 60, lr=0.003, seed=2)
    model.apply(q.disable_observer)
    model.apply(q.freeze_bn_stats)
    train(model, 20, lr=0.001, seed=3)
    assert accuracy(q.convert(model)) >= afterwards


@pytest.mark.parametrize("bits", [8, 4])
def test_models_go_through_onnx_files(bits):
    prepared = q.prepare_qat(network(), q.get_default_qat_qconfig(weight_bits=bits))
    train(prepared, 5)
    prepared.apply(q.disable_observer).eval()
    x = pictures(6, 9)[0]
    with neura.no_grad():
        want = prepared(x)
    data = neura.onnx.export(prepared, x)
    assert all(name in data for name in (b"QuantizeLinear", b"DequantizeLinear", b"Conv", b"Gemm"))
    assert neura.allclose(neura.onnx.load(data)(x), want, atol=1e-4)
    made = q.convert(prepared)
    data = neura.onnx.export(made, x)
    assert all(name in data for name in (b"QuantizeLinear", b"MatMulInteger")) and len(data) < 20000
    assert neura.allclose(neura.onnx.load(data)(x), made(x), atol=1e-5)


def test_a_normalisation_of_weight_zero_gives_numbers_and_learns():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2))
    with neura.no_grad():
        model[1].weight.copy_(neura.tensor([0.0, 1.0]))
        model[1].bias.fill_(0.5)
    prepared = q.prepare_qat(model.train())
    x = neura.randn(4, 1, 6, 6)
    y = prepared(x)
    assert neura.allclose(y[:, 0], neura.full_like(y[:, 0], 0.5))
    (y * neura.randn_like(y)).sum().backward()
    grad = prepared[0].bn.weight.grad
    assert grad.isfinite().all() and grad[0] != 0
    quantized = q.convert(prepared.eval())(x)
    assert neura.allclose(quantized[:, 0], neura.full_like(quantized[:, 0], 0.5), atol=1e-3)


@pytest.mark.parametrize("make", [q.get_default_qconfig, q.get_default_qat_qconfig])
def test_weights_have_as_many_bits_as_int8_holds(make):
    for bits in (0, 9, -3, 2**40, 2**70):
        with pytest.raises(ValueError, match=rf"{make.__name__}: expected from 1 to 8 weight_bits, .*, got {bits}"):
            make(bits)
    with pytest.raises(TypeError, match="expected an integer for weight_bits, got str"):
        make("eight")
    assert make("x86").weight().quant_max == 127 and make(4).weight().quant_min == -8
