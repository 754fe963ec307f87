"""Every layer and loss as PyTorch has it (layers.json holds PyTorch's side); each is built, run and differentiated."""

import inspect
import json
import pathlib
import re
import shutil
import subprocess

import neura
import numpy as np
import pytest
from neura import nn

HERE = pathlib.Path(__file__).resolve().parent
STORED = json.loads((HERE / "layers.json").read_text())
HELD_ELSEWHERE = {  # attributes that are PyTorch's own affair
    "activation_relu_or_gelu",
    "use_nested_tensor",
    "enable_nested_tensor",
    "mask_check",
}


def class_of(call):
    return call.split("(")[0]


def make(call):
    return eval("nn." + call, {"nn": nn, "torch": neura})


@pytest.mark.parametrize("stored", STORED["layers"], ids=lambda x: x["call"])
def test_prints_and_holds_what_pytorch_does(stored):
    m = make(stored["call"])
    assert repr(m) == stored["repr"]
    assert {k: list(v.shape) for k, v in m.state_dict().items()} == stored["state"]
    for name, value in stored["holds"].items():
        if name in HELD_ELSEWHERE:
            continue
        got = getattr(m, name)
        value = tuple(value) if isinstance(value, list) else value
        assert got == value and isinstance(got, bool) == isinstance(value, bool), name


def names_and_defaults(function):
    kept = [p for p in inspect.signature(function).parameters.values() if p.name not in ("self", "args", "kwargs")]
    return [[p.name] if p.default is p.empty else [p.name, p.default] for p in kept]


@pytest.mark.parametrize("name", STORED["classes"])
def test_takes_what_pytorch_takes(name):
    built, called = ([p for p in side if p[0] not in ("args", "kwargs")] for side in STORED["classes"][name])
    if name in ("RNN", "GRU", "LSTM"):
        built = names_and_defaults(getattr(nn, name))  # PyTorch names none of them
    if name == "Hardtanh":
        built = [p for p in built if p[0] not in ("min_value", "max_value")]  # PyTorch deprecated these
    if name == "PoissonNLLLoss":
        called[0] = ["input"]  # PyTorch calls it by its option's name
    assert names_and_defaults(getattr(nn, name)) == built
    assert names_and_defaults(getattr(nn, name).forward) == called


def test_every_layer_of_cpp_is_a_class_here():
    compiler = shutil.which("c++")
    if not compiler:
        pytest.skip("there is no C++ compiler to expand the headers")
    root = HERE.parent.parent
    command = [compiler, "-std=c++20", "-E", "-P", f"-I{root}", str(root / "neura/nn/nn.h")]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = set(re.findall(r'class_name\(\) *\{ *return *"(\w+)"', text))
    names = {n for n in names if not n.endswith(("Nd", "Base"))}  # what several layers share
    names.remove("CheckpointModule")  # of neura.utils.checkpoint
    assert len(names) > 95
    assert not sorted(n for n in names if not issubclass(getattr(nn, n, int), nn.Module))
    assert not sorted(n for n in names if n not in EXAMPLES and n not in CONTAINERS)


CONTAINERS = {"ModuleList", "Sequential", "ModuleDict", "ParameterList", "ParameterDict"}


def real(*shape):
    return neura.randn(*shape, dtype=neura.float64).requires_grad_()


def positive(*shape):
    return (neura.rand(shape, dtype=neura.float64) * 0.8 + 0.1).requires_grad_()


def fixed(*values):
    return neura.tensor(list(values))


def signs(*shape):
    return (neura.arange(neura.Size(shape).numel(), dtype=neura.float64) % 2 * 2 - 1).reshape(shape)


