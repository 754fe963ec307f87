"""Forward mode: tensors that carry a derivative along one direction."""

from collections import namedtuple
from contextlib import contextmanager

from .. import _neura

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

UnpackedDualTensor = namedtuple("UnpackedDualTensor", ["primal", "tangent"])
UnpackedDualTensor.__doc__ = "What unpack_dual gives: primal and tangent, which is None where there is none."

_levels = []


@contextmanager
def inside(level):
    """level, opened elsewhere, as the current one."""
    _levels.append(level)
    try:
        yield level
    finally:
        _levels.remove(level)


def enter_dual_level():
    """Opens a level and returns its number; dual_level is the context manager. Levels nest."""
    _levels.append(_neura._DualLevel())
    return len(_levels) - 1


def exit_dual_level(*, level=None):
    """Closes the innermost level; its dual tensors are invalid afterwards."""
    if not _levels:
        raise RuntimeError("exit_dual_level: expected an open level, got none; call enter_dual_level first")
    if level is not None and level != len(_levels) - 1:
        raise RuntimeError(f"exit_dual_level: expected the innermost level {len(_levels) - 1}, got {level}")
    _levels.pop().close()


@contextmanager
def dual_level():
    """A block in which forward mode computes.

    >>> from neura.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(neura.tensor(3.0), neura.tensor(1.0))
    ...     forward_ad.unpack_dual(x * x).tangent
    tensor(6.)
    """
    level = enter_dual_level()
    try:
        yield level
    finally:
        exit_dual_level(level=level)


def _current(op, level):
    if not _levels:
        raise RuntimeError(f"{op}: expected a dual level, got none; call it in a block of dual_level()")
    if level is None:
        return _levels[-1]
    if not 0 <= level < len(_levels):
        raise RuntimeError(f"{op}: expected an open level, got {level}")
    return _levels[level]


def make_dual(tensor, tangent, *, level=None):
    """tensor with a tangent of its shape and dtype: what is computed of it carries the derivative along tangent.

    Raises RuntimeError outside of a dual level, ShapeError and DTypeError where the two do not fit.
    """
    return _current("make_dual", level).make(tensor, tangent)


def unpack_dual(tensor, *, level=None):
    """(primal, tangent) of a tensor: tangent is None where it has none. Outside of every level it has none."""
    if not _levels:
        return UnpackedDualTensor(tensor, None)
    at = _current("unpack_dual", level)
    return UnpackedDualTensor(at.primal(tensor), at.tangent(tensor))
