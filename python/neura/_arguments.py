"""Arguments of functions that are written in Python: each of another kind is an ArgumentError that names it."""

import math
import operator

from . import _neura
from ._neura import Tensor, errors


def _refuse(op, what, name, value):
    raise errors.ArgumentError(f"{op}: expected {what} for {name}, got {type(value).__name__}") from None


def _renamed(name, text):
    said, colon, rest = text.partition(": ")
    if said == "device":
        return text
    return f"{name}: {rest if colon and said.isidentifier() else text}"


def named(function):
    """The function, whose errors bear its name where they bore that of a step of it or none."""
    name = function.__name__

    def call(*args, **keywords):
        try:
            return function(*args, **keywords)
        except errors.Error as error:
            error.args = (_renamed(name, str(error)),)
            raise
        except (TypeError, AttributeError, OverflowError) as error:
            text = str(error).removeprefix(f"{name}() ")
            raise errors.ArgumentError(_renamed(name, text)) from None

    call.__wrapped__ = function
    for kept in ("__name__", "__qualname__", "__module__", "__doc__"):
        setattr(call, kept, getattr(function, kept))
    return call


def tensors(op, **given):
    """Tensors, or what stands for one (see neura.overrides)."""
    for name, value in given.items():
        if not isinstance(value, Tensor) and not hasattr(type(value), "__torch_function__"):
            _refuse(op, "a tensor", name, value)


def numbers(op, **given):
    """Real numbers of any kind, of tensors of one element too."""
    for name, value in given.items():
        try:
            math.isfinite(value)
        except OverflowError:  # an integer beyond the floats
            pass
        except Exception:
            _refuse(op, "a number", name, value)


def integer(op, name, value):
    """It as an int."""
    try:
        return operator.index(value)
    except Exception:
        _refuse(op, "an integer", name, value)


def functions(op, **given):
    """What can be called."""
    for name, value in given.items():
        if not callable(value):
            _refuse(op, "a function", name, value)


def dtype(op, value):
    """A dtype, or None."""
    if value is not None and not isinstance(value, _neura.dtype):
        _refuse(op, "a dtype or None", "dtype", value)


def listed(op, name, value):
    """It as a tuple."""
    try:
        return tuple(value)
    except TypeError:
        _refuse(op, "a list", name, value)
