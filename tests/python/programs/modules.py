"""Modules as users write them: state dicts, containers, buffers, copies, errors."""

import copy
import io
import pickle

from program_helpers import net_of, raised


def state_dict_round_trip(torch):
    a, b = net_of(torch), torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    result = b.load_state_dict(a.state_dict())
    state = a.state_dict()
    state["0.weight"].zero_()
    return list(state), str(result), a[0].weight.detach(), b[0].weight.detach(), state["0.weight"].requires_grad


def state_dict_mismatches(torch):
    net = net_of(torch)
    state = net.state_dict()
    partial = {k: v for k, v in state.items() if k.startswith("0")} | {"extra": torch.ones(1)}
    loose = net.load_state_dict(partial, strict=False)
    wrong = dict(state) | {"0.weight": torch.ones(5, 5)}
    return (
        loose.missing_keys,
        loose.unexpected_keys,
        raised(lambda: net.load_state_dict(partial)),
        raised(lambda: net.load_state_dict(wrong, strict=False)),
        raised(lambda: net.load_state_dict([1]), TypeError),
    )


def extra_state(torch):
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 0

        def get_extra_state(self):
            return {"n": self.n}

        def set_extra_state(self, state):
            self.n = state["n"]

    a, b = Counter(), Counter()
    a.n = 5
    b.load_state_dict(a.state_dict())
    return b.n, list(a.state_dict()), raised(lambda: b.load_state_dict({}))


def buffers(torch):
    class Mean(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(2))
            self.register_buffer("scratch", torch.zeros(1), persistent=False)
            self.register_buffer("later", None)

        def forward(self, x):
            self.total += x.sum(0)
            return self.total

    m = Mean()
    m(torch.ones(3, 2))
    m.double()
    return (
        list(m.state_dict()),
        [n for n, _ in m.named_buffers()],
        m.total,
        str(m.total.dtype),
        m.later,
        raised(lambda: m.register_buffer("total", None), KeyError),
        raised(lambda: m.register_buffer("a.b", None), KeyError),
    )


def parameters_of_modules(torch):
    class Own(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Parameter(torch.ones(2))
            self.b = torch.nn.Linear(2, 2, bias=False)
            self.same = self.b
            self.register_parameter("none", None)
            self.list = [torch.nn.Linear(1, 1)]

    m = Own()
    return (
        [n for n, _ in m.named_parameters()],
        [n for n, _ in m.named_parameters(recurse=False)],
        [n for n, _ in m.named_modules()],
        [n for n, _ in m.named_modules(remove_duplicate=False)],
        sum(p.numel() for p in m.parameters()),
        list(m.state_dict()),
        [n for n, _ in m.named_parameters(prefix="p")],
        raised(lambda: setattr(m, "a", torch.ones(2)), TypeError),
        raised(lambda: m.missing, AttributeError),
        len(list(m.children())),
    )


def replaced_and_deleted(torch):
    net = net_of(torch)
    net[1] = torch.nn.Tanh()
    del net[2]
    net.append(torch.nn.Linear(3, 2)).insert(0, torch.nn.Identity())
    net.add_module("last", torch.nn.Flatten())
    popped = net.pop(0)
    return (
        [n for n, _ in net.named_children()],
        [type(m).__name__ for m in net],
        len(net),
        type(popped).__name__,
        repr(net[1:3]),
        raised(lambda: net[9], IndexError),
    )


def attributes_become_parameters(torch):
    m = torch.nn.Module()
    m.w = torch.nn.Parameter(torch.ones(1))
    m.x = torch.ones(1)
    m.sub = torch.nn.ReLU()
    m.w = None
    first = list(m._parameters), list(m._modules), "x" in m.__dict__
    m.x = torch.nn.Parameter(torch.zeros(1))
    del m.sub
    return (
        first,
        [n for n, _ in m.named_parameters()],
        list(m._modules),
        "x" in m.__dict__,
        raised(lambda: delattr(m, "nothing"), AttributeError),
    )


def forgot_super(torch):
    class Bad(torch.nn.Module):
        def __init__(self):
            self.fc = torch.nn.Linear(1, 1)

    class NoForward(torch.nn.Module):
        pass

    return raised(Bad, AttributeError), raised(lambda: NoForward()(1), NotImplementedError)


def module_lists(torch):
    layers = torch.nn.ModuleList([torch.nn.Linear(2, 2) for _ in range(3)])
    layers.extend([torch.nn.ReLU()])
    layers.insert(1, torch.nn.Tanh())
    layers[0] = torch.nn.Identity()
    more = layers + torch.nn.ModuleList([torch.nn.Sigmoid()])
    return (
        [type(m).__name__ for m in more],
        [type(m).__name__ for m in layers[1:3]],
        len(layers),
        [n for n, _ in layers.named_parameters()],
        type(layers[-1]).__name__,
        raised(lambda: layers(1), NotImplementedError),
    )


def module_dicts(torch):
    d = torch.nn.ModuleDict({"relu": torch.nn.ReLU(), "fc": torch.nn.Linear(1, 1)})
    d["tanh"] = torch.nn.Tanh()
    d.update([("fc", torch.nn.Identity())])
    gone = d.pop("relu")
    return (
        list(d.keys()),
        "relu" in d,
        type(gone).__name__,
        [type(m).__name__ for m in d.values()],
        raised(lambda: d["no"], KeyError),
        raised(lambda: d.update({"a.b": torch.nn.ReLU()}), KeyError),
        len(d),
    )


def parameter_containers(torch):
    class Own(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.list = torch.nn.ParameterList([torch.ones(2), torch.nn.Parameter(torch.zeros(1))])
            self.dict = torch.nn.ParameterDict({"a": torch.ones(1), "b": torch.zeros(2)})

    m = Own()
    m.list.append(torch.full((1,), 5.0))
    m.dict["c"] = torch.ones(3)
    return (
        [n for n, _ in m.named_parameters()],
        list(m.dict.keys()),
        len(m.list),
        m.list[-1].requires_grad,
        isinstance(m.dict["a"], torch.nn.Parameter),
    )


def train_and_eval(torch):
    net = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(2))
    net.eval()
    flags = [m.training for m in net.modules()]
    x = torch.tensor([[1.0, 2], [3, 6]])
    same = net(x)
    net.train()
    net[0].p = 0.0
    trained = net(x)
    net.requires_grad_(False)
    return (
        flags,
        same,
        trained.detach(),
        net[1].running_mean,
        net[1].running_var,
        net[1].num_batches_tracked,
        [p.requires_grad for p in net.parameters()],
        raised(lambda: net.train("yes"), ValueError),
    )


def moved_and_cast(torch):
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Embedding(3, 2))
    net.register_buffer("ids", torch.arange(3))
    same = net.half()
    first = [str(p.dtype) for p in net.parameters()], str(net.ids.dtype), same is net
    net.to(torch.float64)
    weight = net[0].weight
    net.to("cpu")
    return (
        first,
        str(net[0].weight.dtype),
        net[0].weight is weight,
        raised(lambda: net.to(torch.int64), TypeError),
        str(net.bfloat16()[0].bias.dtype),
        raised(lambda: net(torch.ones(1, 2))),
    )


