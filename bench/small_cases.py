"""The cases of small_calls.py: CASES[name] is (make, grad); make(B), of a framework, is what is called."""

CASES = {}


def case(name, grad=False):
    """Registers a case: make(B) returns what is called. Without `grad` nothing is recorded."""

    def register(make):
        CASES[name] = (make, grad)
        return make

    return register


def one(name, code, shapes=((4, 8), (4, 8)), grad=False, **names):
    """A case of one expression over B, F and tensors a, b, c, of which the first asks for gradients with `grad`."""

    def make(B):
        tensors = [B.randn(*shape) if shape is not None else None for shape in shapes]
        if grad:
            tensors[0].requires_grad_()
        scope = {"B": B, "F": B.nn.functional, **{n: make_of(B) for n, make_of in names.items()}}
        return eval(f"lambda a, b=None, c=None: lambda: {code}", scope)(*tensors)

    CASES[name] = (make, grad)


def row(*shape):
    return (shape,)


for sign, word in (("+", "add"), ("-", "sub"), ("*", "mul"), ("/", "div")):
    one(f"{word}", f"a {sign} b")
    one(f"{word}, a number", f"a {sign} 2.5")
one("add, recorded", "a + b", grad=True)
one("add, broadcast", "a + b", ((4, 8), (8,)))
one("add_", "a.add_(b)")
one("add, out", "B.add(a, b, out=c)", ((4, 8),) * 3)
one("add, alpha", "B.add(a, b, alpha=2)")
one("a += 1", "a.__iadd__(1)")
one("neg", "-a")
one("pow 2", "a ** 2")
one("a > 0", "a > 0")
one("a == b", "a == b")
one("exp", "a.exp()")
one("sqrt of abs", "a.abs().sqrt()")
one("relu", "B.relu(a)")
one("F.relu", "F.relu(a)")
one("gelu", "F.gelu(a)")
one("silu", "F.silu(a)")
one("sigmoid", "B.sigmoid(a)")
one("tanh", "B.tanh(a)")
one("clamp", "a.clamp(-1, 1)")
one("where", "B.where(m, a, b)", m=lambda B: B.randn(4, 8) > 0)
one("masked_fill", "a.masked_fill(m, 0.0)", m=lambda B: B.randn(4, 8) > 0)
one("lerp", "B.lerp(a, b, 0.5)")
one("addcmul", "B.addcmul(a, b, c)", ((4, 8),) * 3)
one("maximum", "B.maximum(a, b)")
for n in (2, 8, 32):
    one(f"matmul {n}", "a @ b", ((n, n), (n, n)))