EXAMPLES = {  # constructor arguments and what the layer is called with
    "Linear": ("3, 4", lambda: [real(2, 3)]),
    "NonDynamicallyQuantizableLinear": ("3, 4", lambda: [real(2, 3)]),
    "Bilinear": ("2, 3, 4", lambda: [real(5, 2), real(5, 3)]),
    "Identity": ("", lambda: [real(2, 3)]),
    "Flatten": ("", lambda: [real(2, 3, 4)]),
    "Unflatten": ("1, (2, 3)", lambda: [real(2, 6)]),
    "PixelShuffle": ("2", lambda: [real(1, 8, 2, 3)]),
    "PixelUnshuffle": ("2", lambda: [real(1, 2, 4, 6)]),
    "ChannelShuffle": ("2", lambda: [real(1, 4, 3)]),
    "Threshold": ("0.1, 20", lambda: [real(2, 6)]),
    "PReLU": ("3", lambda: [real(2, 3, 4)]),
    "Softmax": ("1", lambda: [real(2, 6)]),
    "LogSoftmax": ("1", lambda: [real(2, 6)]),
    "Softmin": ("1", lambda: [real(2, 6)]),
    "Softmax2d": ("", lambda: [real(1, 3, 2, 2)]),
    "Conv1d": ("2, 4, 3, groups=2", lambda: [real(1, 2, 6)]),
    "Conv2d": ("2, 4, 3, padding='same'", lambda: [real(1, 2, 5, 4)]),
    "Conv3d": ("1, 2, (1, 2, 3)", lambda: [real(1, 1, 2, 3, 4)]),
    "ConvTranspose1d": ("2, 4, 3", lambda: [real(1, 2, 4)]),
    "ConvTranspose2d": ("2, 4, 3, stride=2", lambda: [real(1, 2, 3, 3), (8, 8)]),
    "ConvTranspose3d": ("1, 2, 2", lambda: [real(1, 1, 2, 2, 2)]),
    "MaxPool1d": ("3", lambda: [real(1, 2, 9)]),
    "MaxPool2d": ("2, return_indices=True", lambda: [real(1, 2, 4, 4)]),
    "MaxPool3d": ("2", lambda: [real(1, 1, 2, 4, 4)]),
    "FractionalMaxPool2d": ("2, output_size=3", lambda: [real(1, 2, 6, 7)]),
    "FractionalMaxPool3d": ("2, output_ratio=0.5, return_indices=True", lambda: [real(1, 1, 5, 6, 7)]),
    "AvgPool1d": ("3", lambda: [real(1, 2, 9)]),
    "AvgPool2d": ("2, 1, 1, count_include_pad=False", lambda: [real(1, 2, 4, 4)]),
    "AvgPool3d": ("2", lambda: [real(1, 1, 2, 4, 4)]),
    "AdaptiveAvgPool1d": ("2", lambda: [real(1, 2, 5)]),
    "AdaptiveAvgPool2d": ("None", lambda: [real(1, 2, 5, 3)]),
    "AdaptiveAvgPool3d": ("2", lambda: [real(1, 1, 3, 4, 5)]),
    "AdaptiveMaxPool1d": ("2", lambda: [real(1, 2, 5)]),
    "AdaptiveMaxPool2d": ("(2, None)", lambda: [real(1, 2, 5, 3)]),
    "AdaptiveMaxPool3d": ("2, True", lambda: [real(1, 1, 3, 4, 5)]),
    "LPPool1d": ("1.5, 3", lambda: [positive(1, 2, 6)]),
    "LPPool2d": ("2, 2", lambda: [real(1, 2, 4, 4)]),
    "LPPool3d": ("2, 2", lambda: [real(1, 1, 2, 4, 4)]),
    "MaxUnpool1d": ("2", lambda: [real(1, 2), fixed([1, 2])]),
    "MaxUnpool2d": ("2", lambda: [real(1, 1, 2), fixed([[1, 6]])]),
    "MaxUnpool3d": ("2", lambda: [real(1, 1, 1, 2), fixed([[[7, 8]]])]),
    "BatchNorm1d": ("3", lambda: [real(4, 3)]),
    "BatchNorm2d": ("3, momentum=None", lambda: [real(2, 3, 2, 2)]),
    "BatchNorm3d": ("3, affine=False", lambda: [real(2, 3, 2, 2, 2)]),
    "InstanceNorm1d": ("3", lambda: [real(3, 5)]),
    "InstanceNorm2d": ("3, affine=True", lambda: [real(2, 3, 3, 2)]),
    "InstanceNorm3d": ("3, track_running_stats=True", lambda: [real(2, 3, 2, 2, 2)]),
    "LayerNorm": ("(3, 4)", lambda: [real(2, 3, 4)]),
    "RMSNorm": ("4", lambda: [real(2, 3, 4)]),
    "GroupNorm": ("2, 4", lambda: [real(2, 4, 3)]),
    "LocalResponseNorm": ("2", lambda: [real(2, 4, 3)]),
    "Dropout1d": ("", lambda: [real(2, 3, 4)]),
    "Dropout2d": ("", lambda: [real(2, 3, 2, 2)]),
    "Dropout3d": ("", lambda: [real(2, 3, 2, 2, 2)]),
    "FeatureAlphaDropout": ("", lambda: [real(2, 3, 4)]),
    "Embedding": ("10, 3", lambda: [fixed([1, 2], [9, 1])]),
    "EmbeddingBag": ("10, 3, mode='sum'", lambda: [fixed([1, 2], [9, 1])]),
    "MultiheadAttention": ("8, 2", lambda: [real(3, 2, 8), real(4, 2, 8), real(4, 2, 8)]),
    "Unfold": ("2", lambda: [real(1, 2, 3, 3)]),
    "Fold": ("(3, 4), 2", lambda: [real(1, 4, 6)]),
    "Upsample": ("scale_factor=1.5, mode='bicubic'", lambda: [real(1, 1, 3, 4)]),
    "UpsamplingNearest2d": ("scale_factor=2", lambda: [real(1, 1, 3, 4)]),
    "UpsamplingBilinear2d": ("(5, 4)", lambda: [real(1, 1, 3, 4)]),
    "PositionalEncoding": ("8", lambda: [real(3, 2, 8)]),
    "TransformerEncoderLayer": ("8, 2, 16", lambda: [real(3, 2, 8)]),
    "TransformerDecoderLayer": ("8, 2, 16, norm_first=True", lambda: [real(3, 2, 8), real(4, 2, 8)]),
    "TransformerEncoder": ("nn.TransformerEncoderLayer(8, 2, 16), 2, nn.LayerNorm(8)", lambda: [real(3, 2, 8)]),
    "TransformerDecoder": ("nn.TransformerDecoderLayer(8, 2, 16), 1", lambda: [real(3, 2, 8), real(4, 2, 8)]),
    "RNN": ("3, 4, 2, bidirectional=True", lambda: [real(5, 2, 3)]),
    "GRU": ("3, 4, batch_first=True", lambda: [real(5, 2, 3), real(1, 5, 4)]),
    "LSTM": ("3, 4, proj_size=2", lambda: [real(5, 3)]),
    "RNNCell": ("3, 4, nonlinearity='tanh'", lambda: [real(2, 3), real(2, 4)]),
    "GRUCell": ("3, 4", lambda: [real(2, 3)]),
    "LSTMCell": ("3, 4", lambda: [real(3)]),
    "Transformer": ("8, 2, 1, 1, 16, activation='gelu'", lambda: [real(3, 2, 8), real(4, 2, 8)]),
    "CrossEntropyLoss": ("", lambda: [real(2, 3), fixed(0, 2)]),
    "NLLLoss": ("", lambda: [real(2, 3), fixed(0, 2)]),
    "MultiMarginLoss": ("", lambda: [real(2, 3), fixed(0, 2)]),
    "MultiLabelMarginLoss": ("", lambda: [real(3), fixed(2, -1, 0)]),
    "MultiLabelSoftMarginLoss": ("", lambda: [real(2, 3), (signs(2, 3) + 1) / 2]),
    "BCELoss": ("", lambda: [positive(2, 3), positive(2, 3)]),
    "BCEWithLogitsLoss": ("", lambda: [real(2, 3), positive(2, 3)]),
    "KLDivLoss": ("reduction='batchmean'", lambda: [real(2, 3), positive(2, 3)]),
    "PoissonNLLLoss": ("full=True", lambda: [real(2, 3), positive(2, 3)]),
    "GaussianNLLLoss": ("", lambda: [real(2, 3), real(2, 3), positive(2, 3)]),
    "HingeEmbeddingLoss": ("", lambda: [positive(4), signs(4)]),
    "SoftMarginLoss": ("", lambda: [real(4), signs(4)]),
    "MarginRankingLoss": ("5", lambda: [real(4), real(4), signs(4)]),
    "CosineEmbeddingLoss": ("-0.9", lambda: [real(2, 3), real(2, 3), signs(2)]),
    "TripletMarginLoss": ("5", lambda: [real(2, 3), real(2, 3), real(2, 3)]),
    "CrossMapLRN2d": ("3, 0.5", lambda: [real(2, 4, 2, 3)]),
    "AdaptiveLogSoftmaxWithLoss": ("6, 9, [3, 5], 2.0", lambda: [real(4, 6), fixed(0, 4, 8, 2)]),
    "CTCLoss": ("", lambda: [real(4, 2, 3), fixed([1, 2], [2, 0]), [4, 3], [2, 1]]),
}
for name in "L1Loss MSELoss SmoothL1Loss HuberLoss CosineSimilarity PairwiseDistance".split():
    EXAMPLES[name] = ("", lambda: [real(2, 3), real(2, 3)])
