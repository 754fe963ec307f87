"""functional_call: calls of a module with other tensors instead of its own."""

from ..._neura import nn as _nn
from ..module import Module


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Calls module(*args, **kwargs) with the named tensors instead of its own, which are restored afterwards.

    parameter_and_buffer_dicts: a dict by names such as "layer.0.weight", or a sequence of such dicts without common
    names. With tie_weights, a tensor that the module holds under several names is replaced under all of them. Strict:
    every parameter and buffer must be given, and nothing else. Gradients flow to the given tensors.
    """
    given = _merged(parameter_and_buffer_dicts)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    own = _all(module)
    unknown = [name for name in given if name not in own]
    if strict:
        missing = [
            name
            for name in own
            if name not in given
            and not any(own[name] is own[other] for other in (given if tie_weights else ()) if other in own)
        ]
        if missing or unknown:
            raise RuntimeError(
                f"functional_call: expected the names of {type(module).__name__}, got missing keys {missing} and "
                f"unexpected keys {unknown}"
            )
    elif unknown:
        raise KeyError(f"functional_call: {type(module).__name__} has no parameter or buffer {unknown[0]!r}")
    if tie_weights:
        given = _tied(own, given)
    places = [(*_place(module, name), value) for name, value in given.items()]
    before = []
    try:
        for owner, kind, name, value in places:
            before.append((owner, kind, name, _nn._member(owner, kind, name)))
            _nn._set_member(owner, kind, name, value)
        return module(*args, **(kwargs or {}))
    finally:
        for owner, kind, name, value in reversed(before):
            _nn._set_member(owner, kind, name, value)


def _merged(dicts):
    if isinstance(dicts, dict):
        return dicts
    if not isinstance(dicts, (list, tuple)) or not all(isinstance(d, dict) for d in dicts):
        raise ValueError(f"functional_call: expected a dict or a sequence of dicts, got {type(dicts).__name__}")
    out = {}
    for d in dicts:
        for name, value in d.items():
            if name in out:
                raise ValueError(f"functional_call: {name} appears in several dicts; give it once")
            out[name] = value
    return out


def _all(module):
    out = dict(module.named_parameters(remove_duplicate=False))
    out.update(module.named_buffers(remove_duplicate=False))
    return out


def _tied(own, given):
    out = dict(given)
    for name, value in given.items():
        for other, tensor in own.items():
            if tensor is own[name] and other != name:
                if out.setdefault(other, value) is not value:
                    raise ValueError(f"functional_call: {name} and {other} are one tensor, but got two; give one")
    return out


def _place(module, name):
    path, _, leaf = name.rpartition(".")
    owner = Module.get_submodule(module, path)
    return owner, 0 if leaf in owner._parameters else 1, leaf
