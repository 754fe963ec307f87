"""Quantisation of models: observers, calibration, conversion, files; integer weights."""

import copy
import pickle

import neura
import pytest
from neura import nn, quantization as q
from quantization_models import accuracy, network, pictures, train


@pytest.fixture(scope="module")
def trained():
    model = network()
    train(model, 60)
    return model.eval()


def grid(observer, x):
    scale, zero = observer.calculate_qparams()
    return neura.fake_quantize_per_tensor_affine(x, scale, zero, observer.quant_min, observer.quant_max)


# Observers


def test_extremes_are_those_that_were_seen():
    observer = q.MinMaxObserver()
    for x in (neura.tensor([-1.0, 2.0]), neura.tensor([0.5]), neura.tensor([[-3.0], [1.0]])):
        assert observer(x) is x
    assert (float(observer.min_val), float(observer.max_val)) == (-3, 2)
    scale, zero = observer.calculate_qparams()
    assert float(scale) == pytest.approx(5 / 255) and int(zero) == 153
    assert scale.dtype == neura.float32 and zero.dtype == neura.int32


def test_default_configurations_take_the_names_of_back_ends():
    for get in (q.get_default_qconfig, q.get_default_qat_qconfig):
        for name in ("x86", "fbgemm", "qnnpack"):
            named, plain = get(name).weight(), get().weight()
            assert (named.quant_min, named.quant_max) == (plain.quant_min, plain.quant_max) == (-128, 127)


def test_the_range_always_holds_zero():
    observer = q.MinMaxObserver()
    observer(neura.tensor([3.0, 5.1]))
    scale, zero = observer.calculate_qparams()
    assert float(scale) == pytest.approx(0.02) and int(zero) == 0
    assert grid(observer, neura.zeros(1)).item() == 0


def test_symmetric_ranges_have_the_middle_as_zero_point():
    for dtype, middle in ((neura.int8, 0), (neura.uint8, 128)):
        observer = q.MinMaxObserver(dtype=dtype, qscheme=q.per_tensor_symmetric)
        observer(neura.tensor([-1.0, 4.0]))
        scale, zero = observer.calculate_qparams()
        assert float(scale) == pytest.approx(4 / 127.5) and int(zero) == middle


@pytest.mark.parametrize("low, high, dtype", [(-8, 7, neura.int8), (0, 15, neura.uint8), (-32, 31, neura.int8)])
def test_fewer_bits_are_a_smaller_range(low, high, dtype):
    observer = q.MinMaxObserver(dtype=dtype, quant_min=low, quant_max=high)
    x = neura.linspace(-2, 3, 1001)
    y = grid(observer, observer(x))
    assert len(set(y.tolist())) <= high - low + 1
    assert float((y - x).abs().max()) <= 5 / (high - low) / 2 * 1.0001 + 5 / (high - low) / 2  # the zero point is whole


OBSERVERS = [
    q.MinMaxObserver,
    q.MovingAverageMinMaxObserver,
    q.PerChannelMinMaxObserver,
    q.MovingAveragePerChannelMinMaxObserver,
    q.HistogramObserver,
    q.PercentileObserver,
]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("kind", OBSERVERS)
def test_no_observer_takes_what_is_not_finite(kind, value):
    observer = kind()
    observer(neura.tensor([[-1.0, 1.0], [2.0, 3.0]]))
    seen = observer.min_val.tolist(), observer.max_val.tolist()
    with pytest.raises(neura.errors.ValueError, match=f"{kind.__name__}: expected finite numbers, got a range of"):
        observer(neura.tensor([[0.0, value], [5.0, 5.0]]))
    assert (observer.min_val.tolist(), observer.max_val.tolist()) == seen


def test_moving_averages_forget_slowly():
    observer = q.MovingAverageMinMaxObserver(averaging_constant=0.5)
    observer(neura.tensor([-1.0, 1.0]))
    observer(neura.tensor([-3.0, 2.0]))
    assert (float(observer.min_val), float(observer.max_val)) == (-2, 1.5)


