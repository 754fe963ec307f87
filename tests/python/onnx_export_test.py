"""neura.onnx.export: files compute what the models do; checked by ONNX Runtime where it is there."""

import importlib.util
import io

import neura
import pytest
from neura import nn
from neura.nn import functional as F

needs_runtime = pytest.mark.skipif(
    not (importlib.util.find_spec("onnx") and importlib.util.find_spec("onnxruntime")),
    reason="the onnx and onnxruntime packages are not installed",
)


class Function(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *x):
        return self.f(*x)


class Residual(nn.Module):
    def __init__(self, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 2 * channels, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(2 * channels)
        self.conv2 = nn.Conv2d(2 * channels, 2 * channels, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(2 * channels)
        self.down = nn.Conv2d(channels, 2 * channels, 1, stride)

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + self.down(x))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 7, 2, 3)
        self.layers = nn.Sequential(Residual(4, 2), Residual(8, 2))
        self.fc = nn.Linear(16, 5)
        for m in self.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.running_mean.normal_()
                m.running_var.uniform_(0.5, 2)

    def forward(self, x):
        x = self.layers(F.max_pool2d(F.relu(self.stem(x)), 3, 2, 1))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        parts = self.qkv(self.ln1(x)).split(c, 2)
        q, k, v = (p.view(b, t, self.heads, c // self.heads).transpose(1, 2) for p in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).contiguous().view(b, t, c)
        x = x + self.proj(y)
        return x + self.down(F.gelu(self.up(self.ln2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self, words=30, width=16, longest=12):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(words, width), nn.Embedding(longest, width)
        self.h = nn.ModuleList([Block(width, 4) for _ in range(2)])
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, idx):
        x = self.wte(idx) + self.wpe(neura.arange(idx.size(1)))
        for block in self.h:
            x = block(x)
        return self.head(x)


class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.layer = getattr(nn, kind)(4, 5, batch_first=True, **options)

    def forward(self, x):
        return self.layer(x)


def assign(x):
    y = x.clone()
    y[:, 0] = 1.0
    y[0] += 2
    y[1, 1:3] = neura.tensor([5.0, 6.0])
    return y.relu_()


def indexed(x):
    return x[1:, ::2], x[-1], x[:, None], x[[0, 2]], x[neura.tensor([0, 2]), neura.tensor([1, 3])], x[..., -2:]


def two(a, b):
    return a @ b.t(), a.sum() + b.mean()


def shapes(x):
    return x.reshape(2, 6), x.T, neura.cat([x, x], 1), neura.stack([x, x]), x.expand(2, 3, 4), x.flip(0), x.roll(1, 1)


def reduced(x):
    return (
        *x.max(1),
        *x.topk(2),
        x.sum((0, 1)),
        x.var(1),
        x.std(0, keepdim=True),
        x.logsumexp(1),
        x.argmin(),
        x.cumsum(0),
    )


def composed(x):
    return F.normalize(x), F.cosine_similarity(x, x + 1), x.log_softmax(1), F.pad(x, (1, 2)), neura.tril(x), x / 3 // 1


def edges(x, y):
    quotients = x // y, x % y, neura.div(x, y, rounding_mode="trunc"), neura.hypot(x * 1e30, y * 1e30)
    return *quotients, x.expm1(), x.abs().log1p(), neura.logaddexp(x, y), x.isinf(), (x.double() * 1e300).isposinf()


def edge_values():
    inf = float("inf")
    return neura.tensor([1.0, -200, 5, -5, inf, 0]), neura.tensor([0.1, 3, -3, 3, 2, 1.0])


def times(n, make):
    return nn.Sequential(*[m for _ in range(n) for m in make()])


def picture():
    return neura.randn(2, 4, 9, 9)


LAYERS = {
    "conv": (lambda: nn.Conv2d(4, 6, 3, 2, 1, dilation=2, groups=2), picture),
    "transposed": (lambda: nn.ConvTranspose2d(4, 6, 3, 2, 1, output_padding=1, groups=2), picture),
    "reflecting": (lambda: nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect"), picture),
    "max pool": (lambda: nn.MaxPool2d(3, 2, 1, ceil_mode=True), picture),
    "mean pool": (lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False, ceil_mode=True), picture),
    "adaptive": (lambda: nn.AdaptiveAvgPool2d(3), picture),
    "group norm": (lambda: nn.GroupNorm(2, 4), picture),
    "instance norm": (lambda: nn.InstanceNorm2d(4, affine=True), picture),
    "rms norm": (lambda: nn.RMSNorm(9), picture),
    "patches": (lambda: nn.Unfold((3, 2), padding=1, stride=2, dilation=(1, 2)), picture),
    "edges": (lambda: Function(edges), edge_values),
    "bilinear": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), picture),
    "shuffle": (lambda: nn.PixelShuffle(2), picture),
    "attention": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), lambda: neura.randn(2, 3, 8)),
    "embedding": (lambda: nn.Embedding(9, 3, padding_idx=0), lambda: neura.tensor([[1, 2], [0, 8]])),
    "bilinear product": (lambda: nn.Bilinear(3, 4, 2), lambda: (neura.randn(2, 3), neura.randn(2, 4))),
    "half": (lambda: nn.Linear(3, 4).half(), lambda: neura.randn(2, 3).half()),
    "double": (lambda: nn.Linear(3, 4).double(), lambda: neura.randn(2, 3).double()),
}
for (
    name
) in "ReLU6 LeakyReLU ELU CELU SELU GELU SiLU Mish Softplus Hardtanh Hardswish Softshrink LogSigmoid PReLU".split():
    LAYERS[name] = (getattr(nn, name), lambda: neura.randn(2, 6) * 3)

