#!/usr/bin/env python3
"""Evaluates expressions at the edges of functions in PyTorch and in Neura, and compares values, dtypes and gradients.

    opinfo_edges.py GROUP [--only PART] [--examples 3]

Runs where opinfo.py does. GROUP is one of
    unary, binary      every function of PyTorch's database, with infinities, NaN, denormal, tiny and huge numbers,
                       extremes of integers, in every dtype and pair of dtypes, with numbers and 0-d tensors
    slopes             gradients of both orders of these at kinks and singular points
    folds              reductions, scans, sorts and searches of empty, NaN, equal and extreme elements
    indexing           gathers and scatters, and gradients of folds at kinks
    network            losses, padding, pooling, resizing, distances and norms at the limits of their arguments
An expression is a text in which t is the library and F its nn.functional. What differs is listed by its template.
"""
import argparse
import collections
import itertools
import signal
import sys
import warnings

import opinfo_common
import opinfo_edge_folds
import opinfo_edge_network
import torch
from opinfo_common import Slow, differing, in_time, outcome, same_kind
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import BinaryUfuncInfo, UnaryUfuncInfo

import neura

inf, nan = float("inf"), float("nan")
FLOATS = [
    0.0,
    -0.0,
    inf,
    -inf,
    nan,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    3.0,
    -3.0,
    1e-45,
    -1e-45,
    1e-38,
    1e-30,
    1e-10,
]
FLOATS += [-1e-10, 1e10, -1e10, 1e30, -1e30, 3.4e38, 88.7, 89.5, -88.0, -103.0, 3.1415927, 170.5, -170.5, 34.9, 35.1]
FLOATS += [0.99999994, -0.99999994, 1e-3, -1e-3, 20.0, -20.0, 1e4, -1e4, 65504.0, 16777216.0, 2147483648.0, 1e19]
PARTS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, inf, -inf, nan, 1e-30, 1e30]
INTEGERS = {
    "uint8": [0, 1, 2, 7, 8, 127, 128, 255],
    "int8": [0, 1, -1, 2, -2, 7, 8, 127, -128],
    "int16": [0, 1, -1, 3, -3, 15, 16, 32767, -32768],
    "int32": [0, 1, -1, 3, -3, 31, 32, 2**31 - 1, -(2**31)],
    "int64": [0, 1, -1, 3, -3, 63, 64, 2**53 + 1, 2**63 - 1, -(2**63)],
    "bool": [False, True],
}
SOME = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, inf, -inf, nan, 1e-45, 1e30, -7.5]
FLOATING = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
ABSOLUTE = {torch.float16: 1e-3, torch.bfloat16: 1e-3, torch.float32: 1e-6, torch.float64: 1e-14}  # rounding of sums
RELATIVE = {
    "float16": 2e-3,
    "bfloat16": 1.6e-2,
    "float32": 2e-5,
    "float64": 1e-9,
    "complex64": 1e-4,
    "complex128": 1e-8,
}


def values(dtype, few=False):
    if dtype in INTEGERS:
        return INTEGERS[dtype]
    if dtype in COMPLEX:
        return [complex(a, b) for a, b in itertools.product(PARTS[:7] if few else PARTS, repeat=2)]
    return SOME if few else FLOATS


def made(dtype, few=False, text=None):
    return f"t.tensor({text or values(dtype, few)}, dtype=t.{dtype})"


class Edges:
    def __init__(self, only, examples):
        self.only, self.examples = only, examples
        self.calls, self.found = collections.Counter(), {}

    def note(self, template, what, code, detail):
        count, kept = self.found.setdefault((template, what), (0, []))
        if count < self.examples:
            kept.append(f"{code[:300]}\n        {str(detail)[:300]}")
        self.found[template, what] = count + 1, kept

    def compare(self, template, code):
        if self.only not in template and self.only not in code:
            return
        in_time()
        try:
            self.compare_in_time(template, code)
        except Slow:
            self.note(template, "is slow", code, "")
        finally:
            in_time(0)

    def compare_in_time(self, template, code):
        want, refused = outcome(lambda: evaluated(code, torch))
        got, failed = outcome(lambda: evaluated(code, neura))
        self.calls[template] += 1
        if refused is not None and failed is None:
            self.note(template, f"computes what raises {type(refused).__name__}", code, f"{got} / {refused}")
        elif refused is None and failed is not None:
            self.note(template, f"raises {type(failed).__name__}", code, failed)
        elif failed is not None:
            if not same_kind(refused, failed):
                self.note(template, f"raises {type(failed).__name__} for {type(refused).__name__}", code, failed)
        else:
            what = unlike(want, got)
            if what:
                self.note(template, "differs", code, what)

    def show(self):
        print(f"{sum(self.calls.values())} expressions of {len(self.calls)} templates compared")
        for (template, what), (times, kept) in sorted(self.found.items()):
            print(f"{template} {what}: {times} of {self.calls[template]}", *kept, sep="\n    ")


