"""Tensors made, converted and promoted: typed constructors, out=, in-place broadcasting, NaN, empty tensors."""

import numpy
from program_helpers import raised, values


def typed_constructors(torch):
    made = [
        torch.FloatTensor([1, 2]),
        torch.LongTensor([[1], [2]]),
        torch.DoubleTensor(2, 0),
        torch.IntTensor([3.7, -3.7]),
        torch.BoolTensor([0, 2]),
        torch.ByteTensor([255]),
        torch.HalfTensor([0.1]),
        torch.Tensor([1, 2]),
        torch.Tensor(),
    ]
    types = [x.type() for x in made]
    return made, types, isinstance(made[0], torch.FloatTensor), torch.Tensor(2, 3).shape, made[0].type(torch.int64)


def type_strings(torch):
    x = torch.tensor([1.5, -2.5])
    return (
        x.type("torch.IntTensor"),
        x.type(torch.half),
        x.type_as(torch.tensor(1)),
        x.to(torch.int8),
        x.long(),
        x.bool(),
        x.to(x.long()),
    )


def inferred_dtypes(torch):
    made = [1, 1.0, True, 1j, [1, 2.0], [True, 2], [[]], (), numpy.float64(1), numpy.int32(2), numpy.ones(2, "f")]
    return [str(torch.tensor(v).dtype) for v in made], [list(torch.tensor(v).shape) for v in made]


def default_dtype(torch):
    torch.set_default_dtype(torch.float64)
    made = [
        torch.tensor(1.0),
        torch.zeros(1),
        torch.tensor(1j),
        torch.arange(2),
        torch.arange(0, 1, 0.5),
        torch.tensor([1]) / 2,
    ]
    torch.set_default_dtype(torch.float32)
    return (
        [str(x.dtype) for x in made],
        torch.get_default_dtype() is torch.float32,
        raised(lambda: torch.set_default_dtype(torch.int32), TypeError),
    )


def numpy_shares(torch):
    a = numpy.zeros(3)
    shared, copied = torch.from_numpy(a), torch.tensor(a)
    a[0] = 5
    shared[1] = 7
    back = shared.numpy()
    back[2] = 9
    return (
        shared,
        copied,
        a,
        torch.as_tensor(a).data_ptr() == shared.data_ptr(),
        numpy.asarray(shared).dtype == "float64",
    )


def numpy_refused(torch):
    x = torch.ones(2, requires_grad=True)
    return {
        "grad": raised(lambda: x.numpy()),
        "detached": x.detach().numpy(),
        "bf16": raised(lambda: torch.ones(1, dtype=torch.bfloat16).numpy(), TypeError),
        "strings": raised(lambda: torch.tensor(["a"]), ValueError),
        "object": raised(lambda: torch.from_numpy(numpy.array([None])), TypeError),
        "negative": raised(lambda: torch.from_numpy(numpy.arange(3)[::-1]), ValueError),
        "ragged": raised(lambda: torch.tensor([[1], [1, 2]]), ValueError),
        "list": raised(lambda: torch.from_numpy([1]), TypeError),
        "none": raised(lambda: torch.tensor(None)),
    }


def promotion_table(torch):
    kinds = [
        torch.bool,
        torch.uint8,
        torch.int32,
        torch.int64,
        torch.float16,
        torch.bfloat16,
        torch.float32,
        torch.complex64,
    ]
    pairs = [[str((torch.ones(1).to(a) + torch.ones(1).to(b)).dtype) for b in kinds] for a in kinds]
    zero = [str((torch.ones(1).to(a) + torch.ones((), dtype=torch.float64)).dtype) for a in kinds]
    return (
        pairs,
        zero,
        [str((torch.ones(2).to(a) * 1.5).dtype) for a in kinds],
        str(torch.result_type(torch.tensor([1]), 2.0)),
    )


def promotion_facts(torch):
    i, f, d = torch.tensor([1]), torch.tensor([1.0]), torch.tensor(1.0, dtype=torch.float64)
    made = [
        i / i,
        i // i,
        i + True,
        i * 2,
        i * 2.0,
        f + d,
        i + d,
        i**2,
        i**-0.5,
        i.sum(),
        i.float().mean(),
        torch.tensor(True) + True,
    ]
    allowed = torch.can_cast(torch.float64, torch.int32), torch.can_cast(torch.int32, torch.float16)
    return (
        [str(x.dtype) for x in made],
        allowed,
        str(torch.promote_types(torch.uint8, torch.int8)),
        str(i.bool().sum().dtype),
    )