one("matmul 8, recorded", "a @ b", ((8, 8), (8, 8)), grad=True)
one("mm 8", "B.mm(a, b)", ((8, 8), (8, 8)))
one("bmm 4 x 8", "B.bmm(a, b)", ((4, 8, 8), (4, 8, 8)))
one("matmul with a vector", "a @ b", ((8, 8), (8,)))
one("dot", "B.dot(a, b)", ((8,), (8,)))
one("addmm 8", "B.addmm(c, a, b)", ((8, 8),) * 3)
one("einsum", "B.einsum('ij,jk->ik', a, b)", ((8, 8), (8, 8)))
one("outer", "B.outer(a, b)", ((8,), (8,)))
one("linear 8", "F.linear(a, b, c)", ((4, 8), (8, 8), (8,)))
one("linear 8, recorded", "F.linear(a, b, c)", ((4, 8), (8, 8), (8,)), grad=True)
one("linear 64", "F.linear(a, b, c)", ((16, 64), (64, 64), (64,)))
one("bilinear", "F.bilinear(a, b, c)", ((4, 3), (4, 5), (2, 3, 5)))
one("softmax", "F.softmax(a, -1)")
one("softmax, method", "a.softmax(1)")
one("log_softmax", "F.log_softmax(a, -1)")
one("layer_norm", "F.layer_norm(a, (8,), b, c)", ((4, 8), (8,), (8,)))
one("layer_norm 64 x 64", "F.layer_norm(a, (64,), b, c)", ((64, 64), (64,), (64,)))
one("rms_norm 64 x 64", "F.rms_norm(a, (64,), b)", ((64, 64), (64,)))
one("group_norm", "F.group_norm(a, 2, b, c)", ((2, 4, 4, 4), (4,), (4,)))
one(
    "batch_norm, evaluation",
    "F.batch_norm(a, b, c, training=False)",
    ((4, 8), (8,), (8,)),
)
one("normalize", "F.normalize(a)")
one("conv2d 1 x 3 x 8 x 8", "F.conv2d(a, b, c, padding=1)", ((1, 3, 8, 8), (4, 3, 3, 3), (4,)))
one("conv2d, recorded", "F.conv2d(a, b, c, padding=1)", ((1, 3, 8, 8), (4, 3, 3, 3), (4,)), grad=True)
one("conv1d 1 x 3 x 16", "F.conv1d(a, b, c)", ((1, 3, 16), (4, 3, 3), (4,)))
one("conv_transpose2d", "F.conv_transpose2d(a, b)", ((1, 3, 8, 8), (3, 4, 2, 2)))
one("max_pool2d", "F.max_pool2d(a, 2)", row(1, 4, 8, 8))
one("avg_pool2d", "F.avg_pool2d(a, 2)", row(1, 4, 8, 8))
one("adaptive_avg_pool2d", "F.adaptive_avg_pool2d(a, 1)", row(1, 4, 8, 8))
one("interpolate", "F.interpolate(a, scale_factor=2)", row(1, 3, 8, 8))
one("pad", "F.pad(a, (1, 1))")
one("embedding", "F.embedding(i, a)", row(16, 8), i=lambda B: B.tensor([1, 2, 3]))
one("dropout", "F.dropout(a, 0.5)")
one("attention", "F.scaled_dot_product_attention(a, b, c)", ((1, 2, 8, 16),) * 3)
one("cross_entropy", "F.cross_entropy(a, t)", t=lambda B: B.tensor([0, 1, 2, 3]))
one("mse_loss", "F.mse_loss(a, b)")
one("l1_loss", "F.l1_loss(a, b)")
one("binary_cross_entropy_with_logits", "F.binary_cross_entropy_with_logits(a, b)")
one("one_hot", "F.one_hot(t, 4)", t=lambda B: B.tensor([0, 1, 2, 3]))
one("cat", "B.cat([a, b])")
one("cat, dim 1", "B.cat((a, b), 1)")
one("stack", "B.stack([a, b])")
one("stack of 16", "B.stack(l)", l=lambda B: [B.randn(8) for _ in range(16)])
one("split", "a.split(2)")
one("chunk", "a.chunk(2, 1)")
one("unbind", "a.unbind(0)")
one("a[0]", "a[0]")
one("a[1:3]", "a[1:3]")
one("a[:, 1]", "a[:, 1]")
one("a[None]", "a[None]")
one("a[..., ::2]", "a[..., ::2]")
one("a[1, 2]", "a[1, 2]")
one("a[indices]", "a[i]", i=lambda B: B.tensor([0, 2]))
one("a[list]", "a[[0, 2]]")
one("a[mask]", "a[m]", m=lambda B: B.randn(4, 8) > 0)
one("a[rows, columns]", "a[i, i]", i=lambda B: B.tensor([0, 2]))
one("a[0] = 1", "a.__setitem__(0, 1.0)")
one("a[mask] = 0", "a.__setitem__(m, 0.0)", m=lambda B: B.randn(4, 8) > 0)
one("a[:, 1] = row", "a.__setitem__((slice(None), 1), b)", ((4, 8), (4,)))
one("index_select", "B.index_select(a, 0, i)", i=lambda B: B.tensor([0, 2]))
one("gather", "a.gather(1, i)", i=lambda B: B.zeros(4, 2, dtype=B.int64))
one("scatter_add", "a.scatter_add(1, i, b)", ((4, 8), (4, 2)), i=lambda B: B.zeros(4, 2, dtype=B.int64))
one("nonzero", "B.nonzero(a)")
one("view", "a.view(8, 4)")
one("reshape", "a.reshape(-1)")
one("flatten", "a.flatten()")
one("transpose", "a.transpose(0, 1)")
one("a.T", "a.T")
one("a.mT", "a.mT")
one("permute", "a.permute(1, 0)")
one("unsqueeze", "a.unsqueeze(0)")
one("squeeze", "a.squeeze()")
one("expand", "a.expand(3, 4, 8)")
one("repeat", "a.repeat(2, 2)")
one("contiguous of a transpose", "a.T.contiguous()")
one("clone", "a.clone()")
one("detach", "a.detach()")
one("to float64", "a.to(B.float64)")
one("to float32", "a.to(B.float32)")
one("float()", "a.float()")
one("long()", "a.long()")
one("flip", "a.flip(0)")
one("roll", "a.roll(1, 0)")
one("tril", "a.tril()")
one("diagonal", "a.diagonal()")
one("sum", "a.sum()")
one("sum, dim", "a.sum(1)")
one("sum, dim, keepdim", "a.sum(dim=-1, keepdim=True)")
one("mean", "a.mean()")
one("mean, dim", "a.mean(1)")
one("var, dim", "a.var(1)")
one("std", "a.std()")
one("max", "a.max()")
one("max, dim", "a.max(1)")
one("amax", "a.amax(1)")
one("argmax", "a.argmax(1)")
one("prod", "a.prod()")
one("any", "(a > 0).any()")
one("all", "(a > 0).all()")
one("norm", "a.norm()")
one("cumsum", "a.cumsum(1)")
one("sort", "a.sort()")
one("topk", "a.topk(2)")
one("logsumexp", "a.logsumexp(1)")
one("isnan", "B.isnan(a)")
one("allclose", "B.allclose(a, b)")
one("equal", "B.equal(a, b)")
one("unique", "B.unique(i)", i=lambda B: B.tensor([1, 2, 3, 2, 1]))
one("bincount", "B.bincount(i)", i=lambda B: B.tensor([1, 2, 3, 2, 1]))
one("item", "a.item()", row(1))
one("float(a)", "float(a)", row(1))
one("bool(a)", "bool(a)", row(1))
one("tolist", "a.tolist()")
one("numpy()", "a.numpy()")
one("from_numpy", "B.from_numpy(n)", n=lambda B: B.randn(4, 8).numpy())
one("len(a)", "len(a)")
one("shape", "a.shape")
one("size(0)", "a.size(0)")
one("shape[0]", "a.shape[0]")
one("dim()", "a.dim()")
one("numel()", "a.numel()")
one("dtype", "a.dtype")
one("device", "a.device")
one("requires_grad", "a.requires_grad")
one("is_contiguous()", "a.is_contiguous()")
one("stride()", "a.stride()")
one("data_ptr()", "a.data_ptr()")
one("iteration", "list(a)")
one("repr", "repr(a)")
one("tensor(1.0)", "B.tensor(1.0)")
one("tensor of a list", "B.tensor([1.0, 2.0, 3.0])")
one("tensor of lists", "B.tensor([[1, 2], [3, 4]])")
one("zeros", "B.zeros(4, 8)")
one("zeros of a tuple, dtype", "B.zeros((4, 8), dtype=B.float64)")
one("ones_like", "B.ones_like(a)")
one("empty", "B.empty(4, 8)")
one("full", "B.full((4, 8), 2.0)")
one("arange", "B.arange(8)")
one("linspace", "B.linspace(0, 1, 8)")
one("eye", "B.eye(4)")
one("rand", "B.rand(4, 8)")
one("randn", "B.randn(4, 8)")
one("randint", "B.randint(0, 10, (4,))")
one("randperm", "B.randperm(8)")
one("linalg.inv 4", "B.linalg.inv(a)", row(4, 4))
one("linalg.solve 4", "B.linalg.solve(a, b)", ((4, 4), (4, 2)))
one("linalg.norm", "B.linalg.norm(a)")
one("fft 16", "B.fft.fft(a)", row(16))
one("complex mul", "z * z", z=lambda B: B.randn(4, 8, dtype=B.complex64))
one("int add", "i + i", i=lambda B: B.tensor([1, 2, 3]))
one("bool and", "m & m", m=lambda B: B.randn(4, 8) > 0)
one("bfloat16 add", "h + h", h=lambda B: B.randn(4, 8, dtype=B.bfloat16))
one("add of int and float", "a + i", row(3), i=lambda B: B.tensor([1, 2, 3]))
one("no_grad block", "B.no_grad().__enter__()", row(1))