for name in (
    "Sigmoid Tanh Softsign Tanhshrink LogSigmoid ReLU ReLU6 SELU SiLU Mish Hardsigmoid Hardswish Softplus Hardshrink "
    "Softshrink LeakyReLU ELU CELU Hardtanh GELU GLU RReLU Dropout AlphaDropout"
).split():
    EXAMPLES[name] = ("", lambda: [real(2, 6)])
for name in ("Zero", "Reflection", "Replication", "Circular", "Constant"):
    for rank in (1, 2, 3):
        EXAMPLES[f"{name}Pad{rank}d"] = (
            "1" + (", 0.5" if name == "Constant" else ""),
            lambda rank=rank: [real(*[1, 2, 3, 4, 3][: rank + 2])],
        )


def total(m, inputs, directions):
    """The same numbers are drawn each time. A sum weighted so that no gradient is lost in symmetry."""
    neura.manual_seed(3)
    out = m(*inputs)
    flat = sum(([*t] if isinstance(t, tuple) else [t] for t in (out if isinstance(out, tuple) else (out,))), [])
    parts = [t for t in flat if t.is_floating_point()]
    while len(directions) < len(parts):
        directions.append(neura.rand(parts[len(directions)].shape, dtype=neura.float64) + 0.5)
    return sum((d * t).sum() for d, t in zip(directions, parts))