def evaluated(code, library):
    names = {"t": library, "F": library.nn.functional, "inf": inf, "nan": nan, "grads": grads(library)}
    return eval(code, names)


def grads(library):
    def first_and_second(f, *leaves):
        """Of the sum of f of leaves: gradients, and gradients of the sum of those."""
        leaves = [x.detach().clone().requires_grad_() for x in leaves]
        y = f(*leaves)
        total = y.real.sum() if y.is_complex() else y.sum()
        first = library.autograd.grad(total, leaves, create_graph=True, allow_unused=True)
        again = [g for g in first if g is not None and g.requires_grad]
        if not again:
            return first
        total = sum((g.real if g.is_complex() else g).sum() for g in again)
        return list(first) + list(library.autograd.grad(total, leaves, allow_unused=True))

    return first_and_second


def unlike(want, got):
    if isinstance(want, torch.Tensor) and isinstance(got, neura.Tensor):
        return unlike_tensor(want, got)
    if isinstance(want, (list, tuple)):
        want, got = list(want), list(got)
        if isinstance(want[:1], list) and len(want) != len(got) and min(len(want), len(got)) > 0:
            longest = max(len(want), len(got))  # gradients of gradients that do not depend on anything
            want, got = want + [None] * (longest - len(want)), got + [None] * (longest - len(got))
        if len(want) != len(got):
            return f"{len(got)} results for {len(want)}"
        return next((f"[{i}] {w}" for i, w in enumerate(map(unlike, want, got)) if w), None)
    if isinstance(want, float) and isinstance(got, float):
        return None if want == got or want != want and got != got else f"{got!r} for {want!r}"
    if want is None or got is None:
        left = want if got is None else got
        return None if left is None or not left.abs().sum().item() else f"{got} for {want}"
    return differing(want, got)


def unlike_tensor(want, got):
    want = want.detach().resolve_conj().resolve_neg()
    if not want.dtype.is_floating_point and not want.dtype.is_complex or want.dtype not in opinfo_common.TO_NEURA:
        return differing(want, got)
    if opinfo_common.TO_NEURA[want.dtype] != got.dtype or tuple(want.shape) != tuple(got.shape):
        return f"{got.dtype} {tuple(got.shape)} for {want.dtype} {tuple(want.shape)}"
    a, b = want, torch.from_dlpack(got.detach().clone().contiguous())
    if not a.numel():
        return None
    rtol = RELATIVE[str(a.dtype)[6:]]
    if a.is_complex():
        a, b = torch.view_as_real(a), torch.view_as_real(b)
        scale = a.abs().nan_to_num(0, 0, 0).amax(-1, keepdim=True)
        same = (a - b).abs() <= rtol * scale
        same |= (a == b) | (a.isnan() & b.isnan())
        same = same | (~same & (a.isinf().any(-1, keepdim=True) & b.isinf().any(-1, keepdim=True)))
    else:
        same = torch.isclose(a, b, rtol=rtol, atol=ABSOLUTE[a.dtype], equal_nan=True)
    if same.all():
        return None
    spots = (~same).nonzero()
    shown = [f"{s}: {b[tuple(s)].item()} for {a[tuple(s)].item()}" for s in spots[:4].tolist()]
    return f"{len(spots)} of {a.numel()}, " + "; ".join(shown)


def public(infos):
    """Names below t. of functions, without those that are no plain functions of tensors."""
    names = {}
    for op in infos:
        for name in [op.name] + [alias.name for alias in op.aliases]:
            function = outcome(lambda: evaluated("t." + name, torch))[0]
            if callable(function) and not name.startswith(("_", "jiterator", "ops.")):
                names[name] = op
    return names


