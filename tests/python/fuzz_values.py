"""What wrong calls are made of: tensors, odd objects, hostile objects, and an example of every public class."""

import importlib.util
import inspect
import pathlib

import neura
import numpy as np
from neura import nn

ROOT = pathlib.Path(__file__).resolve().parents[2]


def load_stubs():
    spec = importlib.util.spec_from_file_location("stubs", ROOT / "tools" / "stubs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Planned(Exception):
    """What the hostile objects raise themselves."""


class Marked(neura.Tensor):
    pass


class Clears:
    """A number that empties the list it stands in while it is read."""

    def __init__(self, owner):
        self.owner = owner

    def __index__(self):
        self.owner.clear()
        return 1

    def __float__(self):
        self.owner.clear()
        return 0.5


class Grows(Clears):
    """A number that makes the list it stands in longer."""

    def __index__(self):
        if len(self.owner) < 9:
            self.owner.append(self)
        return 1


class Long:
    """Says that it has 2**60 items, and gives the same one for ever."""

    def __len__(self):
        return 1 << 60

    def __getitem__(self, key):
        raise IndexError(key)


class Raises:
    def __getattr__(self, name):
        raise ValueError(name)

    def _refuse(self, *args):
        raise Planned

    __index__ = __float__ = __len__ = __iter__ = __bool__ = __eq__ = __hash__ = __repr__ = __call__ = _refuse


class Text(str):
    pass


class Number(int):
    def __index__(self):
        return "no"


class Keys(dict):
    """A mapping that changes whenever it is asked."""

    def keys(self):
        self[object()] = 1
        return super().keys()

    def __getitem__(self, key):
        self.clear()
        raise KeyError(key)


class Mischief:
    """A function that spoils what it is called with."""

    def __call__(self, *args, **keywords):
        for thing in args:
            for spoil in ("clear", "detach_", "zero_"):
                try:
                    getattr(thing, spoil)()
                except Exception:
                    pass
            vars(thing).clear() if hasattr(thing, "__dict__") else None
        return args[-1] if args else None

    __hash__ = None


def nested(r):
    deep = 1
    for _ in range(r.choice([70, 70, 2000, 100_000])):
        deep = [deep]
    return deep


def unsteady(r):
    owner = [2] * r.randrange(3)
    owner.insert(r.randrange(len(owner) + 1), r.choice((Clears, Grows))(owner))
    owner += [2] * r.randrange(3)
    return r.choice([owner, owner, [owner, 1], tuple(owner)])


def hostile(r):
    kind = r.randrange(12)
    if kind < 5:
        return unsteady(r)
    if kind < 7:
        return Mischief()
    if kind == 7:
        return nested(r)
    return r.choice([Long(), Raises(), Text("mean"), Number(2), Keys(a=neura.ones(2))])


DTYPES = [neura.float32, neura.float64, neura.int64, neura.bool, neura.complex64, neura.bfloat16, neura.uint8]
DTYPES += [neura.float16, neura.complex128, neura.int8, neura.int32, neura.float8_e5m2, neura.uint16, neura.uint64]


def tensor(r):
    t = neura.ones(tuple(r.choice([0, 1, 2, 3]) for _ in range(r.randrange(5)))).to(
        r.choice(DTYPES + [neura.float32, neura.float32, neura.float32])
    )
    if t.dim() and r.random() < 0.3:
        t.select(-1, 0).zero_() if t.size(-1) else None
    kind = r.randrange(8)
    if kind == 0 and t.dim() > 1:
        return t.transpose(0, 1)
    if kind in (1, 5, 6, 7) and t.dtype.is_floating_point and t.element_size() > 1:
        return t.requires_grad_() * (1 if r.random() < 0.5 else 2)
    if kind == 2:
        return t.unsqueeze(0).expand(3, *t.shape)
    if kind == 3:
        return Marked(t) if r.random() < 0.5 else t.reshape(-1)[::2]
    if kind == 4 and t.dtype.is_floating_point and t.element_size() > 1:
        return nn.Parameter(t.detach())
    return t


HUGE = [2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, -(2**63), 2**70, -(2**31), 2**33 + 1]
SIMPLE = [-3, 2, 0.5, None, "mean", (1, 2), [-1, 0], True, neura.float64, object(), slice(0, 2), 1j, "cpu", -1, 0]
STRANGE = [
    *HUGE,
    float("nan"),
    float("inf"),
    -float("inf"),
    "",
    "\0",
    "é",
    "\udcff",
    b"x",
]
STRANGE += [range(3), lambda *a: a[0], Ellipsis, int, slice(None, None, -1), np.float16(2), np.array("a"), 10**6]
STRANGE += [neura.device("cpu"), neura.Size([2])]


def looped():
    loop = []
    loop.append(loop)
    return loop


FRESH = [dict, set, list, tuple, looped, lambda: {"a": 1}, lambda: [[[]]], lambda: iter([1])]
FRESH += [lambda: np.arange(6.0)[::-2], lambda: np.ones((2, 2), ">f4"), lambda: nn.Linear(2, 2)]
FRESH += [lambda: [nn.Parameter(neura.ones(2))], lambda: nn.Sequential(nn.ReLU())]
FRESH += [lambda: neura.ones(2, requires_grad=True)]


def argument(r):
    """Anything."""
    kind = r.randrange(20)
    if kind < 7:
        return tensor(r)
    if kind < 12:
        return r.choice(SIMPLE)
    if kind < 15:
        return r.choice(STRANGE)
    if kind < 16:
        return r.choice(FRESH)()
    if kind < 18:
        return hostile(r)
    return r.choice([[tensor(r), tensor(r)], (tensor(r), 1), {"x": tensor(r)}])


class Squares(neura.utils.data.Dataset):
    def __getitem__(self, i):
        if not 0 <= i < 6:
            raise IndexError(i)
        return neura.full((2,), float(i * i))

    def __len__(self):
        return 6


class Stream(neura.utils.data.IterableDataset):
    def __iter__(self):
        return iter([neura.ones(2)] * 4)


def optimizer():
    p = nn.Parameter(neura.ones(2))
    p.grad = neura.ones(2)
    return neura.optim.SGD([p], lr=0.1, momentum=0.9)


def scheduler(o=None):
    return neura.optim.lr_scheduler.StepLR(o or optimizer(), 2)


def parameters():
    made = [nn.Parameter(neura.ones(2, 3)), nn.Parameter(neura.ones(3))]
    for p in made:
        p.grad = neura.ones(p.shape)
    return made


def first(*args):
    return args[0] if args else None


def backward_only(x):
    return (x * x).sum()


def some_function(r):
    return r.choice([first, first, backward_only, lambda *a: None, lambda *a: neura.ones(2), Mischief()])


# What a parameter of this name takes; each entry makes a new value of random state r.
RIGHT = {
    "dataset data_source": lambda r: r.choice([Squares(), neura.utils.data.TensorDataset(neura.ones(6, 2)), range(6)]),
    "datasets": lambda r: r.choice([[Squares(), Squares()], [Stream()]]),
    "sampler": lambda r: r.choice([None, range(4), [0, 2], neura.utils.data.SequentialSampler(range(5))]),
    "batch_sampler": lambda r: r.choice([None, None, [[0, 1], [2]]]),
    "optimizer": lambda r: optimizer(),
    "schedulers": lambda r: [scheduler()],
    "params parameters tensors inputs iterable_of_tensors": lambda r: parameters(),
    "milestones lengths indices": lambda r: [2, 4],
    "lr_lambda hook fn func function closure worker_init_fn": lambda r: some_function(r),
    "collate_fn pack_hook unpack_hook distance_function": lambda r: some_function(r),
    "module modules model layer encoder_layer decoder_layer": lambda r: r.choice(
        [nn.Linear(2, 2), nn.Sequential(nn.Linear(3, 3), nn.Dropout()), nn.BatchNorm1d(3), nn.Conv2d(2, 2, 1)]
    ),
    "input self x tensor a t output input1 x1 query key value": tensor,
    "other target y b mat2 input2 x2 mask src tgt weight bias grad_output": tensor,
    "index": lambda r: neura.tensor(r.choice([[0], [1, 0], [[0, 1]]])),
    "dim axis start_dim end_dim": lambda r: r.randrange(-2, 3),
    "num_workers": lambda r: r.choice([0, 0, 0, 1, 2]),
    "worker_type": lambda r: r.choice([None, "thread", "thread", "process"]),
    "shuffle drop_last persistent_workers replacement keepdim inplace bias requires_grad": lambda r: r.random() < 0.5,
    "batch_size num_samples kernel_size stride groups num_layers num_heads nhead": lambda r: r.choice([1, 2, 3]),
    "padding dilation output_padding": lambda r: r.choice([0, 1, (1, 1)]),
    "lr momentum p eps alpha gamma weight_decay dropout beta": lambda r: r.choice([0.1, 0.5, 0, 1]),
    "betas": lambda r: (0.9, 0.99),
    "dtype": lambda r: r.choice([None, None, neura.float64, *DTYPES]),
    "device map_location": lambda r: r.choice([None, "cpu"]),
    "reduction": lambda r: r.choice(["mean", "sum", "none"]),
    "mode": lambda r: r.choice(["mean", "zeros", "nearest", "bilinear", "min", "fan_in", True]),
    "f file filename path": lambda r: "file",
    "generator": lambda r: r.choice([None, neura.Generator()]),
    "size shape repeats sizes dims": lambda r: r.choice([2, (2, 3), [1, 2], unsteady(r)]),
    "state_dict": lambda r: r.choice([{}, nn.Linear(2, 2).state_dict(), optimizer().state_dict()]),
    "weights": lambda r: [1.0, 2.0, 1.0],
    "cutoffs": lambda r: [2, 4],
    "unflattened_size normalized_shape output_size": lambda r: r.choice([2, (2, 3), (1, 2)]),
}
RIGHT = {name: make for names, make in RIGHT.items() for name in names.split()}
CANDIDATES = [
    lambda r: r.choice([1, 2, 3, 4]),
    lambda r: neura.ones(2, 3),
    lambda r: (2, 3),
    lambda r: first,
    lambda r: [nn.Linear(2, 2)],
    lambda r: "mean",
    lambda r: nn.Linear(2, 2),
    lambda r: "x",
]


def own(cls, **members):
    return type("Own" + cls.__name__, (cls,), members)


EXAMPLES = {  # of classes whose arguments do not follow from their names
    "CIFAR10 ImageFolder MNIST TextFolder FashionMNIST": lambda cls: None,  # need files
    "MultiheadAttention": lambda cls: cls(4, 2),
    "Transformer": lambda cls: cls(4, 2, 1, 1, 8),
    "Muon": lambda cls: cls(parameters()[:1]),
    "Optimizer": lambda cls: cls(parameters(), {"lr": 0.1}),
    "LRScheduler": lambda cls: own(cls, get_lr=lambda self: [0.1])(optimizer()),
    "OneCycleLR": lambda cls: cls(optimizer(), 0.1, total_steps=9),
    "SequentialLR": lambda cls: (lambda o: cls(o, [scheduler(o), scheduler(o)], [2]))(optimizer()),
    "DistributedSampler": lambda cls: cls(Squares(), num_replicas=2, rank=1),
    "StackDataset": lambda cls: cls(range(6), Squares()),
    "TensorDataset": lambda cls: cls(neura.ones(6, 2), neura.zeros(6)),
    "RemovableHandle": lambda cls: nn.Linear(1, 1).register_forward_hook(first),
    "UntypedStorage": lambda cls: neura.ones(3).untyped_storage(),
    "device": lambda cls: neura.device("cpu"),
    "dtype": lambda cls: neura.float32,
    "iinfo": lambda cls: cls(neura.int32),
    "AlexNet VGG": lambda cls: None,  # hundreds of megabytes each
    "GPT2Model GPT2LMHeadModel": lambda cls: cls(vocab_size=5, n_positions=6, n_embd=4, n_layer=1, n_head=2),
    "UNet": lambda cls: cls(1, 1, 2),
    "Module": lambda cls: own(cls, forward=lambda self, x: x)(),
    "Dataset IterableDataset": lambda cls: Stream() if cls.__name__[0] == "I" else Squares(),
    "Generator": lambda cls: cls(),
    "Node": lambda cls: (neura.ones(2, requires_grad=True) * 2).grad_fn,
}
EXAMPLES = {name: make for names, make in EXAMPLES.items() for name in names.split()}


def parameters_of(function):
    """(positional, names of all), as far as its signature says."""
    try:
        found = list(inspect.signature(function).parameters.values())
    except Exception:
        return [], []
    named = [p for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    required = [p.name for p in named if p.default is p.empty and p.kind is not p.KEYWORD_ONLY]
    return required, [p.name for p in named if p.kind is not p.POSITIONAL_ONLY]


def example(cls, r):
    """An object of this class; None where no arguments that were tried make one."""
    if cls is neura.Tensor:
        return tensor(r)
    if cls.__name__ in EXAMPLES:
        return EXAMPLES[cls.__name__](cls)
    required, _ = parameters_of(cls)
    for other in CANDIDATES:
        for everywhere in (False, True):  # names that mean something else here
            try:
                made = cls(*(other(r) if everywhere else RIGHT.get(name, other)(r) for name in required))
            except Exception:
                continue
            if isinstance(made, cls):
                return made
    return None
