"""Copying and pickling of modules: everything a module holds is one state, so that ties, cycles and hooks survive."""

from functools import partial

from .._neura import nn as _nn

_HOOKS = (
    "_forward_pre_hooks _forward_pre_hooks_with_kwargs _forward_hooks _forward_hooks_with_kwargs "
    "_forward_hooks_always_called _backward_pre_hooks _backward_hooks _state_dict_pre_hooks _state_dict_hooks "
    "_load_state_dict_pre_hooks _load_state_dict_post_hooks"
).split()


def rebuild(cls):
    """An empty module of that class, to be filled by the state that follows."""
    module = cls.__new__(cls)
    _nn._make_blank(module)
    # The state has two parts: what C++ holds, and what the class itself makes of __getstate__.
    module.__dict__["__setstate__"] = partial(_restore, module)
    return module


def _restore(module, state):
    del module.__dict__["__setstate__"]
    native, own = state
    restore_native(module, native)
    setstate = type(module).__setstate__
    if own is not None or setstate is not ModuleCopying.__setstate__:
        setstate(module, own)


def native_state(module):
    """What C++ holds: plain values, parameters, buffers, modules, hooks."""
    inside = [
        (name, native_state(m), m.__dict__.copy())
        for name, m in _nn._members(module, 2)
        if m is not None and _nn._is_inside(m)
    ]
    known = {name for name, *_ in inside}
    hooks = {name: getattr(module, name) for name in _HOOKS if _nn._has_hooks(module)}
    return {
        "training": module.training,
        "values": _nn._members(module, 3),
        "parameters": _nn._members(module, 0),
        "buffers": _nn._members(module, 1),
        "modules": [pair for pair in _nn._members(module, 2) if pair[0] not in known],
        "inside": inside,
        "non_persistent": _nn._non_persistent(module),
        "hooks": {name: d for name, d in hooks.items() if d},
    }


def restore_native(module, native):
    """Puts the members of a module back that C++ holds."""
    _nn._clear_members(
        module, [name for kind in ("parameters", "buffers", "modules", "inside") for name, *_ in native[kind]]
    )
    for kind, members in enumerate(("parameters", "buffers", "modules", "values")):
        for name, value in native[members]:
            _nn._set_member(module, kind, name, value)
        names = [name for name, _ in native[members]]
        if kind < 3 and names != [name for name, _ in _nn._members(module, kind) if name in names]:
            for name in names:  # some were removed and put back: they stand last
                _nn._remove_member(module, name)
            for name, value in native[members]:
                _nn._set_member(module, kind, name, value)
    for name in native["non_persistent"]:
        _nn._set_persistent(module, name, False)
    for name, state, own in native["inside"]:
        child = getattr(module, name)
        restore_native(child, state)
        child.__dict__.update(own)
    for name, hooks in native["hooks"].items():
        setattr(module, name, hooks)
    module.training = native["training"]


class ModuleCopying:
    """The methods of Module that copy and pickle it."""

    def __reduce_ex__(self, protocol):
        if not _nn._is_bound(self):
            raise TypeError(
                f"pickle: expected a module whose class Python knows, got the C++ class {self._get_name()}; "
                "clone() it in C++, or save its state_dict"
            )
        getstate = getattr(type(self), "__getstate__", None)
        if getstate is None or getstate is getattr(object, "__getstate__", None):
            own = self.__dict__.copy() or None
        else:
            own = self.__getstate__()
        return rebuild, (type(self),), (native_state(self), own)

    def __setstate__(self, state):
        self.__dict__.update(state)
