#!/usr/bin/env python3
"""Runs PyTorch's database of operations in PyTorch and in Neura, in the ways of PyTorch's own tests, and compares.

    opinfo_ways.py MODE [--dtype float32] [--only NAME] [--limit 20]

Runs where opinfo.py does, which compares plain calls. MODE is one of
    errors       what error_inputs of operations hold: the same kind of exception, and never a result
    out          `out=` that fits, of another dtype, of other sizes, with steps, overlapping, that needs a gradient
    inplace      in place: values; self that is expanded, smaller than the result, of other dtypes, a leaf
    vmap         vmap of every function, over each of its tensors and all, in dimensions 0 and -1, against a loop
    forward      jvp against PyTorch's, and the gradient of it
    batched      autograd.grad(is_grads_batched=True) against PyTorch's
    sparse       the samples of sparse tensors
    refs         names of python_ref_db
What differs is listed by function with the first samples; see opinfo.py of what need not be wrong.
"""

import opinfo_common
import torch
from opinfo_common import (
    NO_GRADIENT,
    RANDOM,
    SKIPPED,
    SPARSE,
    differing,
    judged,
    leaf_copies,
    named,
    outcome,
    samples_of,
)
from opinfo_common import tensors_in, timed, translated
from torch.overrides import TorchFunctionMode
from torch.testing._internal.common_methods_invocations import op_db, python_ref_db

import neura


class Recorder(TorchFunctionMode):
    """Collects (name, function, Neura's, args, kwargs, exception) of the calls made while entered."""

    def __init__(self):
        super().__init__()
        self.made = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name, own = named(func)
        kept = None
        if name and own is not None and not any(word in name for word in ("__get__", "__set__", ".detach")):
            kept = (name, func, own, leaf_copies(args), leaf_copies(kwargs))
        result, error = outcome(lambda: func(*args, **kwargs))
        if kept:
            self.made.append((*kept, error))
        if error is not None:
            raise error
        return result


def calls_of(op, sample):
    recorder = Recorder()
    with recorder:
        outcome(lambda: op.op(sample.input, *sample.args, **sample.kwargs))
    return recorder.made


def chosen(dtype, only):
    for op in op_db:
        if only in op.name and not op.name.startswith(SKIPPED) and dtype in op.supported_dtypes("cpu"):
            yield op


def each_call(dtype, only, limit, needed=lambda op: True, gradients=False):
    """(name, function, Neura's, args, kwargs) of every call that a sample of the database makes."""
    for op in chosen(dtype, only):
        if needed(op):
            for sample in samples_of(op, dtype, gradients and op.supports_autograd, limit):
                for name, func, own, args, kwargs, error in calls_of(op, sample):
                    if error is None:
                        yield name, func, own, args, kwargs


def both(found, name, func, own, args, kwargs):
    """Makes one call in both libraries, each with copies of its own."""
    mine = leaf_copies(args), leaf_copies(kwargs)
    given = translated(mine[0], []), translated(mine[1], [])
    want = outcome(lambda: func(*mine[0], **mine[1]))
    return judged(found, name, want, outcome(lambda: own(*given[0], **given[1])), (args, kwargs))


def errors(found, dtype, only, limit):
    for op in op_db:
        if only not in op.name or op.error_inputs_func is None:
            continue
        inputs, _ = outcome(lambda: list(op.error_inputs("cpu")))
        for error in inputs or []:
            timed(lambda: error_of(found, op, error.sample_input))


def error_of(found, op, sample):
    raised = [call for call in calls_of(op, sample) if call[-1] is not None]
    if raised:
        return both(found, *raised[-1][:-1])
    name, own = named(op.op)
    if own is not None and not op.op.__name__.startswith("<"):
        return both(found, name, op.op, own, (sample.input, *sample.args), sample.kwargs)


