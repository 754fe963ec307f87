#!/usr/bin/env python3
"""Calls every function of PyTorch's own database of operations (OpInfo) in PyTorch and in Neura, and compares.

    opinfo.py [--dtype float32] [--only NAME] [--limit 100] [--gradients]

Runs where both can be imported: an environment with torch and expecttest, PYTHONPATH the folder that holds neura.
Each sample that PyTorch's own tests would use is given to both, with the same layouts; every function of torch that is
called meanwhile is compared: values, dtype, sizes. --gradients compares derivatives of both orders instead. What
differs is listed by function with the first samples; not all of it is wrong here: equal elements, signs of singular
vectors, and what PyTorch rounds earlier differ as well. Functions that draw random numbers are called and not compared.
"""
import argparse
import collections
import signal
import sys
import warnings

import torch
from torch.overrides import TorchFunctionMode, resolve_name
from torch.testing._internal.common_methods_invocations import op_db

import neura

DTYPES = "float32 float64 float16 bfloat16 int8 uint8 int16 int32 int64 bool complex64 complex128".split()
TO_NEURA = {getattr(torch, name): getattr(neura, name) for name in DTYPES}
TOLERANCES = {torch.float16: 1e-2, torch.bfloat16: 3e-2, torch.float64: 1e-8, torch.complex128: 1e-8}
RANDOM = tuple(
    "rand dropout bernoulli normal poisson multinomial exponential geometric cauchy uniform empty rrelu resize gumbel "
    "fractional lowrank scaled_dot multi_head".split()
)
NO_GRADIENT = "svd eigh linalg.eig lu_factor ldl geqrf".split()  # of what is unique up to signs
SKIPPED = ("jiterator", "_", "sparse.", "masked.", "ops.")
SECONDS = 20  # for one sample


class Unknown(Exception):
    """An argument that Neura has no counterpart of."""


class Slow(Exception):
    """A sample took too long."""


def in_time(seconds=SECONDS):
    signal.alarm(seconds)


def on_alarm(*_):
    raise Slow()


def tensor_of(t, leaves):
    if t.dtype not in TO_NEURA or t.layout != torch.strided or t.device.type != "cpu":
        raise Unknown(f"{t.dtype} {t.layout} {t.device}")
    given = t.detach().resolve_conj().resolve_neg()
    if given.numel() and 0 not in given.stride():
        copy = torch.empty_strided(given.shape, given.stride(), dtype=given.dtype)
        given = copy.copy_(given)
    made = neura.from_dlpack(given)
    if t.requires_grad:
        made.requires_grad_()
        leaves.append((t, made))
    return made


def translated(x, leaves):
    """x for Neura; leaves collects (PyTorch's, Neura's) tensors that require a gradient."""
    if isinstance(x, torch.Tensor):
        return tensor_of(x, leaves)
    if isinstance(x, torch.dtype) and x in TO_NEURA:
        return TO_NEURA[x]
    if isinstance(x, torch.device):
        return neura.device(str(x))
    if isinstance(x, torch.memory_format):
        return getattr(neura, str(x).split(".")[-1])
    if isinstance(x, (torch.dtype, torch.layout, torch.Generator)):
        raise Unknown(str(x))
    if isinstance(x, dict):
        return {key: translated(value, leaves) for key, value in x.items()}
    if isinstance(x, list):
        return [translated(value, leaves) for value in x]
    if isinstance(x, tuple):
        return tuple(translated(value, leaves) for value in x)
    return x


def leaf_copies(x):
    if isinstance(x, torch.Tensor):
        plain = x.detach().resolve_conj().resolve_neg().clone()
        return plain.requires_grad_(x.requires_grad)
    if isinstance(x, dict):
        return {key: leaf_copies(value) for key, value in x.items()}
    return type(x)(leaf_copies(value) for value in x) if type(x) in (list, tuple) else x


def tensors_in(x):
    if isinstance(x, (torch.Tensor, neura.Tensor)):
        return [x]
    return [t for value in x for t in tensors_in(value)] if isinstance(x, (list, tuple)) else []


def differing_tensor(want, got):
    if want.layout != torch.strided or want.dtype not in TO_NEURA:
        return None
    if not isinstance(got, neura.Tensor):
        return f"{type(got).__name__} for a tensor"
    if TO_NEURA[want.dtype] != got.dtype or tuple(want.shape) != tuple(got.shape):
        return f"{got.dtype} {tuple(got.shape)} for {want.dtype} {tuple(want.shape)}"
    if not want.numel():
        return None
    a, b = want.detach().resolve_conj().resolve_neg(), torch.from_dlpack(got.detach().clone())
    if a.is_floating_point() or a.is_complex():
        tolerance = TOLERANCES.get(a.dtype, 1e-4)
        same = torch.isclose(a, b, rtol=tolerance, atol=tolerance / 10, equal_nan=True)
    else:
        same = a == b
    if same.all():
        return None
    place = tuple((~same).nonzero()[0].tolist())
    count = int((~same).sum())
    return f"{count} of {a.numel()} differ, at {list(place)}: {b[place].item()} for {a[place].item()}"


def differing(want, got):
    """What is another in Neura's answer, in words; None where nothing is."""
    if isinstance(want, torch.Tensor):
        return differing_tensor(want, got)
    if isinstance(want, (list, tuple)):
        got = list(got)
        if len(want) != len(got):
            return f"{len(got)} results for {len(want)}"
        return next(filter(None, map(differing, want, got)), None)
    return f"{got!r} for {want!r}" if isinstance(want, (bool, int, str)) and want != got else None