def in_place_dtypes(torch):
    i, f = torch.tensor([5, 7]), torch.tensor([1.0, 2.0])
    f += i
    f *= torch.tensor(2.5, dtype=torch.float64)
    return (
        f,
        raised(lambda: i.add_(0.5)),
        raised(lambda: i.div_(2)),
        i.floor_divide_(2),
        i.mul_(True),
        raised(lambda: i.bool().add_(1)),
        i,
    )


def in_place_broadcast(torch):
    x = torch.zeros(2, 3)
    x += torch.tensor([1.0, 2, 3])
    x *= torch.tensor([[1.0], [10]])
    x[:, 0] -= 0.5
    row = torch.zeros(3)
    overlap = torch.zeros(1, 3).expand(2, 3)
    return x, raised(lambda: row.add_(x)), row, raised(lambda: overlap.add_(1)), raised(lambda: x.add_(torch.ones(2)))


def out_arguments(torch):
    a, b = torch.tensor([1.0, 2]), torch.tensor([3.0, 4])
    out = torch.empty(2)
    given = torch.add(a, b, out=out)
    wide = torch.empty(0, dtype=torch.float64)
    torch.mul(a, b, out=wide)
    v, i = torch.empty(0), torch.empty(0, dtype=torch.int64)
    torch.max(torch.tensor([[1.0, 5], [7, 2]]), 1, out=(v, i))
    narrow = raised(lambda: torch.add(a, b, out=torch.empty(2, dtype=torch.int64)))
    need = raised(lambda: torch.add(a, b, out=torch.ones(2, requires_grad=True)))
    part = torch.zeros(2, 2)
    torch.exp(a * 0, out=part[:, 1])
    return (
        given is out,
        out,
        wide,
        v,
        i,
        narrow,
        need,
        part,
        torch.cat([a, b], out=torch.empty(4)),
        torch.sum(a, 0, out=torch.empty(())),
    )


