"""The names of torch.jit for programs that script or trace what they run: here a function stays Python.

`script` and `trace` check their arguments and give back what was to be compiled, so that calls have eager's answers.
There are no programs of TorchScript, and so no files of them: `save` and `load` raise NotImplementedError, and a
network's numbers are kept by its state_dict(), the network itself by `neura.onnx.export`.
"""

import contextlib
from typing import Any, Final  # noqa: F401, Final is one of its names

from ._neura import errors
from .nn import Module

__all__ = (
    "Attribute Error Final ScriptFunction ScriptModule annotate enable_onednn_fusion export fork freeze fuser ignore "
    "interface is_scripting is_tracing isinstance last_executed_optimized_graph load onednn_fusion_enabled "
    "optimize_for_inference optimized_execution run_frozen_optimizations save script script_if_tracing script_method "
    "set_fusion_strategy strict_fusion trace trace_module unused wait"
).split()

Error = RuntimeError
_isinstance = isinstance


class ScriptModule(Module):
    """No module is one, unless a program derives from it: then it is a usual module."""


class ScriptFunction:
    """No function is one: `script` gives back the function that it is given."""


class Attribute:
    """A value with its type, as modules of TorchScript declare them: (value, type)."""

    def __new__(cls, value, type):
        return value


def _callable(where, obj):
    if not callable(obj):
        raise TypeError(f"{where}: expected a function, a class or a module, got {type(obj).__name__}")
    return obj


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """The function, class or module itself; also as a decorator.

    >>> import neura
    >>> @neura.jit.script
    ... def twice(x):
    ...     return x + x
    >>> twice(neura.ones(2))
    tensor([2., 2.])
    """
    return _callable("script", obj)


def script_if_tracing(fn):
    """The function itself."""
    return _callable("script_if_tracing", fn)


def trace(func, example_inputs=None, check_trace=True, check_inputs=None, strict=True, example_kwarg_inputs=None, **_):
    """The function or module itself, after one call with the example inputs, whose errors it so raises.

    example_inputs: a tuple of arguments, or the only one. Branches stay branches: nothing is recorded.

    >>> import neura
    >>> layer = neura.nn.Linear(2, 3)
    >>> neura.jit.trace(layer, neura.zeros(1, 2)) is layer
    True
    """
    from .autograd.grad_mode import no_grad

    _callable("trace", func)
    if example_inputs is None and example_kwarg_inputs is None:
        raise RuntimeError("trace: expected example_inputs or example_kwarg_inputs, got neither")
    if example_inputs is not None and not _isinstance(example_inputs, (tuple, list)):
        example_inputs = (example_inputs,)
    if _isinstance(func, Module):
        state = func.state_dict()
        before = {name: value.clone() for name, value in state.items()}
        with no_grad():
            func(*(example_inputs or ()), **(example_kwarg_inputs or {}))
            for name, value in before.items():  # one call less of what counts: running statistics
                if not _same(state[name], value):
                    state[name].copy_(value)
    return func


def _same(a, b):
    return a.shape == b.shape and bool(((a == b) | ((a != a) & (b != b))).all())


def trace_module(mod, inputs, *args, **kwargs):
    """The module itself. inputs (dict): example arguments by the name of a method; that of forward is called once."""
    if not _isinstance(inputs, dict):
        raise AttributeError(f"trace_module: expected a dict of inputs by method, got {type(inputs).__name__}")
    return trace(mod, inputs["forward"]) if "forward" in inputs else mod


def ignore(drop=False, **kwargs):
    """A decorator that changes nothing, with or without arguments."""
    return drop if callable(drop) else lambda fn: fn


def unused(fn):
    """The function itself."""
    return fn


def export(fn):
    """The function itself."""
    return fn


def script_method(fn):
    """The method itself."""
    return fn


def interface(obj):
    """The class itself."""
    return obj


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """The module itself; as PyTorch's it asks for evaluation mode: RuntimeError in training."""
    if mod.training:
        raise RuntimeError("freeze: expected a module in evaluation mode, got one in training; call eval() first")
    return mod


def optimize_for_inference(mod, other_methods=None):
    """The module itself, in evaluation mode."""
    return mod.eval()


def run_frozen_optimizations(mod, optimize_numerics=True, preserved_methods=None):
    """Has no effect."""


def _no_files(name):
    return errors.NotImplementedError(
        f"jit.{name}: programs of TorchScript are not there; keep the state_dict() of the module, or a model of it by "
        "neura.onnx.export"
    )


def save(m, f, _extra_files=None):
    """NotImplementedError: there are no programs of TorchScript."""
    raise _no_files("save")


def load(f, map_location=None, _extra_files=None, _restore_shapes=False):
    """NotImplementedError: there are no programs of TorchScript."""
    raise _no_files("load")


def is_scripting():
    """False."""
    return False


def is_tracing():
    """False: while `trace` calls, too, since nothing is recorded."""
    return False


def annotate(the_type, the_value):
    """The value."""
    return the_value


def isinstance(obj, target_type):
    """The built-in isinstance, of types and of typing.List[...] and its kin, whose parameters are not looked at."""
    kinds = target_type if _isinstance(target_type, tuple) else (target_type,)
    return _isinstance(obj, tuple(object if k is Any else getattr(k, "__origin__", k) for k in kinds))


def fork(func, *args, **kwargs):
    """Calls the function at once; `wait` gives the result."""
    return _Future(func(*args, **kwargs))


class _Future:
    def __init__(self, value):
        self._value = value

    def wait(self):
        """The result."""
        return self._value

    value = wait

    def done(self):
        """True."""
        return True


def wait(future):
    """The result of what `fork` began."""
    return future.wait()


@contextlib.contextmanager
def optimized_execution(should_optimize):
    """Has no effect."""
    yield


@contextlib.contextmanager
def fuser(name):
    """Has no effect."""
    yield


class strict_fusion(contextlib.nullcontext):
    """Has no effect."""


def set_fusion_strategy(strategy):
    """Has no effect; returns what was set before: nothing."""
    return []


def enable_onednn_fusion(enabled):
    """Has no effect."""


def onednn_fusion_enabled():
    """False."""
    return False


def last_executed_optimized_graph():
    """None: there are no graphs of TorchScript."""
    return None