MODELS = {
    "60 layers": (lambda: times(30, lambda: (nn.Linear(6, 6), nn.Tanh())), lambda: neura.randn(2, 6)),
    "ResNet": (ResNet, lambda: neura.randn(2, 3, 32, 32)),
    "GPT": (GPT, lambda: neura.randint(0, 30, (2, 6))),
    "LSTM": (lambda: Recurrent("LSTM", num_layers=2, bidirectional=True), lambda: neura.randn(2, 3, 4)),
    "GRU": (lambda: Recurrent("GRU"), lambda: neura.randn(2, 3, 4)),
    "RNN": (lambda: Recurrent("RNN", nonlinearity="relu"), lambda: neura.randn(2, 3, 4)),
    "two inputs": (lambda: Function(two), lambda: (neura.randn(2, 3), neura.randn(4, 3))),
    "writes": (lambda: Function(assign), lambda: neura.randn(3, 4)),
    "indices": (lambda: Function(indexed), lambda: neura.randn(3, 4)),
    "shapes": (lambda: Function(shapes), lambda: neura.randn(3, 4)),
    "reductions": (lambda: Function(reduced), lambda: neura.randn(3, 4)),
    "composed": (lambda: Function(composed), lambda: neura.randn(3, 4)),
    **LAYERS,
}


def case(name):
    neura.manual_seed(0)
    make, example = MODELS[name]
    x = example()
    return make().eval(), x if isinstance(x, tuple) else (x,)


def flat(y):
    return [t for part in y for t in flat(part)] if isinstance(y, (tuple, list)) else [y]


def results(model, x):
    with neura.no_grad():
        return flat(model(*x))


def check(got, wanted):
    assert len(got) == len(wanted)
    for a, b in zip(got, wanted):
        neura.testing.assert_close(a, b, equal_nan=True)


@pytest.mark.parametrize("name", MODELS)
def test_a_file_computes_what_the_model_does_and_stays_as_it_is(name):
    model, x = case(name)
    first = neura.onnx.load(neura.onnx.export(model, x))
    check(results(first, x), results(model, x))
    names = {"input_names": first.input_names}
    second = neura.onnx.export(first, x, **names)
    assert neura.onnx.export(neura.onnx.load(second), x, **names) == second


@needs_runtime
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("opset", (14, 18, 23))
def test_onnx_runtime_computes_the_same(name, opset):
    import onnx
    import onnxruntime

    model, x = case(name)
    if name == "indices" and opset < 16:
        pytest.skip("sums into places need opset 16")
    data = neura.onnx.export(model, x, opset_version=opset)
    onnx.checker.check_model(data, full_check=True)
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    got = session.run(None, {i.name: t.numpy() for i, t in zip(session.get_inputs(), x)})
    want = results(model, x)
    assert len(got) == len(want)
    check([neura.from_numpy(a) if a.shape else neura.tensor(a.item(), dtype=b.dtype) for a, b in zip(got, want)], want)


def test_sizes_stay_open():
    neura.manual_seed(0)
    model = GPT().eval()
    data = neura.onnx.export(model, neura.randint(0, 30, (2, 5)), dynamic_shapes={"idx": {0: "batch", 1: "time"}})
    read = neura.onnx.load(data)
    assert read.inputs == {"idx": ("tensor", "int64", ("batch", "time"))}
    assert read.outputs["output_0"] == ("tensor", "float32", ("batch", "time", 30))
    for sizes in ((1, 1), (3, 12), (5, 7)):
        x = neura.randint(0, 30, sizes)
        check(results(read, (x,)), results(model, (x,)))
    model = ResNet().eval()
    read = neura.onnx.load(
        neura.onnx.export(model, neura.randn(1, 3, 32, 32), dynamic_axes={"x": {0: "n", 2: "h", 3: "w"}})
    )
    x = neura.randn(3, 3, 45, 38)
    check(results(read, (x,)), results(model, (x,)))
    lstm = Recurrent("LSTM").eval()
    read = neura.onnx.load(neura.onnx.export(lstm, neura.randn(2, 3, 4), dynamic_axes={"input": [0, 1], "x": [0, 1]}))
    x = neura.randn(4, 6, 4)
    check(results(read, (x,)), results(lstm, (x,)))


