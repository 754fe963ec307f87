"""Idioms of numerical codes: as_strided windows, einsum spellings, counters, grids, quantiles, tensors as numbers."""

import math
import operator

from program_helpers import raised, values


def einsum_spellings(torch):
    a, b, c = values(torch, 2, 3), values(torch, 3, 4), values(torch, 2, 3, 4)
    return {
        "lists": torch.einsum(a, [0, 1], b, [1, 2], [0, 2]),
        "no output": torch.einsum(a, [0, 1], b, [1, 2]),
        "dots": torch.einsum(c, [..., 0], [..., 0]).shape,
        "spaces": torch.einsum("i j , j k -> i k", a, b),
        "one list": torch.einsum("ij,jk->ik", [a, b]),
        "letters": torch.einsum("Ab,bC->AC", a, b),
        "sorted": torch.einsum("ji", a).shape,
        "trace": torch.einsum("ii", b[:, :3]),
        "diagonal": torch.einsum("...ii->...i", c[:, :3, :3]),
        "three": torch.einsum("i,i,i", a[0], a[0], a[0]),
        "scalar": torch.einsum(",i->i", torch.tensor(2.0, dtype=a.dtype), a[0]),
        "sizes": raised(lambda: torch.einsum("ij,jk", a, a)),
        "letter": raised(lambda: torch.einsum("ij->ik", a)),
        "twice": raised(lambda: torch.einsum("ij->ii", a)),
        "operands": raised(lambda: torch.einsum("ij,jk->ik", a)),
    }


def sliding_windows(torch):
    x = torch.arange(12.0)
    windows = x.unfold(0, 4, 2)
    same = torch.as_strided(x, (5, 4), (2, 1))
    image = x.view(3, 4)
    patches = image.unfold(0, 2, 1).unfold(1, 2, 2)
    return windows, torch.equal(windows, same), patches, windows.mean(1), raised(lambda: x.as_strided((30,), (1,)))


def diagonals_written(torch):
    a = torch.zeros(4, 4)
    a.diagonal().fill_(2)
    a.diagonal(1).copy_(torch.arange(3.0))
    a.diagonal(-1)[:] = -1
    return a, torch.ones(5, 2).fill_diagonal_(7, wrap=True), torch.diagonal_scatter(a, torch.ones(4)), a.diag(1)


def pairs_of_a_triangle(torch):
    x = values(torch, 4, 2)
    i, j = torch.triu_indices(4, 4, offset=1)
    d = (x[i] - x[j]).norm(dim=1)
    square = torch.zeros(4, 4, dtype=x.dtype)
    square[i, j] = d
    square = square + square.T
    off = square[~torch.eye(4, dtype=torch.bool)].view(4, 3)
    return d, torch.allclose(square, torch.cdist(x, x)), off, torch.nn.functional.pdist(x)


def counted_by_writes(torch):
    x = torch.zeros(3, 3)
    rows = torch.tensor([0, 1, 1])
    x.index_put_((rows,), torch.tensor(1.0), accumulate=True)
    x[[0, 0]] += 1
    x[rows, rows] = torch.tensor([5.0, 6.0, 6.0])
    x.index_reduce_(0, torch.tensor([0, 2, 0]), torch.arange(9.0).view(3, 3), "amax")
    return x, x.index_reduce(1, torch.tensor([0, 1, 0]), torch.ones(3, 3), "mean", include_self=False)


def histograms_of_points(torch):
    points = torch.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [0.5, 0.5]])
    hist, (first, second) = torch.histogramdd(points, bins=[2, 4])
    dense = torch.histogramdd(points, bins=[torch.tensor([0.0, 1, 2]), torch.tensor([0.0, 0.5, 2])], density=True)
    one = torch.histogram(points[:, 0], bins=4, range=(0.0, 2.0), weight=torch.arange(4.0))
    return hist, first, second, dense.hist, one.hist, one.bin_edges, torch.histc(points, 3, min=0, max=2)


def quantiles_of_all_kinds(torch):
    x = values(torch, 3, 5)
    kinds = ("linear", "lower", "higher", "midpoint", "nearest")
    x[0, 0] = math.nan
    return (
        [torch.nanquantile(x, 0.4, dim=1, interpolation=k) for k in kinds],
        torch.quantile(x, 0.5, dim=1, keepdim=True),
        x.nanmedian(),
        raised(lambda: torch.quantile(x, 1.5)),
        raised(lambda: torch.quantile(x.int(), 0.5)),
        raised(lambda: torch.quantile(x, torch.tensor([0.5]))),
    )


def slopes_and_areas(torch):
    t = torch.tensor([0.0, 1, 3, 4], dtype=torch.float64)
    y = t**2
    return (
        torch.gradient(y, spacing=(t,), edge_order=1),
        torch.gradient(y.view(2, 2)),
        torch.trapezoid(y, t),
        torch.cumulative_trapezoid(y, dx=0.5),
        torch.diff(y, n=2, prepend=torch.zeros(1, dtype=y.dtype)),
        torch.vander(t, 3, increasing=True),
    )