def division_kinds(torch):
    a, b = torch.tensor([7, -7, 7, -7]), torch.tensor([2, 2, -2, -2])
    modes = {m: torch.div(a, b, rounding_mode=m) for m in (None, "floor", "trunc")}
    f = torch.tensor([7.5, -7.5])
    return (
        modes,
        a // b,
        a % b,
        torch.fmod(a, b),
        torch.remainder(f, 2),
        f // 2,
        f % -2,
        torch.fmod(f, 2),
        raised(lambda: a // 0),
        1 / f,
        2 // f,
        7 % b,
    )


def infinities(torch):
    x = torch.tensor([1.0, 0, -1]) / 0
    nan = float("nan")
    y = torch.tensor([nan, 1, float("inf")])
    return {
        "x": x,
        "int": raised(lambda: torch.tensor([1]) // 0),
        "max": y.max(),
        "argmax": y.argmax(),
        "nanmean": torch.nanmean(y[:2]),
        "nansum": torch.nansum(y[:2]),
        "sort": y.sort(),
        "fmax": torch.fmax(y, torch.zeros(3)),
        "maximum": torch.maximum(y, torch.zeros(3)),
        "equal": (y == y).all(),
        "nan_to_num": torch.nan_to_num(x, nan=7, posinf=1, neginf=2),
        "isfinite": torch.isfinite(x),
        "median": [torch.tensor([nan, 1, 2]).median(), torch.tensor([nan, 1, 2]).nanmedian()],
        "close": [torch.allclose(y, y), torch.allclose(y, y, equal_nan=True), torch.equal(y, y)],
        "clamp": y.clamp(0, 0.5),
        "unique": torch.unique(torch.tensor([nan, 1.0, nan])).numel(),
    }


def empty_reductions(torch):
    e, r = torch.empty(0), torch.empty(0, 3)
    return {
        "sum": e.sum(),
        "prod": e.prod(),
        "mean": e.mean(),
        "std": e.std(),
        "all": e.all(),
        "any": e.any(),
        "rows": r.sum(0),
        "none": r.sum(1).shape,
        "max": raised(lambda: e.max()),
        "argmax": raised(lambda: e.argmax(), IndexError),
        "dim": raised(lambda: r.max(0), IndexError),
        "logsumexp": r.logsumexp(0),
        "norm": e.norm(),
        "cat": torch.cat([e, torch.ones(1)]),
        "median": e.median(),
        "one": torch.ones(1).std(),
        "softmax": r.softmax(0).shape,
        "bool": raised(lambda: bool(e), RuntimeError),
        "item": raised(lambda: e.item()),
    }


def scalars_of_python(torch):
    x = torch.tensor(3.7)
    return {
        "int": int(x),
        "float": float(x),
        "index": [10, 20, 30][torch.tensor(1)],
        "many": raised(lambda: float(torch.ones(2)), ValueError),
        "truth": raised(lambda: bool(torch.ones(2))),
        "in": [2 in torch.tensor([1, 2]), 5 in torch.tensor([1, 2])],
        "format": f"{x:.2f} {torch.tensor(5):04d}",
        "range": list(range(torch.tensor(3))),
        "math": __import__("math").sqrt(torch.tensor(4.0)),
        "contains": raised(lambda: "a" in torch.tensor([1])),
        "iter": [int(v) for v in torch.arange(3)],
        "sum": int(sum(torch.arange(4))),
        "max": int(max(torch.tensor([1, 5, 2]))),
        "reversed": [int(v) for v in reversed(torch.arange(3))],
        "hash": len({torch.tensor(1), torch.tensor(1)}),
    }


def ranges(torch):
    return (
        torch.arange(1, 2, 0.3),
        torch.arange(5, 1, -2),
        torch.arange(3.0),
        torch.linspace(1, 2, 4),
        torch.linspace(3, 3, 1),
        torch.linspace(0, 10, 5, dtype=torch.int64),
        torch.logspace(0, 3, 4, base=2),
        torch.range(1, 3),
        torch.arange(0).shape,
        raised(lambda: torch.arange(0, 1, 0)),
        raised(lambda: torch.arange(0, 5, -1)),
        raised(lambda: torch.linspace(0, 1, -1)),
        torch.full((2, 2), 1 + 2j),
        torch.complex(torch.ones(2), torch.zeros(2)).dtype == torch.complex64,
    )


def like_and_new(torch):
    x = torch.ones(2, 3, dtype=torch.float16).t()
    made = [
        torch.zeros_like(x),
        x.new_ones(2),
        torch.empty_like(x),
        x.new_tensor([1.0]),
        torch.full_like(x, 2, dtype=torch.int64),
        x.clone(),
    ]
    return (
        [(str(m.dtype), m.stride()) for m in made],
        torch.ones_like(x, memory_format=torch.contiguous_format).stride(),
        x.contiguous().stride(),
    )


def clamp_and_round(torch):
    x = torch.tensor([-2.5, -0.5, 0.5, 1.5, 2.5])
    return (
        x.round(),
        torch.round(torch.tensor([1.2345]), decimals=2),
        x.clamp(min=0),
        x.clamp(torch.tensor(-1.0), torch.tensor(1.0)),
        x.clip(max=1),
        x.trunc(),
        x.frac(),
        x.ceil(),
        x.sign(),
        torch.clamp(torch.arange(5), 1.5),
        x.clamp(2, 1),
        raised(lambda: x.clamp()),
        torch.copysign(x, torch.tensor(-0.0)),
        torch.heaviside(x, torch.tensor(0.5)),
    )


def reductions_keepdim(torch):
    x = values(torch, 2, 3, 4)
    return (
        x.sum((0, 2), keepdim=True),
        x.mean(dim=-1),
        x.var(dim=1, correction=0),
        x.std((1, 2)),
        x.amax((0, 1)),
        x.aminmax(dim=0, keepdim=True),
        x.prod(1),
        x.logsumexp((0, 1)),
        torch.std_mean(x, dim=2, unbiased=False),
        x.any(0).shape,
        x.quantile(torch.tensor([0.25, 0.5], dtype=x.dtype), dim=2),
        x.argmin(1, keepdim=True),
        x.cumsum(1)[:, -1],
        raised(lambda: x.sum((0, 0))),
        raised(lambda: x.sum(3), IndexError),
    )


def ties_of_reductions(torch):
    x = torch.tensor([1.0, 3, 3, 2], requires_grad=True)
    x.max().backward()
    whole, x.grad = x.grad, None
    x.max(0).values.backward()
    one, x.grad = x.grad, None
    x.amax().backward()
    spread, x.grad = x.grad, None
    torch.maximum(x[1], x[2]).backward()
    return whole, one, spread, x.grad, x.argmax(), x.detach().mode(), x.detach().median(0)


def bits_and_bytes(torch):
    x = torch.tensor([1, -2], dtype=torch.int16)
    return (
        x.view(torch.uint8),
        torch.tensor([1.0]).view(torch.int32),
        ~x,
        x << 2,
        x >> 1,
        x & 3,
        x ^ -1,
        torch.iinfo(x.dtype).max,
        (torch.tensor([255], dtype=torch.uint8) + 1),
    )
