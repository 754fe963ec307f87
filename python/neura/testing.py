"""For tests: comparing tensors, numbers, and lists and dictionaries of them."""

from collections.abc import Mapping, Sequence

from . import _neura
from ._neura import Tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

_TOLERANCES = {  # relative and absolute, of what rounding leaves
    _neura.float16: (1e-3, 1e-5),
    _neura.bfloat16: (1.6e-2, 1e-5),
    _neura.float32: (1.3e-6, 1e-5),
    _neura.complex64: (1.3e-6, 1e-5),
    _neura.float64: (1e-7, 1e-7),
    _neura.complex128: (1e-7, 1e-7),
}


def _tolerances(a, b, rtol, atol):
    if (rtol is None) != (atol is None):
        raise ValueError("assert_close: expected both rtol and atol or neither, got one of them")
    if rtol is not None:
        return rtol, atol
    each = [_TOLERANCES.get(t.dtype, (0.0, 0.0)) for t in (a, b)]
    return max(r for r, _ in each), max(a for _, a in each)


class _Difference(Exception):
    """What differs, and where."""


def _place(index):
    return f"index {tuple(index)}" if len(index) != 1 else f"index {index[0]}"


def _describe(a, b, close, rtol, atol):
    wrong = close.logical_not()
    count, total = int(wrong.sum()), wrong.numel()
    if wrong.dim() == 0:
        return f"expected {b.item()}, got {a.item()} (allowed: relative {rtol}, absolute {atol})"
    wide = _neura.complex128 if a.is_complex() else _neura.float64
    difference = (a.to(wide) - b.to(wide)).abs().nan_to_num(float("inf"), float("inf"))
    difference = _neura.where(wrong, difference, _neura.zeros((), dtype=_neura.float64, device=difference.device))
    at = [int(i) for i in _neura.unravel_index(difference.flatten().argmax(), tuple(wrong.shape))]
    worst = tuple(at)
    return (
        f"expected close tensors, got {count} of {total} elements that differ; most at {_place(at)}: "
        f"{a[worst].item()} where {b[worst].item()} was expected (allowed: relative {rtol}, absolute {atol})"
    )


def _compare_tensors(a, b, rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride):
    if a.shape != b.shape:
        raise _Difference(f"expected shape {list(b.shape)}, got {list(a.shape)}")
    if check_device and a.device != b.device:
        raise _Difference(f"expected device {b.device}, got {a.device}")
    if check_dtype and a.dtype != b.dtype:
        raise _Difference(f"expected dtype {b.dtype}, got {a.dtype}")
    if check_stride and a.stride() != b.stride():
        raise _Difference(f"expected strides {b.stride()}, got {a.stride()}")
    if check_layout and a.layout != b.layout:
        raise _Difference(f"expected layout {b.layout}, got {a.layout}")
    rtol, atol = _tolerances(a, b, rtol, atol)
    a, b = a.detach().to_dense(), b.detach().to_dense()
    if a.device != b.device:
        a, b = a.cpu(), b.cpu()
    if a.dtype != b.dtype:
        common = _neura.promote_types(a.dtype, b.dtype)
        a, b = a.to(common), b.to(common)
    if a.dtype is _neura.uint64:  # which has no comparisons; the same bits
        a, b = a.to(_neura.int64), b.to(_neura.int64)
    inexact = a.is_floating_point() or a.is_complex()
    close = _neura.isclose(a, b, rtol, atol, equal_nan) if inexact or rtol or atol else a == b
    if not bool(close.all()):
        raise _Difference(_describe(a, b, close, rtol, atol))


def _as_tensor(x):
    """Numbers, arrays and tensors as tensors; None for anything else."""
    if isinstance(x, Tensor):
        return x
    if isinstance(x, bool):
        return _neura.tensor(x)
    if isinstance(x, int):
        return _neura.tensor(x, dtype=_neura.int64)
    if isinstance(x, float):
        return _neura.tensor(x, dtype=_neura.float64)
    if isinstance(x, complex):
        return _neura.tensor(x, dtype=_neura.complex128)
    if hasattr(x, "__array__"):
        return _neura.as_tensor(x)
    return None


