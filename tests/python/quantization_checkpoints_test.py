"""neura.quantization.load_quantized: GPTQ and AWQ folders against dequantisation written with NumPy."""

import json

import neura
import pytest
from neura import nn, quantization as q

numpy = pytest.importorskip("numpy")

AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]  # which of eight neighbours has each place of a word


def packed(numbers, bits, axis, order=None):
    """Words of the numbers along an axis, the first in the lowest bits."""
    per_word = 32 // bits
    numbers = numpy.moveaxis(numbers.astype(numpy.uint32), axis, 0)
    words = numpy.zeros((numbers.shape[0] // per_word, numbers.shape[1]), dtype=numpy.uint32)
    for i in range(len(words)):
        for place in range(per_word):
            which = order[place] if order else place
            words[i] |= numbers[i * per_word + which] << numpy.uint32(place * bits)
    return numpy.ascontiguousarray(numpy.moveaxis(words, 0, axis)).view(numpy.int32)


class Layer:
    """Integers, and the weight [out, in] that they stand for."""

    def __init__(self, inputs, outputs, group, bits=4, act_order=False, symmetric=False, bias=True, seed=0):
        rng = numpy.random.RandomState(seed)
        groups = 1 if group == -1 else inputs // group
        self.bits = bits
        self.q = rng.randint(0, 2**bits, (inputs, outputs))
        self.zeros = rng.randint(0, 2**bits, (groups, outputs))
        if symmetric:
            self.zeros[:] = 2 ** (bits - 1)
        self.scales = rng.uniform(0.001, 0.1, (groups, outputs)).astype(numpy.float16)
        self.g_idx = (numpy.arange(inputs) // (inputs // groups)).astype(numpy.int32)
        if act_order:
            rng.shuffle(self.g_idx)
        self.bias = rng.randn(outputs).astype(numpy.float16) if bias else None
        steps = self.q.astype(numpy.float32) - self.zeros[self.g_idx].astype(numpy.float32)
        self.weight = (steps * self.scales[self.g_idx].astype(numpy.float32)).T

    def gptq(self, name, one_less=True):
        zeros = (self.zeros - one_less) % 2**self.bits
        out = {
            "qweight": packed(self.q, self.bits, 0),
            "qzeros": packed(zeros, self.bits, 1),
            "scales": self.scales,
            "g_idx": self.g_idx,
            "bias": self.bias,
        }
        return {f"{name}.{k}": neura.from_numpy(v) for k, v in out.items() if v is not None}

    def awq(self, name):
        out = {
            "qweight": packed(self.q, 4, 1, AWQ_ORDER),
            "qzeros": packed(self.zeros, 4, 1, AWQ_ORDER),
            "scales": self.scales,
            "bias": self.bias,
        }
        return {f"{name}.{k}": neura.from_numpy(v) for k, v in out.items() if v is not None}


def folder_of(path, tensors, config, file="quantize_config.json"):
    neura.safetensors.save_file(tensors, path / "model.safetensors")
    (path / file).write_text(json.dumps(config))
    return path


def expect_layer(made, layer):
    assert type(made) is q.WeightOnlyLinear and made.bits == layer.bits
    assert numpy.array_equal(made.float_weight().numpy(), layer.weight)
    x = neura.randn(3, 5, made.in_features)
    y = x.numpy() @ layer.weight.T + (0 if layer.bias is None else layer.bias.astype(numpy.float32))
    assert numpy.allclose(made(x).numpy(), y, atol=1e-4)


@pytest.mark.parametrize("options", [{}, {"act_order": True}, {"symmetric": True}, {"bits": 8}, {"bias": False}])
@pytest.mark.parametrize("group", [16, -1])
@pytest.mark.parametrize("layout", [None, "gptq", "gptq_v2"])
def test_gptq_is_its_definition(tmp_path, options, group, layout):
    layer = Layer(64, 24, group, **options)
    config = {"bits": layer.bits, "group_size": group, "desc_act": True, "quant_method": "gptq"}
    if layout:
        config["checkpoint_format"] = layout
    folder_of(tmp_path, layer.gptq("0", layout != "gptq_v2"), config)
    model = nn.Sequential(nn.Linear(64, 24, bias=layer.bias is not None))
    made = q.load_quantized(model, tmp_path)
    expect_layer(made[0], layer)
    assert (made[0].weight_zero is None) == bool(options.get("symmetric"))
    assert (made[0].order is None) == (not options.get("act_order") or group == -1)
    assert type(model[0]) is nn.Linear and not made.training  # the model itself stays


def test_gptq_of_neighbours_needs_no_index(tmp_path):
    layer = Layer(32, 8, 16)
    tensors = layer.gptq("0")
    del tensors["0.g_idx"]
    folder_of(tmp_path, tensors, {"bits": 4, "group_size": 16})
    expect_layer(q.load_quantized(nn.Sequential(nn.Linear(32, 8)), tmp_path)[0], layer)


@pytest.mark.parametrize("group", [16, 64, -1])
@pytest.mark.parametrize("old", [True, False])
def test_awq_is_its_definition(tmp_path, group, old):
    layer = Layer(64, 24, group)
    if old:
        config = {"w_bit": 4, "q_group_size": group, "zero_point": True, "version": "GEMM"}
        folder_of(tmp_path, layer.awq("0"), config, "quant_config.json")
    else:
        config = {"quant_method": "awq", "bits": 4, "group_size": group, "version": "gemm"}
        folder_of(tmp_path, layer.awq("0"), {"quantization_config": config}, "config.json")
    expect_layer(q.load_quantized(nn.Sequential(nn.Linear(64, 24)), tmp_path)[0], layer)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 16, bias=False))
        self.norm = nn.LayerNorm(16)

    def forward(self, x):
        return self.norm(self.block(x))


def checkpoint():
    first, second = Layer(16, 8, 8, seed=1), Layer(8, 16, 8, seed=2, bias=False)
    tensors = {**first.gptq("block.0"), **second.gptq("block.2")}
    return first, second, {**tensors, "norm.weight": neura.full((16,), 2.0), "norm.bias": neura.arange(16.0)}


CONFIG = {"bits": 4, "group_size": 8}


def test_other_tensors_are_loaded_and_parts_are_put_together(tmp_path):
    first, second, tensors = checkpoint()
    names = sorted(tensors)
    parts = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for part, of in parts.items():
        neura.safetensors.save_file({n: tensors[n] for n in of}, tmp_path / part)
    index = {"weight_map": {n: part for part, of in parts.items() for n in of}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    (tmp_path / "quantize_config.json").write_text(json.dumps(CONFIG))
    model = Net()
    made = q.load_quantized(model, tmp_path, inplace=True)
    assert made is model and model.norm.bias.tolist() == list(range(16))
    expect_layer(model.block[0], first)
    expect_layer(model.block[2], second)
    twin = q.load_quantized(Net(), tmp_path)
    twin.load_state_dict(made.state_dict())  # what is saved of one is loaded by another
    x = neura.randn(4, 16)
    assert neura.equal(twin(x), made(x))
    again = q.load_quantized(made, tmp_path)  # over what is packed already
    assert neura.equal(again(x), made(x))


def test_a_model_that_differs_stays_as_it_was(tmp_path):
    tensors = checkpoint()[2]
    folder_of(tmp_path, {**tensors, "head.weight": neura.ones(2)}, CONFIG)
    model = Net()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    with pytest.raises(RuntimeError, match="head.weight"):
        q.load_quantized(model, tmp_path, inplace=True)
    assert type(model.block[0]) is nn.Linear and model.training
    assert all(neura.equal(v, before[k]) for k, v in model.state_dict().items())
    assert type(q.load_quantized(model, tmp_path, strict=False).block[0]) is q.WeightOnlyLinear
    for other in (nn.Sequential(nn.Linear(16, 8)), nn.Sequential()):
        with pytest.raises(ValueError, match="expected a Linear of 16 inputs and 8 outputs with a bias as block.0"):
            q.load_quantized(other, tmp_path)


@pytest.mark.parametrize(
    "config, error, text",
    [
        ({"bits": 3}, NotImplementedError, "expected gptq of 4 bits or 8, got 3"),
        ({"bits": 8, "quant_method": "awq"}, NotImplementedError, "expected awq of 4 bits, got 8"),
        ({"bits": 4, "quant_method": "awq", "version": "gemv"}, NotImplementedError, "got awq gemv"),
        ({"bits": 4, "checkpoint_format": "marlin"}, NotImplementedError, "got gptq marlin"),
        ({"bits": 4, "quant_method": "bitsandbytes"}, NotImplementedError, "got bitsandbytes gptq"),
        ({"bits": 4, "group_size": 0}, neura.errors.FormatError, "group_size to be above 0, or -1, got 0"),
        ({"bits": 4, "group_size": "x"}, neura.errors.FormatError, "group_size to be above 0, or -1, got 'x'"),
        ({"bits": 4, "group_size": 7}, neura.errors.FormatError, "groups of 7 that divide the 16 inputs"),
        ({"bits": 4, "group_size": 16}, neura.errors.FormatError, r"expected scales \[1, 8\] for the layer block.0"),
        ([], neura.errors.FormatError, "expected an object, got list"),
    ],
)
def test_other_schemes_are_refused(tmp_path, config, error, text):
    folder_of(tmp_path, checkpoint()[2], config)
    with pytest.raises(error, match=text):
        q.load_quantized(Net(), tmp_path)


@pytest.mark.parametrize(
    "name, tensor, text",
    [
        ("qzeros", None, "expected qzeros to be a matrix of neura.int32 for the layer block.0, got none"),
        ("qweight", neura.zeros(2, 8), "expected qweight to be a matrix of neura.int32"),
        ("scales", neura.zeros(2, 8, dtype=neura.int32), "expected scales to be a matrix of floats"),
        ("scales", neura.zeros(2), "expected scales to be a matrix of floats"),
        ("qzeros", neura.zeros(1, 1, dtype=neura.int32), r"expected qzeros \[2, 1\]"),
        ("g_idx", neura.zeros(16, dtype=neura.int32), "expected g_idx to name 2 groups 8 times each"),
        ("g_idx", neura.full((16,), 99, dtype=neura.int32), "expected g_idx to name 2 groups 8 times each"),
        ("g_idx", neura.zeros(3, dtype=neura.int32), "expected g_idx to name 2 groups 8 times each"),
    ],
)
def test_damaged_layers_are_refused(tmp_path, name, tensor, text):
    tensors = checkpoint()[2]
    tensors[f"block.0.{name}"] = tensor
    folder_of(tmp_path, {k: v for k, v in tensors.items() if v is not None}, CONFIG)
    with pytest.raises(neura.errors.FormatError, match=text):
        q.load_quantized(Net(), tmp_path)


def test_folders_that_are_none_are_refused(tmp_path):
    with pytest.raises(neura.errors.IoError, match="cannot open"):
        q.load_quantized(Net(), tmp_path / "none")
    with pytest.raises(
        neura.errors.FormatError, match="expected one .safetensors file or one index of several, got none"
    ):
        q.load_quantized(Net(), tmp_path)
    neura.safetensors.save_file({"x": neura.ones(1)}, tmp_path / "model.safetensors")
    with pytest.raises(neura.errors.FormatError, match="expected quantization_config in config.json"):
        q.load_quantized(Net(), tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(neura.errors.FormatError, match="config.json: expected JSON"):
        q.load_quantized(Net(), tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"quantization_config": CONFIG}))
    with pytest.raises(neura.errors.FormatError, match="expected layers with a qweight, got none"):
        q.load_quantized(Net(), tmp_path)
