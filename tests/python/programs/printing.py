"""What is printed: widths, exponents, summaries, options, modules, devices and flags."""

from program_helpers import values


def floats(torch):
    made = [
        torch.tensor([1.0, 2.0]),
        torch.tensor([1.5, -2.25]),
        torch.tensor([1e-5, 1.0]),
        torch.tensor([1e10, 1.0]),
        torch.tensor([float("nan"), float("-inf"), 1.5]),
        torch.tensor(0.1),
        torch.tensor([0.1], dtype=torch.float64),
        torch.tensor([[1.0, 22.5], [-3.0, 4.125]]),
        torch.tensor([]),
        torch.tensor([float("nan")]),
        torch.tensor([0.0, -0.0]),
        torch.tensor([123456789.0]),
        torch.tensor([1e-10]),
    ]
    return [repr(x) for x in made]


def other_dtypes(torch):
    made = [
        torch.tensor([True, False]),
        torch.tensor([1, -20, 300]),
        torch.tensor([1], dtype=torch.int8),
        torch.tensor([0.5], dtype=torch.bfloat16),
        torch.tensor([1 + 2j, -0.5j]),
        torch.tensor(3),
        torch.empty(0, 3),
        torch.empty(2, 0, dtype=torch.int64),
        torch.tensor([[True]]),
        torch.tensor(1 + 1j, dtype=torch.complex128),
        torch.tensor([65504.0], dtype=torch.float16),
    ]
    return [str(x) for x in made]


def flags(torch):
    x = torch.ones(2, requires_grad=True)
    return [
        repr(x),
        repr(x * 2),
        repr((x * 2).sum()),
        repr(x.detach()),
        repr(torch.nn.Parameter(torch.zeros(2))),
        repr(x.view(2, 1)),
        repr((x * 2).relu()),
    ]


def summaries(torch):
    return [
        repr(torch.arange(2000)),
        repr(torch.zeros(50, 50)),
        repr(values(torch, 8, 200)),
        repr(torch.ones(3, 3, 200)),
        repr(torch.arange(1000)),
    ]


def precision(torch):
    x = torch.tensor([3.14159265, 100.0])
    torch.set_printoptions(precision=2)
    short = repr(x)
    torch.set_printoptions(sci_mode=True)
    science = repr(x)
    torch.set_printoptions(sci_mode=False, precision=4)
    plain = repr(torch.tensor([1e-8, 1e8]))
    torch.set_printoptions(profile="default")
    return short, science, plain, repr(x)


def options(torch):
    x = torch.arange(24.0).view(4, 6)
    torch.set_printoptions(threshold=5, edgeitems=1)
    cut = repr(x)
    torch.set_printoptions(profile="default", linewidth=30)
    narrow = repr(x)
    torch.set_printoptions(profile="short")
    short = repr(x)
    torch.set_printoptions(profile="full")
    full = len(repr(torch.zeros(1500)))
    return cut, narrow, short, full


def long_lines(torch):
    return [
        repr(torch.arange(40)),
        repr(torch.arange(30.0) / 7),
        repr(torch.ones(2, 2, 2)),
        repr(torch.ones(1, 1, 1, 1)),
        repr(torch.ones(2, 30)),
    ]


def shapes(torch):
    s = torch.ones(2, 3).shape
    return (
        repr(s),
        str(torch.Size([])),
        repr(s[1:]),
        s.numel(),
        s == (2, 3),
        repr(torch.Size([1]) + s),
        isinstance(s, tuple),
        repr(s[0]),
    )


def dtypes_and_devices(torch):
    made = [
        torch.float32,
        torch.half,
        torch.double,
        torch.long,
        torch.bool,
        torch.cfloat,
        torch.device("cpu"),
        torch.device("cuda:1"),
        torch.strided,
    ]
    cpu = torch.device("cpu")
    return (
        [repr(m) for m in made],
        [str(m) for m in made],
        cpu.type,
        cpu.index,
        torch.device("cuda", 0).index,
        cpu == torch.device("cpu"),
        torch.half.itemsize,
    )


def named_results(torch):
    x = torch.tensor([[1.0, 3.0], [4.0, 2.0]])
    return [
        repr(x.max(1)),
        repr(x.sort()),
        repr(torch.std_mean(x)),
        repr(torch.linalg.slogdet(x)),
        repr(x.topk(1)),
        repr(x.median(0)),
    ]


def formatted(torch):
    x = torch.tensor(3.14159)
    return (
        f"{x}",
        f"{x:.2f}",
        f"{x.item():.3f}",
        "{:>8.1f}".format(x),
        f"{torch.tensor(7)}",
        f"{torch.tensor([1])}",
        f"{torch.ones(1)!r}",
        "%s" % x,
    )


def small_modules(torch):
    nn = torch.nn
    made = [
        nn.Linear(2, 3),
        nn.Conv2d(1, 2, 3, padding=1, bias=False),
        nn.ReLU(),
        nn.ReLU(inplace=True),
        nn.Dropout(0.2),
        nn.BatchNorm1d(3),
        nn.LayerNorm((2, 3)),
        nn.Embedding(5, 2, padding_idx=0),
        nn.LSTM(2, 3, num_layers=2, batch_first=True),
        nn.MaxPool2d(2),
        nn.CrossEntropyLoss(),
        nn.Flatten(),
        nn.GELU(approximate="tanh"),
        nn.Softmax(dim=-1),
        nn.Identity(),
        nn.Upsample(scale_factor=2),
        nn.ConvTranspose1d(1, 2, 3, stride=2),
        nn.GroupNorm(1, 2, affine=False),
        nn.AdaptiveAvgPool2d((1, None)),
        nn.LeakyReLU(0.1),
        nn.PReLU(),
        nn.Bilinear(1, 2, 3),
    ]
    return [repr(m) for m in made]


def containers(torch):
    nn = torch.nn
    made = [
        nn.Sequential(nn.Linear(1, 2), nn.Sequential(nn.ReLU(), nn.Linear(2, 1))),
        nn.ModuleList([nn.Linear(1, 1) for _ in range(3)]),
        nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh()]),
        nn.ModuleDict({"a": nn.ReLU(), "b": nn.Linear(1, 1)}),
        nn.ParameterList([torch.zeros(2), torch.zeros(1, 3)]),
        nn.ParameterDict({"w": torch.zeros(2)}),
        nn.Sequential(),
    ]
    return [repr(m) for m in made]


def own_module(torch):
    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(2, 2)
            self.scale = torch.nn.Parameter(torch.ones(1))
            self.note = "x"

        def extra_repr(self):
            return f"note={self.note}"

    class Plain(torch.nn.Module):
        pass

    return repr(Block()), repr(Plain()), str(torch.nn.Sequential(Block(), Plain()))


def optimizers_and_others(torch):
    p = [torch.nn.Parameter(torch.zeros(1))]
    made = [torch.optim.SGD(p, lr=0.1, momentum=0.9), torch.optim.Adam(p, lr=0.01)]
    return (
        [repr(m).splitlines()[0] for m in made],
        "lr: 0.1" in repr(made[0]),
        "momentum: 0.9" in repr(made[0]),
        repr(made[0]),
    )


def sparse_tensors(torch):
    i, v = torch.tensor([[0, 1], [1, 0]]), torch.tensor([1.0, 2.0])
    coo = torch.sparse_coo_tensor(i, v, (2, 2))
    return [repr(coo), repr(coo.coalesce()), repr(torch.eye(2).to_sparse_csr()), repr(torch.eye(2).to_sparse())]
