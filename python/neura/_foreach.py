"""torch's _foreach functions: an operation on each tensor of a list, as a loop. Optimizers here do not need them."""

from . import _neura
from ._neura import Tensor, errors

_UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round "
    "rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
).split()
_BINARY = "add sub mul div maximum minimum clamp_min clamp_max pow".split()
_TERNARY = "addcmul addcdiv lerp".split()
_WITH_NUMBER = {"maximum": "clamp_min", "minimum": "clamp_max"}  # the method that takes a number


def _tensors(op, xs):
    xs = list(xs)
    if not xs or not all(isinstance(x, Tensor) for x in xs):
        raise TypeError(f"{op}: expected a list of tensors, got {type(xs[0]).__name__ if xs else 'an empty one'}")
    return xs


def _each(op, x, n):
    """One value for each of n tensors: a list, or the same for all."""
    if not isinstance(x, (list, tuple)):
        return [x] * n
    if len(x) != n:
        raise errors.ValueError(f"{op}: expected {n} values, one for each tensor, got {len(x)}")
    return list(x)


def _make(name, operands, in_place):
    method, with_number = (getattr(Tensor, n + "_" * in_place) for n in (name, _WITH_NUMBER.get(name, name)))
    op = f"_foreach_{name}{'_' * in_place}"

    def foreach(self, *others, **keywords):
        xs = _tensors(op, self)
        columns = [_each(op, other, len(xs)) for other in others]
        if name in ("addcmul", "addcdiv") and len(columns) == 3:
            *columns, values = columns
            made = [method(x, *rest, value=value) for x, *rest, value in zip(xs, *columns, values)]
        elif name in ("add", "sub") and len(columns) == 1 and "alpha" in keywords:
            made = [method(x, y, alpha=keywords["alpha"]) for x, y in zip(xs, columns[0])]
        else:
            values = keywords.pop("value", None)
            extra = [{}] * len(xs) if values is None else [{"value": v} for v in _each(op, values, len(xs))]
            numbers = name in _WITH_NUMBER and not any(isinstance(y, Tensor) for column in columns for y in column)
            each = with_number if numbers else method
            made = [each(x, *rest, **keywords, **e) for x, *rest, e in zip(xs, *columns, extra)]
        return None if in_place else tuple(made)

    foreach.__name__ = foreach.__qualname__ = op
    foreach.__doc__ = f"{name} of each tensor of a list, with {operands} more operands: one for all, or a list."
    return foreach


def _foreach_zero_(self):
    """Fills each tensor of a list with zeros."""
    for x in _tensors("_foreach_zero_", self):
        x.zero_()


def _foreach_copy_(self, src, non_blocking=False):
    """Copies each tensor of src into that of a list."""
    xs = _tensors("_foreach_copy_", self)
    for x, y in zip(xs, _each("_foreach_copy_", list(src), len(xs))):
        x.copy_(y, non_blocking)


def _foreach_norm(self, ord=2, dtype=None):
    """The norm of each tensor of a list."""
    return tuple(_neura.linalg.vector_norm(x, ord, None, False, dtype=dtype) for x in _tensors("_foreach_norm", self))


def _foreach_max(self):
    """The greatest element of each tensor of a list."""
    return tuple(x.max() for x in _tensors("_foreach_max", self))


for _names, _operands in ((_UNARY, 0), (_BINARY, 1), (_TERNARY, 2)):
    for _name in _names:
        for _in_place in (False, True):
            globals()[f"_foreach_{_name}{'_' * _in_place}"] = _make(_name, _operands, _in_place)
NAMES = [_name for _name in globals() if _name.startswith("_foreach_")]