def out(found, dtype, only, limit):
    for name, func, own, args, kwargs in each_call(dtype, only, limit, lambda op: op.supports_out):
        if "out" not in kwargs:
            timed(lambda: outs_of(found, name, func, own, args, kwargs))


def outs_of(found, name, func, own, args, kwargs):
    result, _ = outcome(lambda: func(*leaf_copies(args), **leaf_copies(kwargs)))
    if not isinstance(result, torch.Tensor) or result.layout != torch.strided:
        return
    size = list(result.shape)
    other = [torch.float32, torch.int64, torch.complex64, torch.bool, torch.float64, torch.uint8]
    trials = [("fits", torch.zeros_like(result))]
    trials += [(str(d), torch.zeros(size, dtype=d)) for d in other if d != result.dtype]
    trials += [("empty", result.new_empty(0)), ("larger", result.new_zeros([n + 1 for n in size] or [2]))]
    trials.append(("steps", result.new_zeros([2 * n for n in size])[tuple(slice(None, None, 2) for _ in size)]))
    if size:
        trials.append(("expanded", result.new_zeros([1] * len(size)).expand(size)))
        trials.append(("another rank", result.new_zeros([1] + size)))
    if result.is_floating_point():
        trials.append(("leaf", torch.zeros_like(result).requires_grad_()))
    for word, t in trials:
        theirs, ours = t, opinfo_common.tensor_of(t, [])
        mine = leaf_copies(args), leaf_copies(kwargs)
        given = translated(mine[0], []), translated(mine[1], [])
        if word == "expanded":  # PyTorch writes beyond some of these, and dies
            _, error = outcome(lambda: own(*given[0], **given[1], out=ours))
            if error is None and ours.numel() > 1:
                found.note(name, "writes to an expanded out", args, kwargs, "")
            continue
        want = outcome(lambda: func(*mine[0], **mine[1], out=theirs))
        got = outcome(lambda: own(*given[0], **given[1], out=ours))
        shown = (word, args), kwargs
        if judged(found, name, want, got, shown):
            if differing(theirs, ours):
                found.note(name, "leaves another out", *shown, differing(theirs, ours))
            elif got[0] is not ours:
                found.note(name, "does not return out", *shown, "")


def inplace(found, dtype, only, limit):
    for op in chosen(dtype, only):
        f = op.get_inplace()
        if f is None:
            continue
        name, own = named(f)
        if own is None:
            found.note(op.name, "has no form in place", (), {}, name)
            continue
        for sample in samples_of(op, dtype, False, limit):
            if isinstance(sample.input, torch.Tensor):
                timed(lambda: places_of(found, name, f, own, sample))


def places_of(found, name, f, own, sample):
    x = sample.input.detach().clone()
    trials = [lambda: x.clone()]
    trials += [lambda d=d: x.to(d).clone() for d in (torch.int32, torch.float16, torch.bool, torch.complex64)]
    if x.dim():
        trials += [lambda: x[:1].clone(), lambda: x[0].clone(), lambda: x.mT.clone().mT if x.dim() > 1 else x[::2]]
        trials.append(lambda: x.clone()[:1].expand(x.shape))
    if x.is_floating_point():
        trials += [lambda: x.clone().requires_grad_(), lambda: x.clone().requires_grad_() * 1]
    for make in trials:
        theirs, ours = make(), opinfo_common.tensor_of(make(), [])
        if theirs.requires_grad and not theirs.is_leaf:
            ours = ours.detach().requires_grad_() * 1
        mine = leaf_copies(sample.args), leaf_copies(sample.kwargs)
        given = translated(mine[0], []), translated(mine[1], [])
        want = outcome(lambda: f(theirs, *mine[0], **mine[1]))
        got = outcome(lambda: own(ours, *given[0], **given[1]))
        judged(found, name, want, got, ((make(), *sample.args), sample.kwargs))