# The gradient of CTCLoss is that of the scores behind its input, as in PyTorch: ctc_test.py
@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - {"CTCLoss"}))
def test_runs_and_differentiates(name):
    neura.manual_seed(7)
    arguments, inputs = EXAMPLES[name]
    m, inputs, directions = make(f"{name}({arguments})").double(), inputs(), []
    leaves = [x for x in inputs if isinstance(x, neura.Tensor) and x.requires_grad] + list(m.parameters())
    y = total(m, inputs, directions)
    y.backward()
    step = [neura.randn(*x.shape, dtype=neura.float64) for x in leaves]
    slope = sum((x.grad * s).sum().item() for x, s in zip(leaves, step))
    h, sides = 1e-6, []
    with neura.no_grad():
        for side in (h, -2 * h):
            for x, s in zip(leaves, step):
                x.add_(s, alpha=side)
            sides.append(total(m, inputs, directions).item())
    assert slope == pytest.approx((sides[0] - sides[1]) / (2 * h), rel=1e-5, abs=1e-7)
    assert slope != 0


def test_old_arguments_of_losses_still_count():
    x, y = neura.ones(4), neura.zeros(4)
    assert nn.MSELoss(size_average=False)(x, y).item() == 4
    assert nn.L1Loss(reduce=False)(x, y).shape == (4,)
    assert nn.MSELoss(size_average=False).reduction == "sum"
    assert nn.KLDivLoss(reduction="batchmean").reduction == "batchmean"
    with pytest.raises(ValueError, match="reduction"):
        nn.MSELoss(reduction="average")


