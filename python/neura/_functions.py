"""Small functions of torch's top level, made of others."""

import math

from . import _neura
from ._neura import Tensor, errors

for _name in (
    "addmv_ as_strided_ clamp_ clip_ detach detach_ fill_ get_device index_put_ is_conj is_inference is_neg is_signed "
    "is_distributed ldexp_ nan_to_num_ round_ square_ unsafe_split_with_sizes zero_"
).split():
    globals()[_name] = getattr(Tensor, _name)


def range(start=0, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """start, start + step, ... up to end, with end itself where it is met; of the default dtype unless one is given.

    One number alone is the end. torch has deprecated it: arange leaves the end out, as Python's range does.

    >>> neura.range(1, 4)
    tensor([1., 2., 3., 4.])
    """
    if end is None:
        start, end = 0, start
    if step == 0 or not math.isfinite(step):
        raise errors.ValueError(f"range: expected a finite step other than 0, got {step}")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise errors.ValueError(f"range: expected finite bounds, got {start} and {end}")
    if (end - start) * step < 0:
        raise errors.ValueError(f"range: expected a step from {start} towards {end}, got {step}")
    if dtype is None:
        dtype = out.dtype if out is not None else _neura.get_default_dtype()
    count = int(math.floor((end - start) / step)) + 1
    whole = not (dtype.is_floating_point or dtype.is_complex)
    made = _neura.arange(count, dtype=_neura.int64 if whole else _neura.float64, device=device)
    made = (made * step + start).to(dtype)
    if out is None:
        return made.requires_grad_(requires_grad)
    return _neura.add(made, 0, out=out)


def select_copy(input, dim, index):
    """A copy of input.select(dim, index)."""
    return input.select(dim, index).clone()


def slice_copy(input, dim=0, start=None, end=None, step=1):
    """A copy of the elements from start to end along dim, each step-th."""
    n = input.size(dim)
    if step <= 0:
        raise errors.ValueError(f"slice_copy: expected a positive step, got {step}")
    first, last, _ = slice(start, end).indices(n)
    return input.narrow(dim, min(first, n), max(last - first, 0))[
        (slice(None),) * (dim % input.dim()) + (slice(None, None, step),)
    ].clone()


def split_copy(tensor, split_size, dim=0):
    """Copies of what split gives."""
    return tuple(part.clone() for part in tensor.split(split_size, dim))


def view_as_complex_copy(input):
    """A copy of a real tensor [..., 2] as a complex one [...]."""
    return input.view_as_complex().clone()


def view_as_real_copy(input):
    """A copy of a complex tensor [...] as a real one [..., 2]."""
    return input.view_as_real().clone()


def detach_copy(input):
    """A copy of input without its history."""
    return input.detach().clone()


def is_storage(obj):
    """Is this object the memory of a tensor, a neura.UntypedStorage?"""
    return isinstance(obj, _neura.UntypedStorage)


def typename(obj):
    """The name of an object's type; of a tensor, what type() says of it.

    >>> neura.typename(neura.ones(2))
    'neura.FloatTensor'
    """
    if isinstance(obj, Tensor):
        return obj.type()
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", None) or ""
    return named.__qualname__ if module in ("", "builtins", "__builtin__") else f"{module}.{named.__qualname__}"


def compiled_with_cxx11_abi():
    """Is the library built with the C++11 ABI of libstdc++? Always."""
    return True


def is_deterministic_algorithms_warn_only_enabled():
    """Would use_deterministic_algorithms only warn? Never: no operation lacks a deterministic way."""
    return False


def get_deterministic_debug_mode():
    """2 where operations have to give the same bits each time, else 0; see use_deterministic_algorithms."""
    return 2 if _neura.are_deterministic_algorithms_enabled() else 0


def set_deterministic_debug_mode(debug_mode):
    """use_deterministic_algorithms by torch's other words: 0 or 'default', 1 or 'warn', 2 or 'error'."""
    known = {0: False, "default": False, 1: True, "warn": True, 2: True, "error": True}
    if isinstance(debug_mode, bool) or debug_mode not in known:
        raise errors.ValueError(
            f"set_deterministic_debug_mode: expected 0 to 2, 'default', 'warn' or 'error', got {debug_mode!r}"
        )
    _neura.use_deterministic_algorithms(known[debug_mode])
