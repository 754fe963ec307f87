#!/usr/bin/env python3
"""Runs PyTorch's databases of modules and optimizers in PyTorch and in Neura, and compares.

    opinfo_nn.py modules|optimizers [--dtype float32] [--only NAME] [--limit 20]

Runs where opinfo.py does.
    modules      every sample of module_db, training and not: repr, state, copies, results, gradients of both orders;
                 and the calls that PyTorch refuses
    optimizers   every sample of optim_db, five steps, the fourth from a copy of the state; with groups, sparse
                 gradients, closures; and what PyTorch refuses
What differs is listed by name with the first samples.
"""
import copy

import opinfo_common
import torch
from opinfo_common import compare_orders, differing, judged, leaf_copies, outcome, tensors_in, timed, translated
from torch.testing._internal.common_modules import ModuleErrorEnum, module_db
from torch.testing._internal.common_optimizers import OptimizerErrorEnum, optim_db

import neura


def converted(state):
    return {key: opinfo_common.tensor_of(t, []) if isinstance(t, torch.Tensor) else t for key, t in state.items()}


def class_of(info):
    cls = neura.nn
    for part in info.name.split(".")[1:]:
        cls = getattr(cls, part)
    return cls


def compare_module(found, info, sample, training):
    name, given = info.name, (sample.constructor_input.args, sample.constructor_input.kwargs)
    torch.manual_seed(0)
    theirs = info.module_cls(*given[0], **given[1])
    ours, error = outcome(lambda: class_of(info)(*translated(given[0], []), **translated(given[1], [])))
    found.calls[name] += 1
    if error is not None:
        return found.note(name, f"cannot be made: {type(error).__name__}", *given, error)
    theirs.train(training)
    ours.train(training)
    args, kwargs = sample.forward_input.args, sample.forward_input.kwargs
    if info.is_lazy:
        outcome(lambda: theirs(*leaf_copies(args), **leaf_copies(kwargs)))
        outcome(lambda: ours(*translated(leaf_copies(args), []), **translated(leaf_copies(kwargs), [])))
    if list(theirs.state_dict()) != list(ours.state_dict()):
        return found.note(name, "has another state", *given, f"{list(ours.state_dict())} {list(theirs.state_dict())}")
    if repr(theirs) != repr(ours):
        found.note(name, "has another repr", *given, f"{ours!r} for {theirs!r}")
    for module in (ours, copy.deepcopy(ours)):
        if not compare_call(found, name, theirs, module, args, kwargs, given):
            return
        for (key, t), own in zip(theirs.state_dict().items(), module.state_dict().values()):
            what = differing(t, own)
            if what:
                found.note(name, "has another state afterwards", *given, f"{key}: {what}")


def compare_call(found, name, theirs, ours, args, kwargs, given):
    mine, leaves = (leaf_copies(args), leaf_copies(kwargs)), []
    translated_to = translated(mine[0], leaves), translated(mine[1], leaves)
    ours.load_state_dict(converted(theirs.state_dict()))
    want = outcome(lambda: theirs(*mine[0], **mine[1]))
    got = outcome(lambda: ours(*translated_to[0], **translated_to[1]))
    if not judged(found, name, want, got, (given, (args, kwargs))):
        return False
    leaves += list(zip(theirs.parameters(), ours.parameters()))
    compare_orders(found, name, tensors_in(want[0]), tensors_in(got[0]), leaves, (given, (args, kwargs)))
    return True


def compare_module_error(found, info, error):
    sample = error.module_error_input
    given = sample.constructor_input
    called = error.error_on is ModuleErrorEnum.FORWARD_ERROR
    args, kwargs = (sample.forward_input.args, sample.forward_input.kwargs) if called else ((), {})

    def theirs():
        module = info.module_cls(*given.args, **given.kwargs)
        return module(*args, **kwargs) if called else None

    def ours():
        module = class_of(info)(*translated(given.args, []), **translated(given.kwargs, []))
        return module(*translated(args, []), **translated(kwargs, [])) if called else None

    judged(found, info.name, outcome(theirs), outcome(ours), (given.args, (given.kwargs, args, kwargs)))


def modules(found, dtype, only, limit):
    for info in module_db:
        if only not in info.name or dtype not in info.supported_dtypes("cpu"):
            continue
        for training in (True, False):
            samples = info.module_inputs_func(
                info, device="cpu", dtype=dtype, requires_grad=dtype.is_floating_point, training=training
            )
            for sample in samples[:limit]:
                timed(lambda: compare_module(found, info, sample, training))
            if info.module_error_inputs_func:
                for error in info.module_error_inputs_func(
                    info, device="cpu", dtype=dtype, requires_grad=False, training=training
                ):
                    timed(lambda: compare_module_error(found, info, error))


def parameters_of(spec, dtype):
    if spec is not None:
        return spec
    torch.manual_seed(1)
    return [torch.nn.Parameter(torch.randn(*shape, dtype=dtype)) for shape in ((2, 3), (4, 1), (1, 1))]