def _compare(actual, expected, where, options, allow_subclasses):
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    try:
        if isinstance(actual, Mapping) and isinstance(expected, Mapping):
            if actual.keys() != expected.keys():
                raise _Difference(f"expected the keys {sorted(expected, key=str)}, got {sorted(actual, key=str)}")
            for key in expected:
                _compare(actual[key], expected[key], f"{where}[{key!r}]", options, allow_subclasses)
            return
        plain = not isinstance(actual, (str, bytes, Tensor)) and not hasattr(actual, "__array__")
        if isinstance(actual, Sequence) and isinstance(expected, Sequence) and plain:
            if len(actual) != len(expected):
                raise _Difference(f"expected {len(expected)} items, got {len(actual)}")
            for i, (a, b) in enumerate(zip(actual, expected)):
                _compare(a, b, f"{where}[{i}]", options, allow_subclasses)
            return
        a, b = _as_tensor(actual), _as_tensor(expected)
        if a is None or b is None:
            if actual is None and expected is None:
                return
            raise TypeError(
                "assert_close: expected tensors, numbers, arrays, or lists and dictionaries of them, got "
                f"{type(actual).__name__} and {type(expected).__name__}"
            )
        both = all(isinstance(x, (int, float, complex)) for x in (actual, expected))
        related = related or (both and not options["check_dtype"])
        if not related if allow_subclasses else type(actual) is not type(expected):
            raise _Difference(f"expected {type(expected).__name__}, got {type(actual).__name__}")
        _compare_tensors(a, b, **options)
    except _Difference as difference:
        raise AssertionError(f"assert_close{where and ': at ' + where}: {difference}") from None


def assert_close(
    actual,
    expected,
    *,
    allow_subclasses=True,
    rtol=None,
    atol=None,
    equal_nan=False,
    check_device=True,
    check_dtype=True,
    check_layout=True,
    check_stride=False,
    msg=None,
):
    """AssertionError unless |actual - expected| <= atol + rtol |expected| everywhere, and shape, dtype, device agree.

    Tensors, numbers, arrays, and lists and dictionaries of them. Both tolerances or neither: by default they are those
    of the wider dtype, 1.3e-6 and 1e-5 for float32, 1e-7 for float64, exactly equal for integers. `msg`: a text in the
    place of the message, or a function of it.

    >>> import neura
    >>> neura.testing.assert_close(neura.ones(2) / 3 * 3, neura.ones(2))
    """
    options = dict(rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=check_device, check_dtype=check_dtype)
    options.update(check_layout=check_layout, check_stride=check_stride)
    try:
        _compare(actual, expected, "", options, allow_subclasses)
    except AssertionError as error:
        if msg is None:
            raise
        raise AssertionError(msg(str(error)) if callable(msg) else msg) from None


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """assert_close of values alone, PyTorch's older form: actual and expected may be anything that makes a tensor."""
    a = actual if isinstance(actual, Tensor) else _neura.tensor(actual)
    b = expected if isinstance(expected, Tensor) else _neura.tensor(expected, dtype=a.dtype)
    options = dict(rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True, check_dtype=False, check_stride=False)
    assert_close(a, b, msg=msg or None, **options)


def _limits_of(dtype, low, high):
    """The range of values: by default -9 to 9 of numbers, 0 to 9 of uint8, both truths of bool."""
    if dtype is _neura.bool:
        return 0, 2
    lowest = 0 if dtype is _neura.uint8 else -9
    low, high = lowest if low is None else low, (10 if dtype is _neura.uint8 else 9) if high is None else high
    if not low <= high:
        raise ValueError(f"make_tensor: expected low to be at most high, got {low} and {high}")
    return low, high


def make_tensor(
    *shape,
    dtype,
    device="cpu",
    low=None,
    high=None,
    requires_grad=False,
    noncontiguous=False,
    exclude_zero=False,
    memory_format=None,
):
    """A tensor of random values from low to high (left out): by default -9 to 9, of uint8 0 to 10.

    shape: sizes, or one tuple of them. noncontiguous: with gaps between the elements. exclude_zero: not 0, but the
    smallest positive number that differs. ValueError for low above high, or both of noncontiguous and memory_format.

    >>> neura.testing.make_tensor(2, 3, dtype=neura.int64, low=0, high=5).shape
    neura.Size([2, 3])
    """
    if noncontiguous and memory_format is not None:
        raise ValueError("make_tensor: expected noncontiguous or memory_format, got both")
    sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    low, high = _limits_of(dtype, low, high)
    drawn = (*sizes[:-1], sizes[-1] * 2) if noncontiguous and sizes else sizes
    if dtype.is_floating_point or dtype.is_complex:
        made = _neura.rand(drawn, dtype=dtype, device=device)
        made = made * (high - low) + (complex(low, low) if dtype.is_complex else low)
    else:
        made = _neura.randint(int(low), max(int(high), int(low) + 1), drawn, device=device).to(dtype)
    if exclude_zero:
        from ._limits import finfo

        real = dtype.is_floating_point or dtype.is_complex
        made = _neura.where(made == 0, finfo(dtype).tiny if real else 1, made).to(dtype)
    if noncontiguous and sizes:
        made = made[..., ::2]
    if memory_format is not None:
        made = made.clone(memory_format=memory_format)
    return made.requires_grad_(requires_grad)
