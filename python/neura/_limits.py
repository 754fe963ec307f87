"""The limits of dtypes, under the names of torch.finfo and torch.iinfo."""

from . import _neura

_FLOATS = {  # bits, bits of the fraction, greatest and least normal exponent, greatest
    "float16": (16, 10, -14, 65504.0),
    "bfloat16": (16, 7, -126, (2 - 2**-7) * 2.0**127),
    "float32": (32, 23, -126, (2 - 2**-23) * 2.0**127),
    "float64": (64, 52, -1022, (2 - 2**-52) * 2.0**1023),
    "float8_e4m3fn": (8, 3, -6, 448.0),
    "float8_e5m2": (8, 2, -14, 57344.0),
}


def _name(dtype):
    return repr(dtype).split(".")[-1]


class _Limits:
    __slots__ = ()

    def __repr__(self):
        parts = (f"{n}={v:g}" if isinstance(v, float) else f"{n}={v}" for n, v in self._parts())
        return f"{type(self).__name__}({', '.join(parts)})"

    def __eq__(self, other):
        return type(self) is type(other) and self._parts() == other._parts()

    def __hash__(self):
        return hash(self.dtype)

    def _parts(self):
        return [(n, getattr(self, n)) for n in self._shown]


class finfo(_Limits):
    """Limits of a floating dtype, or of the parts of a complex one: bits, eps, max, min, tiny, resolution."""

    __slots__ = ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype")
    _shown = ("resolution", "min", "max", "eps", "smallest_normal", "tiny", "dtype")

    def __init__(self, dtype=None):
        dtype = _neura.get_default_dtype() if dtype is None else dtype
        name = {"complex64": "float32", "complex128": "float64"}.get(_name(dtype), _name(dtype))
        if not isinstance(dtype, _neura.dtype) or name not in _FLOATS:
            raise TypeError(f"finfo: expected a floating or complex dtype, got {dtype}; use iinfo for integers")
        self.bits, fraction, exponent, self.max = _FLOATS[name]
        self.eps, self.min, self.dtype = 2.0**-fraction, -self.max, name
        self.tiny = self.smallest_normal = 2.0**exponent
        self.resolution = 10.0 ** -int(fraction * 0.30103)


class iinfo(_Limits):
    """Limits of an integer dtype: bits, max, min."""

    __slots__ = ("bits", "max", "min", "dtype")
    _shown = ("min", "max", "dtype")

    def __init__(self, dtype):
        if not isinstance(dtype, _neura.dtype) or dtype.is_complex or dtype is _neura.bool or _name(dtype) in _FLOATS:
            raise TypeError(f"iinfo: expected an integer dtype, got {dtype}; use finfo for floating numbers")
        self.bits, self.dtype = 8 * dtype.itemsize, _name(dtype)
        self.max = 2 ** (self.bits - dtype.is_signed) - 1
        self.min = -self.max - 1 if dtype.is_signed else 0
