"""Arrays, scalars and dtypes of NumPy in a file of torch.save. None of them may hold objects."""

from ._neura import errors


def demand(ok, what):
    """FormatError: expected `what`."""
    if not ok:
        raise errors.FormatError(f"expected {what}")


def integers(values):
    """Is it a tuple of numbers of 64 bits?"""
    return isinstance(values, tuple) and all(type(v) is int and -(2**63) <= v < 2**63 for v in values)


def _numpy():
    try:
        import numpy
    except ImportError:
        raise errors.FormatError("expected NumPy for the arrays in this file, got none; install it") from None
    return numpy


def dtype(text, align=False, copy=True):
    """A dtype of numbers, bool or text, whose byte order `set_dtype` gives."""
    np = _numpy()
    demand(isinstance(text, str) and len(text) < 20, "the name of a dtype of NumPy")
    try:
        made = np.dtype(text)
    except TypeError:
        raise errors.FormatError(f"expected a dtype of NumPy, got {text!r}") from None
    demand(made.kind in "biufcSU", f"a dtype of numbers, bool or text, got {text!r}")
    return Dtype(made)


class Dtype:
    """A dtype that may still be given its byte order."""

    def __init__(self, made):
        self.made = made

    def set(self, state):
        """state: (version, byte order, no parts, no names, no fields, size, alignment, flags)."""
        plain = (
            isinstance(state, tuple) and len(state) in (8, 9) and not any(state[2:5]) and state[1] in ("<", ">", "|")
        )
        demand(plain, "the byte order of a dtype")
        self.made = self.made.newbyteorder(state[1]) if state[1] != "|" else self.made


def array(kind, shape, code):
    """What `set_array` makes an array of."""
    return _numpy().empty(0, "u1")


def set_array(target, state):
    """state: (version, shape, dtype, columns first, bytes)."""
    demand(isinstance(state, tuple) and len(state) == 5 and isinstance(state[2], Dtype), "an array of NumPy")
    _, shape, kind, by_columns, data = state
    demand(integers(shape) and all(d >= 0 for d in shape) and len(shape) <= 32, "the sizes of an array")
    demand(isinstance(data, (bytes, bytearray)) and isinstance(by_columns, bool), "the bytes of an array")
    size = kind.made.itemsize
    for d in shape:
        size *= d
    demand(size == len(data), f"{size} bytes of an array, got {len(data)}")
    target.__setstate__((1, shape, kind.made, by_columns, bytes(data)))


def scalar(kind, data):
    """A number of NumPy."""
    demand(isinstance(kind, Dtype) and isinstance(data, (bytes, bytearray)), "the bytes of a number of NumPy")
    demand(len(data) == kind.made.itemsize > 0, f"{kind.made.itemsize} bytes of a number, got {len(data)}")
    return _numpy().frombuffer(bytes(data), kind.made)[0]


CALLS = {"numpy.dtype": dtype}
for _module in ("numpy.core.multiarray", "numpy._core.multiarray"):
    CALLS[f"{_module}._reconstruct"] = array
    CALLS[f"{_module}.scalar"] = scalar