def shown(x):
    if isinstance(x, torch.Tensor):
        strides = "" if x.is_contiguous() else f" strides {list(x.stride())}"
        return f"{str(x.dtype)[6:]} {list(x.shape)}{strides}"
    if isinstance(x, dict):
        return ", ".join(f"{key}={shown(value)}" for key, value in x.items())
    return "(" + ", ".join(map(shown, x)) + ")" if isinstance(x, (list, tuple)) else repr(x)[:60]


class Judge(TorchFunctionMode):
    """While entered, each call of a function of torch is also made of Neura's, and compared."""

    def __init__(self, gradients):
        super().__init__()
        self.gradients = gradients
        self.calls, self.found = collections.Counter(), {}

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = resolve_name(func) or ""
        if not name or "__get__" in name or "__set__" in name or name == "torch.Tensor.detach":
            return func(*args, **kwargs)
        own = neura
        for part in name.split(".")[1:]:
            own = getattr(own, part, None)
        if own is None:
            self.note(name, "is absent", args, kwargs, "")
        elif self.gradients:
            self.compare_gradients(name, func, own, args, kwargs)
        else:
            return self.compare_values(name, func, own, args, kwargs)
        return func(*args, **kwargs)

    def note(self, name, what, args, kwargs, detail):
        count, examples = self.found.setdefault((name, what), (0, []))
        if count < 3:
            examples.append(f"{shown(args)} {shown(kwargs)}: {detail}"[:400])
        self.found[name, what] = count + 1, examples

    def compare_values(self, name, func, own, args, kwargs):
        try:
            given, named = translated(args, []), translated(kwargs, [])
        except Unknown:
            return func(*args, **kwargs)
        self.calls[name] += 1
        got = error = None
        try:
            got = own(*given, **named)
        except Slow:
            raise
        except Exception as e:
            error = e
        want = func(*args, **kwargs)
        if error is not None:
            self.note(name, f"raises {type(error).__name__}", args, kwargs, error)
        elif not any(word in name for word in RANDOM):
            what = differing(want, got)
            if what:
                self.note(name, "differs", args, kwargs, what)
        return want

    def compare_gradients(self, name, func, own, args, kwargs):
        if name.endswith("_") or any(word in name for word in (*RANDOM, *NO_GRADIENT)):
            return
        copies, leaves = (leaf_copies(args), leaf_copies(kwargs)), []
        try:
            given, named = translated(copies[0], leaves), translated(copies[1], leaves)
            wants, gots = tensors_in(func(*copies[0], **copies[1])), tensors_in(own(*given, **named))
        except (Unknown, RuntimeError, ValueError, TypeError, IndexError):
            return  # values are the other mode's
        for order in ("first", "second"):
            pairs = [(t, n) for t, n in zip(wants, gots) if t is not None and n is not None and t.requires_grad]
            pairs = [(t, n) for t, n in pairs if n.requires_grad]
            if not pairs or not leaves:
                return
            self.calls[name] += 1
            weights = [torch.ones_like(t) for t, _ in pairs]
            wants = torch.autograd.grad(
                [t for t, _ in pairs], [t for t, _ in leaves], weights, allow_unused=True, create_graph=True
            )
            try:
                gots = neura.autograd.grad(
                    [n for _, n in pairs],
                    [n for _, n in leaves],
                    [neura.from_dlpack(w) for w in weights],
                    allow_unused=True,
                    create_graph=True,
                )
            except (RuntimeError, ValueError, TypeError) as e:
                return self.note(name, f"raises {type(e).__name__} in its {order} derivative", args, kwargs, e)
            for want, got in zip(wants, gots):
                what = differing(want, got) if want is not None and got is not None else None
                if what:
                    return self.note(name, f"differs in its {order} derivative", args, kwargs, what)


def samples_of(op, dtype, gradients, limit):
    in_time()
    try:
        all_of_them = list(op.sample_inputs("cpu", dtype, requires_grad=gradients))
        return (all_of_them + list(op.reference_inputs("cpu", dtype, requires_grad=gradients)))[:limit]
    except Exception as e:
        print(f"{op.name}: no samples ({e})"[:100])
        return []
    finally:
        in_time(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtype", choices=DTYPES, default="float32")
    parser.add_argument("--only", default="", help="operations whose name contains this")
    parser.add_argument("--limit", type=int, default=100, help="samples of an operation")
    parser.add_argument("--gradients", action="store_true")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    signal.signal(signal.SIGALRM, on_alarm)
    torch.manual_seed(0)
    dtype, judge, count = getattr(torch, args.dtype), Judge(args.gradients), 0
    chosen = [op for op in op_db if args.only in op.name and not op.name.startswith(SKIPPED)]
    chosen = [op for op in chosen if dtype in op.supported_dtypes("cpu")]
    for done, op in enumerate(chosen):
        if sys.stderr.isatty():
            print(f"\r{done} of {len(chosen)} operations \033[K", end="", file=sys.stderr)
        for sample in samples_of(op, dtype, args.gradients and op.supports_autograd, args.limit):
            count += 1
            in_time()
            try:
                with judge:
                    op.op(sample.input, *sample.args, **sample.kwargs)
            except Exception:
                pass  # PyTorch refuses it, or it takes too long
            finally:
                in_time(0)
    print(f"{count} samples, {sum(judge.calls.values())} calls of {len(judge.calls)} functions compared")
    for (name, what), (times, examples) in sorted(judge.found.items()):
        print(f"{name} {what}: {times} of {judge.calls[name]} calls", *examples, sep="\n    ")


if __name__ == "__main__":
    main()