def numbers_in_python_places(torch):
    i, x = torch.tensor([3, 1, 2]), torch.tensor([1.5, -2.0, 3.0])
    return {
        "index": operator.index(i[0]),
        "slice": "abcdef"[i[1] : i[0]],
        "times": "ab" * i[2],
        "range": list(range(i[1], i[0])),
        "format": [f"{x[0]:8.2e}", f"{i[0]:>5}", "%.2f" % x[1], "%d" % x[1], f"{x[2]:,.1f}", f"{x[0]:.0%}"],
        "math": [math.floor(x[0]), math.ceil(x[0]), math.hypot(x[0], x[1]), math.gcd(i[0], i[2]), math.comb(i[0], 2)],
        "sorted": [int(v) for v in sorted(i)],
        "key": float(max(x, key=lambda v: -v)),
        "mixed": [float(max(x[0], 2.0)), float(max(0, x[1])), float(abs(x[1]))],
        "chain": [bool(1 < x[0] < 3), x[0] > 1 and 5, not i[0]],
        "unpacked": [int(v) for v in (lambda *a: a)(*i)],
        "bad slice": raised(lambda: "abc"[x[0]], TypeError),
        "bad format": raised(lambda: f"{x:.2f}", TypeError),
        "bad chain": raised(lambda: 1 < x < 3),
        "bad unpack": raised(lambda: (lambda a, b: a)(*i), TypeError),
        "hex": hex(i[0]),
    }


def operators_that_are_refused(torch):
    x, b = torch.ones(3), torch.tensor([True, False])
    return [
        raised(lambda: x + "a", TypeError),
        raised(lambda: x + None, TypeError),
        raised(lambda: x + [1, 2, 3], TypeError),
        raised(lambda: [1, 2, 3] + x, TypeError),
        raised(lambda: x < "a", TypeError),
        raised(lambda: b - b),
        raised(lambda: -b),
        raised(lambda: b.mean()),
        raised(lambda: ~x, TypeError),
        raised(lambda: x & 1),
        raised(lambda: torch.tensor([2]) ** torch.tensor([-1])),
        raised(lambda: torch.tensor([1]) % 0),
        raised(lambda: x.numpy().nothing, AttributeError),
        raised(lambda: x.nothing, AttributeError),
        x == "a",
        x != None,  # noqa: E711
    ]


def wrapped_integers(torch):
    return (
        torch.tensor([200], dtype=torch.uint8) + 100,
        torch.tensor([2], dtype=torch.uint8) - 3,
        torch.tensor([127], dtype=torch.int8) + 1,
        -torch.tensor([1], dtype=torch.uint8),
        torch.tensor([300, -1]).to(torch.uint8),
        torch.tensor([70000]).short(),
        torch.tensor([1.9, -1.9]).long(),
        torch.cumsum(torch.tensor([100, 100], dtype=torch.int8), 0),
        raised(lambda: torch.tensor(300, dtype=torch.uint8)),
        raised(lambda: torch.tensor(2**64), (RuntimeError, OverflowError)),
    )


def searches_in_rows(torch):
    rows = torch.tensor([[1, 3, 5], [2, 4, 6]])
    order = torch.tensor([1, 2, 0])
    return (
        torch.searchsorted(rows, torch.tensor([[3, 6], [3, 7]])),
        torch.searchsorted(rows[0], 3, right=True),
        torch.searchsorted(torch.tensor([5, 1, 3]), torch.tensor([3]), sorter=order),
        torch.searchsorted(rows[0], torch.tensor([5]), side="right", out_int32=True),
        torch.bucketize(torch.tensor([[1.0, 5.0]]), torch.tensor([2.0, 5.0]), right=True),
        raised(lambda: torch.searchsorted(rows[0], torch.tensor([1]), side="middle")),
    )


def like_a_tuple(torch):
    s = torch.zeros(2, 3, 4).shape
    first, *rest = s
    return {
        "slices": [list(s[1:]), type(s[1:]).__name__, list(s[::-1])],
        "sums": [list(s + (5,)), type(s + (5,)).__name__, list((1,) + s), list(s * 2)],
        "equal": [s == (2, 3, 4), s == [2, 3, 4], s != (2, 3), hash(s) == hash((2, 3, 4)), {s: 1}[(2, 3, 4)]],
        "python": [s.index(3), s.count(2), max(s), sum(s), 3 in s, first, rest, s.numel(), f"{s}".split(".")[-1]],
        "views": torch.zeros(s[:1] + s[2:]).shape,
        "errors": [raised(lambda: torch.Size([1.5]), TypeError), raised(lambda: torch.Size(3), TypeError)],
        "fixed": raised(lambda: operator.setitem(s, 0, 1), TypeError),
    }
