"""Hooks of modules: functions called around forward, backward and state dicts. Registering returns a handle."""

from collections import OrderedDict

from .._neura import nn as _nn
from ..utils.hooks import RemovableHandle

# of every module
_forward_pre_hooks, _forward_hooks, _backward_pre_hooks, _backward_hooks = (OrderedDict() for _ in range(4))
_with_kwargs, _always_called = OrderedDict(), OrderedDict()
_nn._share_hooks(
    {
        "_forward_pre_hooks": _forward_pre_hooks,
        "_forward_hooks": _forward_hooks,
        "_forward_hooks_with_kwargs": _with_kwargs,
        "_forward_hooks_always_called": _always_called,
        "_backward_pre_hooks": _backward_pre_hooks,
        "_backward_hooks": _backward_hooks,
    }
)


def _add(hooks, hook, prepend=False, marks=()):
    if not callable(hook):
        raise TypeError(f"hook: expected a function, got {type(hook).__name__}")
    handle = RemovableHandle(hooks, extra_dict=list(marks))
    hooks[handle.id] = hook
    for d in marks:
        d[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_module_forward_pre_hook(hook):
    """hook(module, args) runs before the forward of every module, ahead of its own hooks; it may return other args."""
    return _add(_forward_pre_hooks, hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """hook(module, args, output) runs after the forward of every module, ahead of its own hooks.

    It may return another output. With kwargs: hook(module, args, kwargs, output). With always_call also after an error,
    with output None. For debugging and profiling: it costs every call of every module.
    """
    marks = [_with_kwargs] if with_kwargs else []
    return _add(_forward_hooks, hook, marks=marks + ([_always_called] if always_call else []))


def register_module_full_backward_pre_hook(hook):
    """hook(module, grad_output) runs in backward ahead of every module's own hooks; it may return another grad_output.

    Modules that were called before it was registered are left out.
    """
    return _add(_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook):
    """hook(module, grad_input, grad_output) runs once a module's input gradients are known, ahead of its own hooks.

    It may return another grad_input. Modules that were called before it was registered are left out.

    >>> from neura.nn.modules.module import register_module_full_backward_hook
    >>> seen = []
    >>> with register_module_full_backward_hook(lambda module, *_: seen.append(type(module).__name__)):
    ...     neura.nn.Sequential(neura.nn.Linear(2, 2), neura.nn.ReLU())(neura.ones(1, 2)).sum().backward()
    >>> seen
    ['Sequential', 'ReLU', 'Linear']
    """
    return _add(_backward_hooks, hook)


def register_module_backward_hook(hook):
    """The same as register_module_full_backward_hook."""
    return register_module_full_backward_hook(hook)


class ModuleHooks:
    """The methods of Module that register hooks."""

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """hook(module, args) runs before forward and may return other arguments.

        With kwargs: hook(module, args, kwargs), which returns None or (args, kwargs).
        """
        marks = [self._forward_pre_hooks_with_kwargs] if with_kwargs else []
        return _add(self._forward_pre_hooks, hook, prepend, marks)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """hook(module, args, output) runs after forward and may return another output.

        With kwargs: hook(module, args, kwargs, output). With always_call also after an error, with output None.
        """
        marks = [self._forward_hooks_with_kwargs] if with_kwargs else []
        marks += [self._forward_hooks_always_called] if always_call else []
        return _add(self._forward_hooks, hook, prepend, marks)

    def register_full_backward_hook(self, hook, prepend=False):
        """hook(module, grad_input, grad_output) runs once the gradients of the inputs are known.

        Both are tuples, with None where there is no gradient; it may return another grad_input.
        """
        return _add(self._backward_hooks, hook, prepend)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """hook(module, grad_output) runs before the gradients of the inputs are computed.

        It may return another grad_output.
        """
        return _add(self._backward_pre_hooks, hook, prepend)

    def register_backward_hook(self, hook):
        """The same as register_full_backward_hook."""
        return self.register_full_backward_hook(hook)

    def register_state_dict_pre_hook(self, hook):
        """hook(module, prefix, keep_vars) runs before state_dict() reads the module."""
        return _add(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook):
        """hook(module, state_dict, prefix, local_metadata) runs after state_dict() and changes it in place."""
        return _add(self._state_dict_hooks, _InPlace(hook))

    def _register_state_dict_hook(self, hook):
        return _add(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook):
        """hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)."""
        return _add(self._load_state_dict_pre_hooks, _WithModule(hook))

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return _add(self._load_state_dict_pre_hooks, _WithModule(hook) if with_module else hook)

    def register_load_state_dict_post_hook(self, hook):
        """hook(module, incompatible_keys) runs after loading and may clear the two lists."""
        return _add(self._load_state_dict_post_hooks, hook)


class _WithModule:
    """A hook that is told which module it belongs to, also after the module was copied."""

    def __init__(self, hook):
        self.hook = hook

    def __call__(self, *args):
        return self.hook(*args)


class _InPlace(_WithModule):
    """A hook that must not return anything."""

    def __call__(self, *args):
        if self.hook(*args) is not None:
            raise RuntimeError("state_dict hook: expected it to change state_dict in place and to return None")


def call_load_pre_hooks(module, *args):
    """Calls what load_state_dict calls before it loads."""
    for hook in list(module._load_state_dict_pre_hooks.values()):
        hook(module, *args) if isinstance(hook, _WithModule) else hook(*args)