def initialised_by_apply(torch):
    net = net_of(torch)
    seen = []

    def init(m):
        seen.append(type(m).__name__)
        if isinstance(m, torch.nn.Linear):
            torch.nn.init.constant_(m.weight, 0.5)
            torch.nn.init.zeros_(m.bias)

    return (
        net.apply(init) is net,
        seen,
        net(torch.ones(1, 2)).detach(),
        torch.nn.init.calculate_gain("leaky_relu", 0.2),
        torch.nn.init.eye_(torch.empty(2, 3)),
    )


def copied_and_pickled(torch):
    net = net_of(torch)
    twin = copy.deepcopy(net)
    loaded = pickle.loads(pickle.dumps(net))
    net[0].weight.data.zero_()
    x = torch.ones(1, 2)
    return twin(x).detach(), loaded(x).detach(), net(x).detach(), copy.copy(net)[0] is net[0], twin[0].weight.is_leaf


def saved_to_a_stream(torch):
    net, stream = net_of(torch), io.BytesIO()
    torch.save({"model": net.state_dict(), "epoch": 3, "best": [0.5, None]}, stream)
    stream.seek(0)
    loaded = torch.load(stream)
    other = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    other.load_state_dict(loaded["model"])
    return loaded["epoch"], loaded["best"], other(torch.ones(1, 2)).detach(), list(loaded["model"])


def weights_shared(torch):
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = torch.nn.Embedding(4, 3)
            self.out = torch.nn.Linear(3, 4, bias=False)
            self.out.weight = self.embed.weight

        def forward(self, i):
            return self.out(self.embed(i))

    m = Tied()
    torch.nn.init.ones_(m.embed.weight)
    m(torch.tensor([1, 2])).sum().backward()
    return m.out.weight.grad, len(list(m.parameters())), list(m.state_dict()), m.out.weight is m.embed.weight


def submodules_by_path(torch):
    net = torch.nn.Sequential(net_of(torch), torch.nn.ModuleDict({"a": torch.nn.Linear(1, 1)}))
    return (
        repr(net.get_submodule("1.a")),
        net.get_parameter("0.0.bias").shape,
        raised(lambda: net.get_submodule("5"), AttributeError),
        raised(lambda: net.get_buffer("0.0.bias"), AttributeError),
        net.get_submodule("") is net,
    )


def gradients_cleared(torch):
    net = net_of(torch)
    net(torch.ones(1, 2)).sum().backward()
    had = [p.grad is not None for p in net.parameters()]
    net.zero_grad(set_to_none=False)
    zeros = [float(p.grad.abs().sum()) for p in net.parameters()]
    net.zero_grad()
    return had, zeros, [p.grad for p in net.parameters()]


def lazy_layers(torch):
    net = torch.nn.Sequential(torch.nn.LazyLinear(3), torch.nn.LazyBatchNorm1d())
    before = repr(net[0]), isinstance(net[0].weight, torch.nn.UninitializedParameter)
    net(torch.ones(4, 5))
    return before, net[0].weight.shape, repr(net), type(net[0]).__name__