def places(value, path=()):
    """Paths of the tensors in nested arguments."""
    if isinstance(value, torch.Tensor):
        yield path
    elif isinstance(value, (list, tuple)):
        for i, x in enumerate(value):
            yield from places(x, (*path, i))
    elif isinstance(value, dict):
        for key, x in value.items():
            yield from places(x, (*path, key))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def put(value, path, new):
    if not path:
        return new
    if isinstance(value, dict):
        return {k: put(x, path[1:], new) if k == path[0] else x for k, x in value.items()}
    return type(value)(put(x, path[1:], new) if i == path[0] else x for i, x in enumerate(value))


def function_of(func, args, kwargs, paths):
    """A function of the tensors at these paths."""

    def call(*tensors):
        both_kinds = [args, kwargs]
        for path, t in zip(paths, tensors):
            both_kinds = put(both_kinds, path, t)
        result = func(*both_kinds[0], **both_kinds[1])
        return tuple(result) if isinstance(result, (list, tuple)) else result

    return call


def vmap(found, dtype, only, limit):
    for name, func, own, args, kwargs in each_call(dtype, only, limit):
        if not any(word in name for word in RANDOM) and not name.endswith("_"):
            timed(lambda: vmaps_of(found, name, func, own, args, kwargs))


def vmaps_of(found, name, func, own, args, kwargs):
    paths = [p for p in places([args, kwargs]) if type(at([args, kwargs], p)) is torch.Tensor]
    subsets = [paths] + ([[p] for p in paths] if len(paths) > 1 else [])
    for subset, dim in [(s, d) for s in subsets for d in (0, -1)]:
        if not subset:
            continue
        parts = [at([args, kwargs], p).detach() for p in subset]
        stacked = [torch.stack([t, t.flip(0) if t.dim() else t], dim) for t in parts]
        own_args = translated([args, kwargs], [])
        own_f = function_of(own, own_args[0], own_args[1], subset)
        own_parts = [opinfo_common.tensor_of(t, []) for t in stacked]
        got, error = outcome(lambda: neura.func.vmap(own_f, in_dims=dim)(*own_parts))
        loop, refused = outcome(lambda: [own_f(*(t.select(dim, i) for t in own_parts)) for i in range(2)])
        if refused is not None:
            continue
        found.calls[name] += 1
        shown = (f"vmap {dim} {subset}", args), kwargs
        if error is not None:
            _, theirs = outcome(lambda: torch.func.vmap(function_of(func, args, kwargs, subset), in_dims=dim)(*stacked))
            if theirs is None:
                found.note(name, "cannot be mapped", *shown, error)
            continue
        compare_mapped(found, name, got, loop, shown)


def compare_mapped(found, name, got, loop, shown):
    if isinstance(got, neura.Tensor):
        got, loop = [got], [[x] for x in loop]
    if not isinstance(got, (tuple, list)) or not all(isinstance(t, neura.Tensor) for t in got):
        return
    for i in range(2):
        for t, want in zip(got, loop[i]):
            what = differing(torch.from_dlpack(want.detach().clone().contiguous()), t[i])
            if what:
                return found.note(name, "maps to another", *shown, what)


def forward(found, dtype, only, limit):
    for name, func, own, args, kwargs in each_call(dtype, only, limit, lambda op: op.supports_forward_ad, True):
        if not name.endswith("_") and not any(word in name for word in (*RANDOM, *NO_GRADIENT)):
            timed(lambda: tangents_of(found, name, func, own, args, kwargs))