def test_sizes_that_follow_from_no_formula_are_refused():
    def f(x):
        return x.reshape(x.size(0) * x.size(0)) if x.dim() == 1 else x.new_zeros(x.size(0) ** 2 + 1) + x.sum()

    with pytest.raises(neura.errors.ValueError, match="follow from the dynamic ones"):
        neura.onnx.export(f, neura.randn(2, 3), dynamic_axes={"x": {0: "n"}})
    with pytest.raises(neura.errors.ValueError, match="same operations for every size, got"):
        neura.onnx.export(lambda x: x + 1 if x.size(0) > 5 else x * 2, neura.randn(5), dynamic_axes={"x": {0: "n"}})
    with pytest.raises(neura.errors.IndexError, match='dimensions of "x" below 1, got 1'):
        neura.onnx.export(lambda x: x, neura.randn(5), dynamic_axes={"x": {1: "n"}})


def test_tied_weights_are_written_once_and_names_are_those_of_the_state_dict(tmp_path):
    model = GPT().eval()
    x = neura.randint(0, 30, (2, 6))
    for weights, beside in ((True, "net.onnx.data"), ("safetensors", "net.safetensors")):
        path = tmp_path / "net.onnx"
        assert neura.onnx.export(model, x, path, external_data=weights) is None
        assert (tmp_path / beside).exists()
        read = neura.onnx.load(path)
        check(results(read, (x,)), results(model, (x,)))
        large = {n for n, t in model.state_dict().items() if t.numel() > 16} - {"head.weight"}
        assert set(read.state_dict()) >= large and "head.weight" not in read.state_dict()
    tensors = neura.safetensors.load_file(tmp_path / "net.safetensors")
    assert neura.equal(tensors["wte.weight"], model.wte.weight)


def test_imported_models_are_tuned_and_written_again():
    neura.manual_seed(0)
    x, y = neura.randn(16, 6), neura.randn(16, 6)
    model = neura.onnx.load(neura.onnx.export(times(2, lambda: (nn.Linear(6, 6), nn.Tanh())), x))
    sgd = neura.optim.SGD(model.parameters(), lr=0.5)
    losses = []
    for _ in range(20):
        sgd.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        sgd.step()
        losses.append(loss.item())
    assert losses[-1] < 0.9 * losses[0]
    again = neura.onnx.load(neura.onnx.export(model, x))
    check(results(again, (x,)), results(model, (x,)))


def test_options():
    net = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5))
    x = neura.randn(2, 3)
    read = neura.onnx.load(neura.onnx.export(net, x, input_names=["a"], output_names=["b"], verify=True))
    assert read.input_names == ["a"] and read.output_names == ["b"]
    assert net.training and net[1].training  # as before
    file = io.BytesIO()
    assert neura.onnx.export(net, (x,), file, opset_version=13) is None and len(file.getvalue()) > 100
    bare = neura.onnx.load(neura.onnx.export(net, x, export_params=False))
    assert bare.input_names == ["input", "0.weight", "0.bias"]
    check(results(bare, (x, net[0].weight, net[0].bias)), results(net.eval(), (x,)))
    nested = neura.onnx.export(
        lambda a, k: {"s": a["u"] + k, "l": [a["v"] * 2, k]}, ({"u": x, "v": x + 1},), kwargs={"k": x}
    )
    assert neura.onnx.load(nested).input_names == ["a_u", "a_v", "k"]


def test_what_cannot_be_written_is_refused(tmp_path):
    x = neura.rand(3, 3)
    path = tmp_path / "no.onnx"

    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 3)

        def forward(self, x):
            return neura.lgamma(self.fc(x))

    with pytest.raises(
        neura.errors.NotImplementedError, match=r'the operation lgamma \(call 1, in or after the module "fc"\)'
    ):
        neura.onnx.export(Odd(), x, path)
    with pytest.raises(
        neura.errors.ValueError, match=r'got a write of "1\.num_batches_tracked"; export it in evaluation mode'
    ):
        net = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
        neura.onnx.export(net, x, path, training=neura.onnx.TrainingMode.TRAINING)
    with pytest.raises(neura.errors.ValueError, match="reads no values on the host"):
        neura.onnx.export(lambda x: x * 2 if x.sum() > 0 else x, x, path)
    with pytest.raises(neura.errors.ValueError, match="opset_version from 13 to 24, got 12"):
        neura.onnx.export(lambda x: x, x, path, opset_version=12)
    with pytest.raises(neura.errors.NotImplementedError, match="expected real numbers, got complex64"):
        neura.onnx.export(lambda x: neura.fft.fft(x).real, x, path)
    assert not list(tmp_path.iterdir())
