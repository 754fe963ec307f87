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
import signal
import sys
import warnings

import torch
from opinfo_common import DTYPES, NO_GRADIENT, RANDOM, SKIPPED, Findings, Slow, Unknown, differing, in_time, leaf_copies
from opinfo_common import named, on_alarm, samples_of, tensors_in, translated
from torch.overrides import TorchFunctionMode
from torch.testing._internal.common_methods_invocations import op_db

import neura


class Judge(TorchFunctionMode, Findings):
    """While entered, each call of a function of torch is also made of Neura's, and compared."""

    def __init__(self, gradients):
        TorchFunctionMode.__init__(self)
        Findings.__init__(self)
        self.gradients = gradients

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name, own = named(func)
        if not name or "__get__" in name or "__set__" in name or name == "torch.Tensor.detach":
            return func(*args, **kwargs)
        if own is None:
            self.note(name, "is absent", args, kwargs, "")
        elif self.gradients:
            self.compare_gradients(name, func, own, args, kwargs)
        else:
            return self.compare_values(name, func, own, args, kwargs)
        return func(*args, **kwargs)

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
    print(f"{count} samples,", end=" ")
    judge.show()


if __name__ == "__main__":
    main()
