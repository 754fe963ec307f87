"""Reductions and normalisations over the elements that a mask selects, under the names of torch.masked.

`mask` is a bool tensor that broadcasts to the input; elements where it is False are ignored. Without a mask all
elements count. `dim` is one dimension, several, or None for all of them.
"""

from . import _neura as _n

__all__ = (
    "amax amin argmax argmin cumprod cumsum log_softmax logaddexp logsumexp mean median norm normalize prod softmax "
    "softmin std sum var"
).split()


def _check(name, input, mask):
    if mask is None:
        return
    if not isinstance(mask, _n.Tensor) or mask.dtype is not _n.bool:
        kind = mask.dtype if isinstance(mask, _n.Tensor) else type(mask).__name__
        raise _n.errors.DTypeError(f"masked.{name}: expected mask to be a bool tensor, got {kind}")
    shape = tuple(input.shape)
    if tuple(_n.broadcast_shapes(mask.shape, shape)) != shape:
        raise _n.errors.ShapeError(
            f"masked.{name}: expected a mask that broadcasts to {list(shape)}, got {list(mask.shape)}"
        )


def _filled(name, input, mask, value):
    _check(name, input, mask)
    return input if mask is None else _n.where(mask, input, _n.scalar_tensor(value, dtype=input.dtype))


def _extreme(dtype, sign):
    """The identity of max (sign -1) or min (sign 1)."""
    if dtype.is_floating_point:
        return sign * float("inf")
    if dtype is _n.bool:
        return sign > 0
    bits = 8 * dtype.itemsize
    if not dtype.is_signed:
        return 0 if sign < 0 else 2**bits - 1
    return -(2 ** (bits - 1)) if sign < 0 else 2 ** (bits - 1) - 1


def _wide(input, dtype):
    """The input in `dtype`, or, without one, integers as int64."""
    if dtype is None and not (input.dtype.is_floating_point or input.dtype.is_complex):
        dtype = _n.int64
    return input if dtype is None else input.to(dtype)


def _cast(input, dtype):
    return input if dtype is None else input.to(dtype)


def _real(input, dtype):
    """The input in `dtype`, or, without one, integers in the default dtype."""
    if dtype is None and not (input.dtype.is_floating_point or input.dtype.is_complex):
        dtype = _n.get_default_dtype()
    return _cast(input, dtype)


def _along(dim):
    return {} if dim is None or dim == () or dim == [] else {"dim": dim}


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The sum of the elements that count; of none, 0."""
    return _n.sum(_filled("sum", _wide(input, dtype), mask, 0), keepdim=keepdim, **_along(dim))


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The product of the elements that count; of none, 1."""
    result = _filled("prod", _wide(input, dtype), mask, 1)
    return _n.prod(result, keepdim=keepdim, **_along(dim))


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The greatest of the elements that count."""
    input = _cast(input, dtype)
    return _n.amax(_filled("amax", input, mask, _extreme(input.dtype, -1)), keepdim=keepdim, **_along(dim))


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The least of the elements that count."""
    input = _cast(input, dtype)
    return _n.amin(_filled("amin", input, mask, _extreme(input.dtype, 1)), keepdim=keepdim, **_along(dim))


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The index of the greatest of the elements that count, in the dtype of the input."""
    input = _cast(input, dtype)
    return _n.argmax(_filled("argmax", input, mask, _extreme(input.dtype, -1)), dim, keepdim).to(input.dtype)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The index of the least of the elements that count, in the dtype of the input."""
    input = _cast(input, dtype)
    return _n.argmin(_filled("argmin", input, mask, _extreme(input.dtype, 1)), dim, keepdim).to(input.dtype)


def _count(input, dim, keepdim, mask):
    ones = _n.ones(tuple(input.shape), dtype=_n.int64, device=input.device)
    return _n.sum(ones if mask is None else ones * mask, keepdim=keepdim, **_along(dim))


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The mean of the elements that count; of none, NaN."""
    input = _cast(input, dtype)
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise _n.errors.DTypeError(
            f"masked.mean: expected floating or complex numbers, got {input.dtype}; give a dtype"
        )
    return sum(input, dim, keepdim=keepdim, mask=mask) / _count(input, dim, keepdim, mask)


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The median of the elements that count, along one dimension; of none, NaN."""
    input = _cast(input, dtype)
    if not input.dtype.is_floating_point:
        raise _n.errors.DTypeError(f"masked.median: expected floating numbers, got {input.dtype}; give a dtype")
    return _n.nanmedian(_filled("median", input, mask, float("nan")), dim, keepdim).values


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """log(sum(exp(x))) of the elements that count, in the dtype of the input."""
    dtype = dtype or input.dtype
    input = _real(input, None)
    dims = tuple(range(input.dim())) if dim is None or dim == () else dim
    return _n.logsumexp(_filled("logsumexp", input, mask, float("-inf")), dims, keepdim).to(dtype)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """log(exp(x) + exp(y)), each only where its mask allows it."""
    a = _filled("logaddexp", _real(input, dtype), input_mask, float("-inf"))
    return _n.logaddexp(a, _filled("logaddexp", _real(other, dtype), other_mask, float("-inf")))


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The vector norm of the elements that count."""
    input = _cast(input, dtype)
    filled = _filled("norm", input, mask, float("inf") if ord < 0 else 0)
    return _n.linalg.vector_norm(filled, ord, keepdim=keepdim, **_along(dim))


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """The input over the norm of the elements that count, which is at least eps."""
    input = _cast(input, dtype)
    size = norm(input, ord, dim, keepdim=True, mask=mask)
    return _filled("normalize", input, mask, 0) / _n.clamp(size, min=eps)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The variance of the elements that count, over their number less `correction` (1 unless unbiased=False)."""
    if unbiased is not None and correction is not None:
        raise _n.errors.ValueError("masked.var: expected unbiased or correction, got both")
    if correction is None:
        correction = 0 if unbiased is False else 1
    input = _real(input, dtype)
    count = _count(input, dim, True, mask)
    distance = _filled("var", input - sum(input, dim, keepdim=True, mask=mask) / count, mask, 0)
    square = (distance * distance.conj()).real if input.dtype.is_complex else distance * distance
    count = _count(input, dim, keepdim, mask)
    return (_n.sum(square, keepdim=keepdim, **_along(dim)) / _n.clamp(count - correction, min=0)).to(input.dtype)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The standard deviation of the elements that count."""
    return _n.sqrt(var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask))


def cumsum(input, dim, *, dtype=None, mask=None):
    """Running sums along a dimension, without the elements that do not count."""
    return _n.cumsum(_filled("cumsum", input, mask, 0), dim, dtype=dtype or input.dtype)


def cumprod(input, dim, *, dtype=None, mask=None):
    """Running products along a dimension, without the elements that do not count."""
    return _n.cumprod(_filled("cumprod", input, mask, 1), dim, dtype=dtype or input.dtype)


def softmax(input, dim, *, dtype=None, mask=None):
    """Softmax over the elements that count; the others get 0."""
    return _n.softmax(_filled("softmax", _real(input, dtype), mask, float("-inf")), dim)


def log_softmax(input, dim, *, dtype=None, mask=None):
    """The logarithm of softmax over the elements that count."""
    return _n.log_softmax(_filled("log_softmax", _real(input, dtype), mask, float("-inf")), dim)


def softmin(input, dim, *, dtype=None, mask=None):
    """Softmax of the negated elements that count."""
    return _n.softmax(-_filled("softmin", _real(input, dtype), mask, float("inf")), dim)
