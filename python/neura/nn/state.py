"""state_dict and load_state_dict."""

import warnings
from _thread import _local  # what threading.local is
from collections import OrderedDict, namedtuple
from collections.abc import Mapping

from ..autograd.grad_mode import no_grad
from .._neura import Tensor, errors
from .._neura import nn as _nn
from .hooks import call_load_pre_hooks

_loading = _local()
_MODULES = 2  # the kind of member


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What load_state_dict returns: keys that the state lacked, and keys that the module does not know."""

    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class ModuleState:
    """The methods of Module that save and load."""

    _version = 1

    def get_extra_state(self):
        """Anything picklable that state_dict holds besides the tensors; define it together with set_extra_state."""
        raise RuntimeError(
            f"get_extra_state: expected {type(self).__name__} to define it, got neither it nor set_extra_state"
        )

    def set_extra_state(self, state):
        """Restores what get_extra_state returned."""
        raise RuntimeError(f"set_extra_state: expected {type(self).__name__} to define it, got an extra state")

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, value in _nn._state(self):
            destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not ModuleState.get_extra_state:
            destination[prefix + "_extra_state"] = self.get_extra_state()

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """All parameters and persistent buffers by name, in order, sharing memory with the module.

        With keep_vars they are the parameters themselves; otherwise tensors without history.
        """
        if args:
            destination, prefix, keep_vars = (*args, *(None, "", False)[len(args) :])[:3]
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in list(self._state_dict_pre_hooks.values()):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in _nn._members(self, _MODULES):
            if module is not None:
                module.state_dict(destination=destination, prefix=prefix + name + ".", keep_vars=keep_vars)
        for hook in list(self._state_dict_hooks.values()):
            result = hook(self, destination, prefix, metadata)
            destination = destination if result is None else result
        return destination

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        """Fills the members of this module alone; problems are added to the three lists."""
        call_load_pre_hooks(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        self._complete_old_state(state_dict, prefix, local_metadata.get("version"))
        own = dict(_nn._state(self))
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, value in own.items():
            key = prefix + name
            if key in state_dict:
                _load_one(self, name, value, key, state_dict[key], assign, error_msgs)
            elif strict:
                missing_keys.append(key)
        extra = prefix + "_extra_state"
        takes_extra = type(self).set_extra_state is not ModuleState.set_extra_state
        if takes_extra and extra in state_dict:
            self.set_extra_state(state_dict[extra])
        elif strict and takes_extra:
            missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            modules = set(self._modules)
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    name = key[len(prefix) :]  # of a tensor of this module (it may have dots), or after a child's
                    first, *rest = name.split(".", 1)
                    if name not in own and not (rest and first in modules):
                        unexpected_keys.append(key)

    def _complete_old_state(self, state_dict, prefix, version):
        """Adds what a state of an older version of the class lacks; version: None where the state does not say."""

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copies the tensors of state_dict into the parameters and buffers of the same name.

        Returns (missing_keys, unexpected_keys). Strict: either is a RuntimeError. Unless everything fits, nothing is
        written (modules with a _load_from_state_dict or load hooks of their own excepted). With assign, the module
        takes the given tensors themselves: the way to give values to a module on meta.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"load_state_dict: expected state_dict to be dict-like, got {type(state_dict)}")
        missing, unexpected, problems = [], [], []
        metadata = getattr(state_dict, "_metadata", None)
        state = OrderedDict(state_dict)
        if metadata is not None:
            state._metadata = metadata
        outer = getattr(_loading, "writes", None)
        plain = all(
            type(m)._load_from_state_dict is ModuleState._load_from_state_dict and not m._load_state_dict_post_hooks
            for m in self.modules()
        )
        _loading.writes = [] if plain else None
        try:
            _load(self, state, "", metadata, assign, missing, unexpected, problems)
            if strict:
                if unexpected:
                    problems.insert(0, f"Unexpected key(s) in state_dict: {_quoted(unexpected)}. ")
                if missing:
                    problems.insert(0, f"Missing key(s) in state_dict: {_quoted(missing)}. ")
            if problems:
                kind = errors.ShapeError if any(p.startswith("size mismatch") for p in problems) else errors.ValueError
                text = "\n\t".join(problems)
                raise kind(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{text}")
            for write in _loading.writes or ():
                write()
        finally:
            _loading.writes = outer
        return _IncompatibleKeys(missing, unexpected)


def _quoted(keys):
    return ", ".join(f'"{k}"' for k in keys)


def _load(module, state, prefix, metadata, assign, missing, unexpected, problems):
    local = {} if metadata is None else metadata.get(prefix[:-1], {})
    if assign:
        local = {**local, "assign_to_params_buffers": True}
    module._load_from_state_dict(state, prefix, local, True, missing, unexpected, problems)
    for name, child in module._modules.items():
        if child is not None:
            below = prefix + name + "."
            part = {k: v for k, v in state.items() if k.startswith(below)}
            _load(child, part, below, metadata, assign, missing, unexpected, problems)
    for hook in list(module._load_state_dict_post_hooks.values()):
        if hook(module, _IncompatibleKeys(missing, unexpected)) is not None:
            raise RuntimeError("load_state_dict post-hook: expected it to change the keys in place and to return None")


def _load_one(module, name, own, key, given, assign, problems):
    if not isinstance(given, Tensor):
        problems.append(f'While copying the parameter named "{key}", expected a tensor, got {type(given).__name__}.')
        return
    lazy = getattr(own, "_is_uninitialized", False)
    if own.dim() == 0 and tuple(given.shape) == (1,):  # an old form of numbers such as num_batches_tracked
        given = given[0]
    if not lazy and own.shape != given.shape:
        problems.append(
            f"size mismatch for {key}: copying a param with shape {list(given.shape)} from checkpoint, "
            f"the shape in current model is {list(own.shape)}."
        )
        return
    if given.is_complex() and not own.is_complex() and not assign:
        problems.append(f"dtype mismatch for {key}: expected {own.dtype}, got {given.dtype}.")
        return

    if given.is_meta and not own.is_meta and not assign:
        problems.append(f"{key}: expected a tensor with values, got one on meta, where there are none.")
        return
    if own.is_meta and not given.is_meta and not assign:
        warnings.warn(
            f"load_state_dict: {key} is on meta, where values go nowhere; pass assign=True to take the given tensors",
            stacklevel=2,
        )

    def write():
        if assign:
            _assign(module, name, own, given)
        else:
            with no_grad():
                own.copy_(given)

    if _loading.writes is None or lazy:
        try:
            write()
        except Exception as error:
            problems.append(f'While copying the parameter named "{key}": {error}')
    else:
        _loading.writes.append(write)


def _assign(module, name, own, given):
    if isinstance(own, _nn.Parameter):
        if isinstance(given, _nn.Parameter):
            given.requires_grad_(own.requires_grad)
        else:
            given = _nn.Parameter(given, requires_grad=own.requires_grad)
    setattr(module, name, given)