def test_channels_have_ranges_of_their_own():
    x = neura.tensor([[[-1.0, 2.0], [4.0, 0.0]], [[0.5, 0.25], [-8.0, 1.0]]])  # [2, 2, 2]
    for axis, lows, highs in ((0, [-1, -8], [4, 1]), (1, [-1, -8], [2, 4]), (2, [-8, 0], [4, 2])):
        observer = q.PerChannelMinMaxObserver(ch_axis=axis)
        observer(x)
        assert observer.min_val.tolist() == lows and observer.max_val.tolist() == highs
        scale, zero = observer.calculate_qparams()
        assert zero.tolist() == [0, 0]
        assert scale.tolist() == pytest.approx([max(-a, b) / 127.5 for a, b in zip(lows, highs)])
    average = q.MovingAveragePerChannelMinMaxObserver(averaging_constant=0.5)
    average(x), average(2 * x)
    assert average.min_val.tolist() == [-1.5, -12] and average.max_val.tolist() == [6, 1.5]


def test_a_histogram_cuts_off_what_lies_far_outside():
    neura.manual_seed(3)
    x = neura.randn(20000)
    x[:2] = neura.tensor([60.0, -50.0])
    errors = {}
    for observer in (q.MinMaxObserver(quant_max=15), q.HistogramObserver(quant_max=15)):
        for part in x.split(5000):
            observer(part)
        assert (float(observer.min_val), float(observer.max_val)) == (-50, 60)
        errors[type(observer)] = float((grid(observer, x) - x).square()[2:].mean())
    assert errors[q.HistogramObserver] < errors[q.MinMaxObserver] / 4


def test_a_histogram_counts_every_number_however_it_grows():
    observer = q.HistogramObserver(bins=64)
    for scale in (1.0, 5.0, 0.1, 20.0):
        observer(scale * neura.linspace(-1, 1, 101))
    assert float(observer.histogram.sum()) == 404
    observer.reset_min_max_vals()
    observer(neura.full((7,), 2.0))
    assert float(observer.histogram.sum()) == 7
    assert grid(observer, neura.full((1,), 2.0)).item() == pytest.approx(2, abs=0.02)


def test_a_uniform_histogram_keeps_its_range():
    observer = q.HistogramObserver()
    observer(neura.linspace(-1, 3, 100001))
    scale, zero = observer.calculate_qparams()
    assert float(scale) == pytest.approx(4 / 255, rel=0.02) and int(zero) == pytest.approx(64, abs=1)


def test_a_percentile_is_that_of_the_numbers():
    observer = q.PercentileObserver(percentile=90)
    observer(neura.linspace(-1, 1, 200001))
    low, high = observer.chosen_range()
    assert float(low) == pytest.approx(-0.9, abs=0.002) and float(high) == pytest.approx(0.9, abs=0.002)


def test_observers_refuse_what_they_cannot_do():
    with pytest.raises(ValueError, match="MinMaxObserver: expected quant_min below quant_max, both from 0 to 255, got"):
        q.MinMaxObserver(quant_min=-8, quant_max=7)
    with pytest.raises(TypeError, match="expected dtype to be neura.int8 or neura.uint8"):
        q.MinMaxObserver(dtype=neura.int16)
    with pytest.raises(RuntimeError, match="MinMaxObserver: expected to have seen numbers, got none"):
        q.MinMaxObserver().calculate_qparams()
    with pytest.raises(ValueError, match="HistogramObserver: expected finite numbers"):
        q.HistogramObserver()(neura.tensor([1.0, float("inf")]))
    with pytest.raises(ValueError, match="HistogramObserver: expected a qscheme per tensor"):
        q.HistogramObserver(qscheme=q.per_channel_affine)
    with pytest.raises(ValueError, match="expected percentile above 50"):
        q.PercentileObserver(percentile=5)


# Fake quantisation


def test_fake_quantisation_lies_on_the_grid_and_passes_gradients_inside():
    fake = q.FakeQuantize(quant_max=15)
    fake(neura.tensor([0.0, 7.5]))
    fake.disable_observer()
    x = neura.tensor([-1.0, 0.2, 0.3, 7.4, 9.0], requires_grad=True)
    y = fake(x)
    assert y.tolist() == [0, 0, 0.5, 7.5, 7.5]
    y.sum().backward()
    assert x.grad.tolist() == [0, 1, 1, 1, 0]
    assert fake.disable_fake_quant()(x) is x