def test_weights_of_losses_are_buffers():
    loss = nn.CrossEntropyLoss(weight=neura.ones(3))
    assert list(loss.state_dict()) == ["weight"] and not list(loss.parameters())
    assert loss.double().weight.dtype is neura.float64


def test_tables_come_from_tensors():
    table = neura.rand(4, 2)
    frozen = nn.Embedding.from_pretrained(table, padding_idx=1)
    assert not frozen.weight.requires_grad and frozen.padding_idx == 1
    assert neura.equal(frozen(neura.tensor([3])), table[3:4])
    assert nn.Embedding.from_pretrained(table, freeze=False).weight.requires_grad

    class Table(nn.Embedding):
        pass

    assert type(Table.from_pretrained(table)) is Table
    with pytest.raises(ValueError, match="2 dimensions"):
        nn.Embedding.from_pretrained(neura.rand(4))
    with pytest.raises(IndexError):
        frozen(neura.tensor([4]))


def test_a_result_may_have_a_size_that_is_asked_for():
    m = nn.ConvTranspose2d(1, 1, 3, stride=2)
    x = neura.rand(1, 1, 3, 3)
    assert m(x).shape == (1, 1, 7, 7) and m(x, output_size=(8, 7)).shape == (1, 1, 8, 7)
    assert m(x, [1, 1, 8, 8]).shape == (1, 1, 8, 8)
    with pytest.raises(ValueError, match="ConvTranspose2d: expected an output_size from 7 to 8 in spatial dimension 1"):
        m(x, (8, 9))
    pool, back = nn.MaxPool1d(2, return_indices=True), nn.MaxUnpool1d(2)
    values, places = pool(neura.tensor([[1.0, 5.0, 2.0, 3.0, 9.0]]))
    assert back(values, places, output_size=[1, 5]).tolist() == [[0, 5, 0, 3, 0]]
    with pytest.raises(ValueError, match="max_unpool1d: expected an output_size from 3 to 5"):
        back(values, places, (6,))


@pytest.mark.parametrize(
    "call, error, text",
    [
        ("Conv2d(3, 4, 3, groups=2)", ValueError, "Conv2d: expected in_channels and out_channels divisible by groups"),
        ("Conv2d(3, 4, 3, padding='full')", ValueError, 'expected padding in numbers, "same" or "valid"'),
        ("Conv2d(3, 4, (3, 3, 3))", ValueError, "Conv2d: expected kernel_size of 1 or 2 numbers"),
        ("ConvTranspose1d(3, 4, 3, padding_mode='circular')", ValueError, "expected padding_mode zeros, got circular"),
        ("GroupNorm(4, 6)", ValueError, "GroupNorm: expected num_channels divisible by num_groups"),
        ("Dropout(1.5)", ValueError, r"Dropout: expected a probability in \[0, 1\], got 1.5"),
        ("Embedding(3, 2, padding_idx=3)", ValueError, "Embedding: expected a padding_idx within 3 rows, got 3"),
        ("Embedding(3, 2, _weight=torch.ones(2, 2))", ValueError, "Embedding: expected a _weight of shape"),
        ("MultiheadAttention(8, 3)", ValueError, "expected embed_dim divisible by num_heads, got 8 and 3"),
        ("ZeroPad2d((1, 2))", ValueError, "expected 1 or 4 amounts"),
        ("Linear(3)", TypeError, "Linear"),
        ("Linear('3', 4)", TypeError, "Linear"),
        ("ReLU(nothing=1)", TypeError, "ReLU"),
        ("MaxPool2d(2)(torch.ones(3))", ValueError, "max_pool2d"),
        ("Linear(3, 4)(torch.ones(2, 5))", ValueError, "linear"),
    ],
)
def test_mistakes_are_named(call, error, text):
    with pytest.raises(error, match=text):
        make(call)


