"""Overriding functions for a class: the __torch_function__ protocol, under the names of torch.overrides.

A function of Neura that meets an object whose class has a `__torch_function__(func, types, args, kwargs)` calls that
instead of computing. Classes that derive from Tensor have one: it computes, and gives the result their class. Functions
and methods, operators, indexing, iteration and the attributes that are views, such as `x.T`, ask; layers that C++
computes do not.

>>> class Logged(neura.Tensor):
...     @classmethod
...     def __torch_function__(cls, func, types, args=(), kwargs=None):
...         print(neura.overrides.resolve_name(func))
...         return super().__torch_function__(func, types, args, kwargs)
>>> y = Logged([1.0, 2.0]).add(1)
neura.add
>>> type(y).__name__
'Logged'
"""

import functools
import threading

from . import _neura
from ._neura import Tensor

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]

_disabled = _neura._disabled_torch_function_impl
_here = threading.local()  # .modes: those of this thread, the innermost last


class DisableTorchFunctionSubclass:
    """While entered, classes that derive from Tensor are taken for Tensor."""

    _all = False

    def __enter__(self):
        _neura._switch_overrides_off(1, self._all)

    def __exit__(self, *error):
        _neura._switch_overrides_off(-1, self._all)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """While entered, no __torch_function__ is called, of classes or modes."""

    _all = True


def _wants(x):
    """Does the class of this object override functions?"""
    kind = type(x)
    if kind is Tensor or not hasattr(kind, "__torch_function__"):
        return False
    if _neura._overrides_off()[1] and isinstance(x, Tensor):
        return False
    return kind.__torch_function__ is not _disabled


def _overloaded(relevant):
    """One object of each class that overrides, a class before those that it derives from."""
    found = []
    for x in relevant:
        if _wants(x) and all(type(x) is not type(known) for known in found):
            at = next((i for i, known in enumerate(found) if issubclass(type(x), type(known))), len(found))
            found.insert(at, x)
    return found


def _flat(args, kwargs):
    for value in (*args, *kwargs.values()):
        if isinstance(value, (list, tuple)):
            yield from value
        yield value


def _dispatch(func, args, kwargs):
    return _ask(func, _overloaded(_flat(args, kwargs)), args, kwargs)


def _ask(func, overloaded, args, kwargs):
    types = tuple(map(type, overloaded))
    if getattr(_here, "modes", None) and not _neura._overrides_off()[0]:
        mode = _here.modes[-1]
        mode._leave()
        try:
            result = mode.__torch_function__(func, types, args, kwargs)
        finally:
            mode._enter()
        if result is not NotImplemented:
            return result
    for x in overloaded:
        result = type(x).__torch_function__(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    names = ", ".join(t.__name__ for t in types) or type(mode).__name__
    raise TypeError(
        f"{resolve_name(func) or func}: expected a __torch_function__ that knows this function, got NotImplemented "
        f"from {names}"
    )


def _as(cls, result):
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else result.as_subclass(cls)
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*(_as(cls, r) for r in result))
    if isinstance(result, (tuple, list)) and not isinstance(result, _neura.Size):
        return type(result)(_as(cls, r) for r in result)
    return result


def _default(cls, func, types, args, kwargs):
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
        return result if cls is Tensor else _as(cls, result)


def has_torch_function(relevant_args):
    """True if the class of one of these objects, or a mode, overrides functions."""
    if _neura._overrides_off()[0]:
        return False
    return bool(getattr(_here, "modes", None)) or any(map(_wants, relevant_args))


def has_torch_function_variadic(*relevant_args):
    """has_torch_function of several arguments."""
    return has_torch_function(relevant_args)


def has_torch_function_unary(relevant_arg):
    """has_torch_function of one argument."""
    return has_torch_function((relevant_arg,))


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """What the __torch_function__ of the first of relevant_args that has one gives for public_api(*args, **kwargs).

    TypeError where all of them give NotImplemented.
    """
    return _ask(public_api, _overloaded(relevant_args), args, kwargs)


def wrap_torch_function(dispatcher):
    """A decorator: the function asks the objects that dispatcher(*args, **kwargs) gives whether they override it."""

    def wrap(function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return wrap


def is_tensor_like(inp):
    """True for a Tensor, or an object whose class has a __torch_function__."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func):
    """True for a method of Tensor, also one that is a function as well."""
    name = getattr(func, "__name__", None)
    return name is not None and getattr(Tensor, name, None) is func


class TorchFunctionMode:
    """While entered, every function that a program calls in this thread goes through __torch_function__.

    There the mode is left: what it calls itself is seen by the modes around it alone.

    >>> class Counts(neura.overrides.TorchFunctionMode):
    ...     calls = 0
    ...
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         self.calls += 1
    ...         return func(*args, **(kwargs or {}))
    >>> with Counts() as counts:
    ...     y = neura.ones(2) + 1
    >>> counts.calls
    2
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError(f"{type(self).__name__}: expected the class to define __torch_function__")

    def _enter(self):
        if not hasattr(_here, "modes"):
            _here.modes = []
        _here.modes.append(self)
        _neura._count_modes(1)

    def _leave(self):
        _here.modes.remove(self)
        _neura._count_modes(-1)

    def __enter__(self):
        self._enter()
        return self

    def __exit__(self, *error):
        self._leave()


class BaseTorchFunctionMode(TorchFunctionMode):
    """The mode that changes nothing."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class enable_reentrant_dispatch:
    """Does nothing: calls within a __torch_function__ are always asked again."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


def _homes():
    import neura

    for name in ("", "nn.functional", "linalg", "fft", "special", "Tensor"):
        home = neura
        for part in filter(None, name.split(".")):
            home = getattr(home, part)
        yield f"neura.{name}".rstrip("."), home


def get_overridable_functions():
    """{module or class: the functions in it that ask for a __torch_function__}."""
    kinds = {type(f) for f in (_neura.add, _neura.exp, _neura.sum)}
    found = {}
    for _, home in _homes():
        values = [getattr(home, name) for name in dir(home) if name[0] != "_"]
        found[home] = [value for value in values if type(value) in kinds]
    return found


def get_default_nowrap_functions():
    """Functions whose results keep the class they have: as_subclass."""
    return {Tensor.as_subclass}


def get_ignored_functions():
    """Public functions that ask for no __torch_function__: those that take no tensor, and as_subclass."""
    return get_default_nowrap_functions() | {
        getattr(_neura, name)
        for name in "manual_seed seed initial_seed set_default_dtype get_default_dtype set_num_threads get_num_threads "
        "set_rng_state get_rng_state set_printoptions promote_types can_cast result_type".split()
        if hasattr(_neura, name)
    }


def resolve_name(f):
    """The name by which a program finds this function, such as 'neura.add'; None for others."""
    if isinstance(f, (str, property)):
        return str(f)
    name = getattr(f, "__name__", None)
    for full, home in _homes():
        if name and getattr(home, name, None) is f:
            return f"{full}.{name}"
    return None