def mlp(B):
    B.manual_seed(0)
    nn = B.nn
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))


@case("no_grad with")
def _(B):
    def f():
        with B.no_grad():
            pass

    return f


@case("MLP forward")
def _(B):
    m, x = mlp(B), B.randn(4, 8)
    return lambda: m(x)


@case("MLP forward, recorded", True)
def _(B):
    m, x = mlp(B), B.randn(4, 8)
    return lambda: m(x)


@case("MLP forward and backward", True)
def _(B):
    m, x, t, loss = mlp(B), B.randn(4, 8), B.tensor([0, 1, 2, 3]), B.nn.CrossEntropyLoss()

    def f():
        loss(m(x), t).backward()

    return f


@case("autograd.grad", True)
def _(B):
    a = B.randn(8, requires_grad=True)
    return lambda: B.autograd.grad((a * a).sum(), a)


@case("zero_grad, MLP")
def _(B):
    m = mlp(B)
    return lambda: m.zero_grad()


def optimizer_step(name, **options):
    @case(f"{name} step, MLP" + "".join(f", {k}" for k in options))
    def _(B):
        m, x = mlp(B), B.randn(4, 8)
        o = getattr(B.optim, name)(m.parameters(), lr=1e-4, **options)
        with B.enable_grad():
            m(x).sum().backward()
        return lambda: o.step()