def own_parameters(spec, pairs):
    """The same for Neura; pairs collects (PyTorch's, Neura's)."""
    if isinstance(spec, torch.Tensor):
        made = next((n for t, n in pairs if t is spec), None)
        if made is None:
            made = neura.nn.Parameter(opinfo_common.tensor_of(spec.detach(), []), requires_grad=spec.requires_grad)
            pairs.append((spec, made))
        return made
    if isinstance(spec, dict):
        return {key: own_parameters(value, pairs) for key, value in spec.items()}
    if isinstance(spec, (list, tuple)):
        return type(spec)(own_parameters(value, pairs) for value in spec)
    return translated(spec, [])


def gradient_at(i, t, sparse):
    g = torch.sin(torch.arange(t.numel(), dtype=torch.float64) * (i + 1) + i).reshape(t.shape).to(t.dtype)
    return g.to_sparse() if sparse else g


def step(optimizer, library, pairs, i, with_closure, sparse):
    own = library is neura
    for t, n in pairs:
        if not own:
            t.grad = gradient_at(i, t, sparse)
        elif sparse:
            g = t.grad.coalesce()
            n.grad = neura.sparse_coo_tensor(
                neura.from_dlpack(g.indices().clone()), neura.from_dlpack(g.values().clone()), tuple(g.shape)
            )
        else:
            n.grad = neura.from_dlpack(gradient_at(i, t, False))
    if not with_closure:
        return optimizer.step()
    mine = [n if own else t for t, n in pairs]

    def closure():
        optimizer.zero_grad()
        loss = sum(((p - 0.3) ** 2).sum() for p in mine)
        loss.backward()
        return loss

    return optimizer.step(closure)


def compare_optimizer(found, info, sample, dtype, sparse=False, groups=False):
    name, kwargs = info.optim_cls.__name__, copy.deepcopy(sample.kwargs)
    spec = parameters_of(sample.params, dtype)
    if name == "Muon":
        spec = [p for p in spec if not isinstance(p, torch.Tensor) or p.dim() == 2]
    if groups:
        spec = [{"params": spec[:1], "weight_decay": 0.03}, {"params": spec[1:]}]
    pairs = []
    ours = own_parameters(spec, pairs)
    want, error = outcome(lambda: info.optim_cls(spec, **kwargs))
    given = ((name, sample.desc, f"sparse={sparse} groups={groups}"), sample.kwargs)
    got = outcome(lambda: getattr(neura.optim, name)(ours, **translated(copy.deepcopy(sample.kwargs), [])))
    found.calls[name] += 1
    if error is not None or got[1] is not None:
        return judged(found, name, (want, error), got, given)
    for i in range(5):
        if i == 3:  # goes on from a copy of the state
            state = got[0].state_dict()
            if set(map(str, want.state_dict()["state"].get(0, {}))) != set(map(str, state["state"].get(0, {}))):
                words = f"{sorted(state['state'].get(0, {}))} for {sorted(want.state_dict()['state'].get(0, {}))}"
                found.note(name, "has another state", *given, words)
            got = (getattr(neura.optim, name)(ours, **translated(copy.deepcopy(sample.kwargs), [])), None)
            got[0].load_state_dict(state)
        closure = info.step_requires_closure or i == 4 and not sparse
        one = outcome(lambda: step(want, torch, pairs, i, closure, sparse))
        other = outcome(lambda: step(got[0], neura, pairs, i, closure, sparse))
        if (one[1] is None) != (other[1] is None):
            return judged(found, name, one, other, given)
        for t, n in pairs:
            what = differing(t, n)
            if what:
                return found.note(name, f"differs after step {i}", *given, what)
    keys = [set(o.state_dict()["param_groups"][0]) for o in (want, got[0])]
    if keys[0] - keys[1]:
        found.note(name, "lacks options of a group", *given, sorted(keys[0] - keys[1]))


def compare_optimizer_error(found, info, error, dtype):
    sample, name = error.optimizer_error_input, info.optim_cls.__name__
    given = own_parameters(parameters_of(sample.params, dtype), [])  # PyTorch changes the groups it is given

    def theirs():
        made = info.optim_cls(parameters_of(sample.params, dtype), **sample.kwargs)
        return made.step() if error.error_on is OptimizerErrorEnum.STEP_ERROR else None

    def ours():
        made = getattr(neura.optim, name)(given, **translated(sample.kwargs, []))
        return made.step() if error.error_on is OptimizerErrorEnum.STEP_ERROR else None

    judged(found, name, outcome(theirs), outcome(ours), ((name, sample.desc), sample.kwargs))


def optimizers(found, dtype, only, limit):
    for info in optim_db:
        name = info.optim_cls.__name__
        if only not in name:
            continue
        for sample in info.optim_inputs_func("cpu", dtype)[:limit]:
            for extra in [{}] + [{k: True} for k in ("foreach", "differentiable") if k in info.supported_impls]:
                merged = type(sample)(sample.params, {**sample.kwargs, **extra}, f"{sample.desc} {extra}")
                for groups in (False, True):
                    timed(lambda: compare_optimizer(found, info, merged, dtype, groups=groups))
                if info.supports_sparse or info.only_supports_sparse_grads:
                    timed(lambda: compare_optimizer(found, info, merged, dtype, sparse=True))
        for error in info.optim_error_inputs_func("cpu", dtype):
            timed(lambda: compare_optimizer_error(found, info, error, dtype))


if __name__ == "__main__":
    opinfo_common.entry(__doc__, {"modules": modules, "optimizers": optimizers})