@pytest.mark.parametrize("name", EXAMPLES)
def test_members_that_are_missing_are_named_or_left_out(name):
    args, inputs = EXAMPLES[name]
    arguments = inputs()
    whole = make(f"{name}({args})")
    members = [*whole.named_parameters(), *whole.named_buffers(), *whole.named_modules()]
    for path in [path for path, _ in members if path]:
        for remove in (lambda owner, leaf: setattr(owner, leaf, None), delattr):
            m = make(f"{name}({args})").double()
            where, _, leaf = path.rpartition(".")
            remove(m.get_submodule(where), leaf)
            resets = [getattr(m, n) for n in dir(m) if n.strip("_").startswith("reset_")]
            for call in [lambda: m(*arguments), *resets]:
                try:
                    call()
                except (ValueError, RuntimeError, TypeError, AttributeError) as error:
                    assert leaf in str(error) or "expected" in str(error)
            assert path not in m.state_dict() and repr(m)


FLAGS = {
    "Linear": lambda t: nn.Linear(2, 2, bias=t).bias is not None,
    "Conv2d": lambda t: nn.Conv2d(1, 1, 1, bias=t).bias is not None,
    "ReLU": lambda t: nn.ReLU(t).inplace is True,
    "Dropout": lambda t: nn.Dropout(0.5, t).inplace is True,
    "LSTM": lambda t: nn.LSTM(2, 3, bidirectional=t).bidirectional is True,
    "LSTMCell": lambda t: nn.LSTMCell(2, 3, bias=t).bias is True,
    "Embedding": lambda t: nn.Embedding(3, 2, sparse=t).sparse is True,
    "LayerNorm": lambda t: nn.LayerNorm(2, elementwise_affine=t, bias=t).bias is not None,
    "BatchNorm2d": lambda t: nn.BatchNorm2d(2, affine=t, track_running_stats=t).running_mean is not None,
    "MaxPool2d": lambda t: nn.MaxPool2d(2, return_indices=t).return_indices is True,
    "MultiheadAttention": lambda t: nn.MultiheadAttention(2, 1, batch_first=t).batch_first is True,
    "TransformerEncoderLayer": lambda t: nn.TransformerEncoderLayer(4, 2, norm_first=t).norm_first is True,
    "CTCLoss": lambda t: nn.CTCLoss(zero_infinity=t).zero_infinity is True,
    "MSELoss": lambda t: nn.MSELoss(size_average=t, reduce=t).reduction == "mean",
}


@pytest.mark.parametrize("name", FLAGS)
def test_a_flag_may_be_an_integer_or_numpys_truth(name):
    for truth in (1, 2, np.bool_(True), np.int64(1)):
        assert FLAGS[name](truth)
    for wrong in ("a", 1.5, [], neura.ones(2)):
        with pytest.raises(TypeError):
            FLAGS[name](wrong)
    if name not in ("LayerNorm", "MSELoss"):
        assert not FLAGS[name](0) and not FLAGS[name](np.bool_(False))


def test_functions_and_two_flags_of_recurrent_layers_take_truths_alone():
    for call in (
        lambda: nn.LSTM(2, 3, bias=1),
        lambda: nn.GRU(2, 3, batch_first=np.bool_(True)),
        lambda: nn.functional.dropout(neura.ones(2), 0.5, 1),
        lambda: neura.ones(2).sum(0, keepdim=1),
    ):
        with pytest.raises(TypeError):
            call()