def tangents_of(found, name, func, own, args, kwargs):
    paths = [p for p in places([args, kwargs]) if at([args, kwargs], p).requires_grad]
    if not paths:
        return
    parts = [at([args, kwargs], p).detach() for p in paths]
    ways = [torch.cos(torch.arange(t.numel(), dtype=torch.float64)).reshape(t.shape).to(t.dtype) for t in parts]
    own_args = translated([args, kwargs], [])
    own_parts, own_ways = translated(parts, []), translated(ways, [])
    f, g = function_of(func, args, kwargs, paths), function_of(own, own_args[0], own_args[1], paths)

    def jvp(library, function, primals, tangents):
        return library.func.jvp(function, tuple(primals), tuple(tangents))[1]

    def again(library, function, primals, tangents):
        def total(*values):
            made = library.func.jvp(function, values, tuple(tangents))[1]
            made = [t for t in tensors_in(made) if t.is_floating_point() or t.is_complex()]
            return sum((t * t).sum().real if t.is_complex() else (t * t).sum() for t in made)

        return library.func.grad(total, tuple(range(len(primals))))(*primals)

    for word, way in (("jvp", jvp), ("gradient of jvp", again)):
        want, refused = outcome(lambda: way(torch, f, parts, ways))
        if refused is not None:
            return
        found.calls[name] += 1
        got, error = outcome(lambda: way(neura, g, own_parts, own_ways))
        what = None if error is not None else differing(want, got)
        if error is not None:
            return found.note(name, f"{word} raises {type(error).__name__}", args, kwargs, error)
        if what:
            return found.note(name, f"{word} differs", args, kwargs, what)


def batched(found, dtype, only, limit):
    for name, func, own, args, kwargs in each_call(dtype, only, limit, lambda op: op.supports_autograd, True):
        if not name.endswith("_") and not any(word in name for word in (*RANDOM, *NO_GRADIENT)):
            timed(lambda: batched_of(found, name, func, own, args, kwargs))


def batched_of(found, name, func, own, args, kwargs):
    copies, leaves = (leaf_copies(args), leaf_copies(kwargs)), []
    given = translated(copies[0], leaves), translated(copies[1], leaves)
    wants, refused = outcome(lambda: tensors_in(func(*copies[0], **copies[1])))
    gots, failed = outcome(lambda: tensors_in(own(*given[0], **given[1])))
    if refused is not None or failed is not None:
        return
    pairs = [(t, n) for t, n in zip(wants, gots) if t.requires_grad and n.requires_grad]
    if not pairs or not leaves:
        return
    if any(t.layout != torch.strided for t, _ in pairs):
        return
    weights = [torch.stack([torch.ones_like(t), torch.rand_like(t)]) for t, _ in pairs]
    found.calls[name] += 1

    def grad(library, results, inputs, given_weights):
        made = library.autograd.grad(results, inputs, given_weights, is_grads_batched=True, allow_unused=True)
        return [t for t in made if t is not None]

    want, refused = outcome(lambda: grad(torch, [t for t, _ in pairs], [t for t, _ in leaves], weights))
    own_weights = [neura.from_dlpack(w) for w in weights]
    got, error = outcome(lambda: grad(neura, [n for _, n in pairs], [n for _, n in leaves], own_weights))
    if refused is None and error is not None:
        found.note(name, "has no batched gradient", args, kwargs, error)
    elif refused is None and len(want) == len(got) and differing(want, got):
        found.note(name, "batched gradient differs", args, kwargs, differing(want, got))


def sparse(found, dtype, only, limit):
    for op in op_db:
        for layout in SPARSE:
            if only in op.name and op.supports_sparse_layout(layout) and dtype in op.supported_dtypes("cpu"):
                samples, _ = outcome(lambda: list(op.sample_inputs_sparse(layout, "cpu", dtype))[:limit])
                for sample in samples or []:
                    for call in calls_of(op, sample):
                        timed(lambda: both(found, *call[:-1]))


def refs(found, dtype, only, limit):
    for op in python_ref_db:
        name = op.name.removeprefix("_refs.")
        own = neura
        for part in name.split("."):
            own = getattr(own, part, None)
        found.calls[name] += 1
        if own is None and not hasattr(neura.Tensor, name):
            found.note(name, "is absent", (), {}, "")


if __name__ == "__main__":
    ways = [errors, out, inplace, vmap, forward, batched, sparse, refs]
    opinfo_common.entry(__doc__, {way.__name__: way for way in ways})