def test_switches_and_grids_are_saved():
    fake = q.FakeQuantize(observer=q.PerChannelMinMaxObserver)
    fake(neura.tensor([[1.0], [2.0], [3.0]]))
    fake.disable_observer()
    other = q.FakeQuantize(observer=q.PerChannelMinMaxObserver)
    other.load_state_dict(fake.state_dict())
    x = neura.rand(3, 4)
    assert other(x).tolist() == fake(x).tolist()
    assert other.scale.tolist() == fake.scale.tolist() and not bool(other.observer_enabled)


# Post-training quantisation


def test_calibration_records_the_ranges_of_activations():
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU(), nn.Linear(2, 1)).eval()
    with neura.no_grad():
        model[0].weight.copy_(neura.tensor([[2.0, 0.0], [0.0, -4.0]]))
    prepared = q.prepare(model, q.get_default_qconfig()._replace(activation=q.FakeQuantize))
    x = neura.tensor([[-1.0, 0.5], [3.0, -2.0]])
    assert prepared(x).tolist() == model(x).tolist()
    first, second = (prepared[i].input_fake_quant.activation_post_process for i in (0, 2))
    assert (float(first.min_val), float(first.max_val)) == (-2, 3)
    assert (float(second.min_val), float(second.max_val)) == (0, 8)


def test_quantised_layers_are_within_the_bound_of_their_steps():
    neura.manual_seed(1)
    for layer, x in (
        (nn.Linear(37, 11), neura.randn(5, 3, 37)),
        (nn.Linear(8, 4, bias=False), neura.randn(8)),
        (nn.Conv2d(3, 5, 3, padding=1), neura.randn(2, 3, 9, 7)),
        (nn.Conv2d(4, 6, (3, 2), stride=(2, 1), dilation=(1, 2), groups=2, bias=False), neura.randn(2, 4, 9, 7)),
        (nn.Conv2d(4, 6, 1), neura.randn(4, 5, 5)),
        (nn.Conv2d(2, 2, 3, padding="same"), neura.randn(1, 2, 5, 5)),
    ):
        prepared = q.prepare(layer.eval())
        with neura.no_grad():
            want = prepared(x)
        made = q.convert(prepared)
        y = made(x)
        assert y.shape == want.shape and y.dtype == neura.float32 and made.weight.dtype == neura.int8
        # what half a step of each factor may change a sum by
        scale = float(made.scale)
        terms = made.weight[0].numel()
        bound = terms * (
            scale / 2 * float(layer.weight.abs().max())
            + float(made.weight_scale.max()) / 2 * float(x.abs().max())
            + 0.01
        )
        assert float((y - want).abs().max()) < bound
        assert float((y - want).abs().mean()) < 0.03 * float(want.abs().mean() + 0.1)
        assert float((made.float_weight() - layer.weight).abs().max()) <= float(made.weight_scale.max()) * 0.5001


def test_quantised_sums_are_exact():
    neura.manual_seed(2)
    prepared = q.prepare(nn.Conv2d(3, 4, 3, padding=1, bias=False).eval())
    x = neura.randn(2, 3, 6, 6)
    prepared(x)
    made = q.convert(prepared)
    steps = neura.quantize_affine(x, made.scale, made.zero_point, dtype=neura.uint8).double() - float(made.zero_point)
    sums = nn.functional.conv2d(steps, made.weight.double(), padding=1)
    want = sums.float() * (made.weight_scale * made.scale).reshape(1, -1, 1, 1)
    assert made(x).tolist() == want.tolist()


def test_a_trained_network_keeps_its_accuracy_in_a_quarter_of_the_size(trained):
    prepared = q.prepare(trained)
    assert isinstance(prepared[1], nn.Identity)  # the normalisation is in the convolution
    prepared(pictures(256, 5)[0])
    made = q.convert(prepared)
    assert made[0].relu and isinstance(made[2], nn.Identity)
    before, after = accuracy(trained), accuracy(made)
    assert before > 0.9 and after > before - 0.01
    weights = [m.weight for m in trained.modules() if isinstance(m, (nn.Linear, nn.Conv2d))]
    small = [m.weight for m in made.modules() if isinstance(m, (q.Linear, q.Conv2d))]
    assert [w.numel() for w in small] == [w.numel() for w in weights]
    assert sum(w.nbytes for w in small) * 4 == sum(w.nbytes for w in weights)