def unary(edges):
    for name, op in public(o for o in op_db if isinstance(o, UnaryUfuncInfo)).items():
        more = {"polygamma": "2, ", "special.polygamma": "1, "}.get(name, "")
        more_after = {"mvlgamma": ", 2", "clamp": ", -1, 1", "logit": ", 1e-3"}.get(name, "")
        for dtype in opinfo_common.DTYPES:
            edges.compare(name, f"t.{name}({more}{made(dtype)}{more_after})")
            for value in values(dtype, True)[:4]:
                edges.compare(name, f"t.{name}({more}{made(dtype, text=repr(value))}{more_after})")


def grid(dtype, other):
    """Two tensors, each value of one with each of the other."""
    return f"{made(dtype, True)}.unsqueeze(1)", made(other, True)


def binary(edges):
    for name in public(o for o in op_db if isinstance(o, BinaryUfuncInfo)):
        for dtype, other in itertools.product(opinfo_common.DTYPES, repeat=2):
            a, b = grid(dtype, other)
            if dtype in INTEGERS and other in INTEGERS and any(w in name for w in ("div", "rem", "mod")):
                edges.compare(name, f"t.{name}({a}, {b})")
                b = f"{b}[{b} != 0]"
            if "polynomial" in name:  # of that degree; PyTorch takes a step for each
                b = f"{b}.clamp(-9, 9)"
            if "lcm" in name and dtype in INTEGERS and other in INTEGERS:  # PyTorch dies of the least number by -1
                a, b = f"{a}.clamp(-1000)", f"{b}.clamp(-1000)"
            if dtype in INTEGERS and other in INTEGERS and "pow" in name:
                b = f"{b}[{b} >= 0]"
            edges.compare(name, f"t.{name}({a}, {b})")
            edges.compare(name, f"t.{name}({a}, {made(other, text=repr(values(other)[1]))})")
            if "polynomial" not in name:
                edges.compare(name, f"t.{name}({made(other, text=repr(values(other)[1]))}, {a})")
        if "polynomial" in name:
            continue
        for dtype in opinfo_common.DTYPES:
            for number in (0, 1, -1, 2, 300, -129, 2**31, 2**63 - 1, -(2**63), 0.5, -0.0, nan, inf, True, 1j):
                edges.compare(f"{name} with a number", f"t.{name}({made(dtype, True)}, {number!r})")
                edges.compare(f"{name} with a number", f"t.{name}({number!r}, {made(dtype, True)})")
                edges.compare(f"{name}_ with a number", f"t.Tensor.{name}_({made(dtype, True)}, {number!r})")


def slopes(edges):
    points = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -3.0, 6.0, inf, -inf, nan, 1e-30, 1e30]
    for name in public(o for o in op_db if isinstance(o, UnaryUfuncInfo) and o.supports_autograd):
        for dtype, given in (("float64", points), ("float32", points), ("complex128", values("complex128", True))):
            more = {"polygamma": "2, ", "special.polygamma": "1, "}.get(name, "")
            edges.compare(name, f"grads(lambda x: t.{name}({more}x), {made(dtype, text=given)})")
    for name in public(o for o in op_db if isinstance(o, BinaryUfuncInfo) and o.supports_autograd):
        for dtype in ("float64", "float32", "complex128"):
            few = (
                [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, inf, nan]
                if dtype[0] == "f"
                else [0j, 1 + 0j, -1 + 0j, 1j, 2 - 1j]
            )
            x = [a for a in few for _ in few]
            a, b = made(dtype, text=x), made(dtype, text=few * len(few))
            edges.compare(name, f"grads(lambda x, y: t.{name}(x, y), {a}, {b})")
            for number in (0, 1, 2, 0.5, -1):
                edges.compare(name, f"grads(lambda x: t.{name}(x, {number}), {made(dtype, text=few)})")
                edges.compare(name, f"grads(lambda x: t.{name}({number}, x), {made(dtype, text=few)})")


def main():
    groups = [unary, binary, slopes, opinfo_edge_folds.folds, opinfo_edge_folds.indexing, opinfo_edge_network.network]
    groups = {f.__name__: f for f in groups}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("group", choices=groups)
    parser.add_argument("--only", default="", help="templates or expressions that contain this")
    parser.add_argument("--examples", type=int, default=3)
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    signal.signal(signal.SIGALRM, opinfo_common.on_alarm)
    edges = Edges(args.only, args.examples)
    groups[args.group](edges)
    edges.show()


if __name__ == "__main__":
    sys.exit(main())