optimizer_step("SGD")
optimizer_step("SGD", momentum=0.9)
optimizer_step("Adam")
optimizer_step("AdamW")
optimizer_step("RMSprop")
optimizer_step("Adagrad")


@case("training step, MLP, Adam", True)
def _(B):
    m, x, t = mlp(B), B.randn(4, 8), B.tensor([0, 1, 2, 3])
    o = B.optim.Adam(m.parameters(), lr=1e-4)

    def f():
        o.zero_grad()
        B.nn.functional.cross_entropy(m(x), t).backward()
        o.step()

    return f


def module(name, make, *shape, grad=False):
    @case(name, grad)
    def _(B):
        m, x = make(B.nn), B.randn(*shape)
        return lambda: m(x)


module("Identity", lambda nn: nn.Identity(), 1, 1)
module("Linear 8", lambda nn: nn.Linear(8, 8), 4, 8)
module("ReLU", lambda nn: nn.ReLU(), 4, 8)
module("Dropout, evaluation", lambda nn: nn.Dropout().eval(), 4, 8)
module("LayerNorm", lambda nn: nn.LayerNorm(8), 4, 8)
module("BatchNorm2d, training", lambda nn: nn.BatchNorm2d(4), 2, 4, 4, 4)
module("BatchNorm2d, evaluation", lambda nn: nn.BatchNorm2d(4).eval(), 2, 4, 4, 4)
module("Conv2d", lambda nn: nn.Conv2d(3, 4, 3, padding=1), 1, 3, 8, 8)
module("Conv2d, recorded", lambda nn: nn.Conv2d(3, 4, 3, padding=1), 1, 3, 8, 8, grad=True)
module("LSTM 4 steps", lambda nn: nn.LSTM(8, 8), 4, 2, 8)
module("GRU 4 steps", lambda nn: nn.GRU(8, 8), 4, 2, 8)
module("LSTMCell", lambda nn: nn.LSTMCell(8, 8), 2, 8)
module("TransformerEncoderLayer", lambda nn: nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2, 4, 16)
module("TransformerEncoderLayer, recorded", lambda nn: nn.TransformerEncoderLayer(16, 2, 32), 2, 4, 16, grad=True)


@case("MultiheadAttention")
def _(B):
    m, x = B.nn.MultiheadAttention(16, 2, batch_first=True), B.randn(2, 4, 16)
    return lambda: m(x, x, x)


@case("state_dict, MLP")
def _(B):
    m = mlp(B)
    return lambda: m.state_dict()


@case("parameters, MLP")
def _(B):
    m = mlp(B)
    return lambda: list(m.parameters())


@case("clip_grad_norm_, MLP")
def _(B):
    m, x = mlp(B), B.randn(4, 8)
    with B.enable_grad():
        m(x).sum().backward()
    return lambda: B.nn.utils.clip_grad_norm_(m.parameters(), 1.0)


def loader_of(B, **options):
    D = B.utils.data
    data = D.TensorDataset(B.randn(64, 8), B.arange(64))
    return D.DataLoader(data, batch_size=8, **options)


@case("DataLoader, 8 batches of 8")
def _(B):
    loader = loader_of(B)
    return lambda: [b for b in loader]


@case("DataLoader, shuffled")
def _(B):
    loader = loader_of(B, shuffle=True)
    return lambda: [b for b in loader]


@case("DataLoader over a list")
def _(B):
    items = [(B.randn(8), i) for i in range(64)]
    loader = B.utils.data.DataLoader(items, batch_size=8)
    return lambda: [b for b in loader]


@case("vmap of a product")
def _(B):
    a, b = B.randn(4, 8), B.randn(4, 8)
    f = B.func.vmap(B.dot)
    return lambda: f(a, b)


@case("func.grad")
def _(B):
    a = B.randn(8)
    f = B.func.grad(lambda x: (x * x).sum())
    return lambda: f(a)