def test_prepare_leaves_what_it_should(trained):
    before = {k: v.clone() for k, v in trained.state_dict().items()}
    once = q.prepare(trained, skip=["7"])
    assert type(once[7]) is nn.Linear and type(once[0]) is not nn.Conv2d
    assert repr(q.prepare(once, skip=["7"])) == repr(once)  # a second call changes nothing
    assert all((trained.state_dict()[k] == v).all() for k, v in before.items())
    with pytest.raises(ValueError, match="prepare: expected a model in evaluation"):
        q.prepare(network().train())
    with pytest.raises(RuntimeError, match="expected to have seen numbers"):
        q.convert(once)
    reflecting = nn.Conv2d(1, 1, 3, padding=1, padding_mode="reflect").eval()
    assert type(q.prepare(reflecting)) is nn.Conv2d


def test_layers_anywhere_in_a_model_are_found():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.ModuleList([nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.Tanh())])
            self.out = nn.Linear(4, 2)

        def forward(self, x):
            return self.out(x + self.inner[1](self.inner[0](x)))

    neura.manual_seed(0)
    block = Block().eval()
    x = neura.randn(50, 4)
    prepared = q.prepare(block)
    prepared(x)
    made = q.convert(prepared)
    assert sum(isinstance(m, q.Linear) for m in made.modules()) == 3
    assert float((made(x) - block(x)).abs().max()) < 0.1


def test_models_are_fused_by_name():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.bn = nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3)

        def forward(self, x):
            return self.bn(self.conv(x)).relu()

    block = Block()
    x = neura.randn(4, 2, 6, 6)
    block(x)
    block.eval()
    fused = q.fuse_modules(block, [["conv", "bn"]])
    assert isinstance(fused.bn, nn.Identity) and neura.allclose(fused(x), block(x), atol=1e-5)
    with pytest.raises(ValueError, match="fuse_modules: expected a Conv2d or Linear and a batch normalisation"):
        q.fuse_modules(block, [["bn", "conv"]])


@pytest.mark.parametrize("way", ["file", "safetensors", "deepcopy", "pickle"])
def test_quantised_models_go_through_files(trained, way, tmp_path):
    prepared = q.prepare(trained)
    x = pictures(20, 5)[0]
    prepared(x)
    made = q.convert(prepared)
    want = made(x)
    state = made.state_dict()
    assert state["0.weight"].dtype == neura.int8 and state["0.zero_point"].dtype == neura.int32
    if way == "deepcopy":
        other = copy.deepcopy(made)
    elif way == "pickle":
        other = pickle.loads(pickle.dumps(made))
    else:
        fresh = q.prepare(network(seed=9).eval())
        fresh(x)
        other = q.convert(fresh)
        other(x)  # what it derived from its buffers must not outlive them
        if way == "file":
            neura.save(state, tmp_path / "model.neura")
            other.load_state_dict(neura.load(tmp_path / "model.neura"))
        else:
            neura.safetensors.save_file(state, tmp_path / "model.safetensors")
            other.load_state_dict(neura.safetensors.load_file(tmp_path / "model.safetensors"))
    assert other(x).tolist() == want.tolist()


# Weights alone


def test_dynamic_quantisation_follows_the_range_of_each_input():
    neura.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 5, bias=False))
    made = q.quantize_dynamic(model, skip=["2"])
    assert type(made[0]) is q.DynamicLinear and type(made[2]) is nn.Linear and type(model[0]) is nn.Linear
    made = q.quantize_dynamic(model)
    for x in (neura.randn(7, 64), 1000 * neura.rand(3, 2, 64), -neura.rand(64), neura.zeros(2, 64)):
        want = model(x)
        assert float((made(x) - want).abs().max()) <= 0.02 * float(want.abs().max())
        assert made(x).shape == want.shape
    assert made(neura.zeros(0, 64)).shape == (0, 5)


def test_torch_names_the_same_module():
    import neura.ao.quantization as other

    assert other is q
