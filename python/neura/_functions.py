"""Small functions of torch's top level, made of others."""

import math

from . import _arguments, _neura
from ._neura import Tensor, errors


def __getattr__(name):
    """What neura's list of names says to be here, and is not, is a method: clamp_(x, 0)."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(Tensor, name)


@_arguments.named
def range(start=0, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """start, start + step, ... up to end, with end itself where it is met; of the default dtype unless one is given.

    One number alone is the end. torch has deprecated it: arange leaves the end out, as Python's range does.

    >>> neura.range(1, 4)
    tensor([1., 2., 3., 4.])
    """
    if end is None:
        start, end = 0, start
    _arguments.numbers("range", start=start, end=end, step=step)
    _arguments.dtype("range", dtype)
    if out is not None:
        _arguments.tensors("range", out=out)
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


@_arguments.named
def select_copy(input, dim, index):
    """A copy of input.select(dim, index)."""
    _arguments.tensors("select_copy", input=input)
    return input.select(dim, index).clone()


@_arguments.named
def slice_copy(input, dim=0, start=None, end=None, step=1):
    """A copy of the elements from start to end along dim, each step-th."""
    _arguments.tensors("slice_copy", input=input)
    n = input.size(_arguments.integer("slice_copy", "dim", dim))
    start, end = (v if v is None else _arguments.integer("slice_copy", "start and end", v) for v in (start, end))
    step = _arguments.integer("slice_copy", "step", step)
    if step <= 0:
        raise errors.ValueError(f"slice_copy: expected a positive step, got {step}")
    first, last, _ = slice(start, end).indices(n)
    return input.narrow(dim, min(first, n), max(last - first, 0))[
        (slice(None),) * (dim % input.dim()) + (slice(None, None, step),)
    ].clone()


@_arguments.named
def split_copy(tensor, split_size, dim=0):
    """Copies of what split gives."""
    _arguments.tensors("split_copy", tensor=tensor)
    return tuple(part.clone() for part in tensor.split(split_size, dim))


@_arguments.named
def view_as_complex_copy(input):
    """A copy of a real tensor [..., 2] as a complex one [...]."""
    _arguments.tensors("view_as_complex_copy", input=input)
    return input.view_as_complex().clone()


@_arguments.named
def view_as_real_copy(input):
    """A copy of a complex tensor [...] as a real one [..., 2]."""
    _arguments.tensors("view_as_real_copy", input=input)
    return input.view_as_real().clone()


@_arguments.named
def detach_copy(input):
    """A copy of input, detached from the autograd graph."""
    _arguments.tensors("detach_copy", input=input)
    return input.detach().clone()


def is_storage(obj):
    """True for a storage: a neura.UntypedStorage or a neura.TypedStorage."""
    from .storage import TypedStorage

    return isinstance(obj, (_neura.UntypedStorage, TypedStorage))


@_arguments.named
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
    """True if built with the C++11 ABI of libstdc++: always."""
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
    if not isinstance(debug_mode, (int, str)) or isinstance(debug_mode, bool) or debug_mode not in known:
        raise errors.ValueError(
            f"set_deterministic_debug_mode: expected 0 to 2, 'default', 'warn' or 'error', got {debug_mode!r}"
        )
    _neura.use_deterministic_algorithms(known[debug_mode])


def set_default_tensor_type(t):
    """set_default_dtype by a name of old: 'torch.FloatTensor', neura.DoubleTensor. ValueError for one of CUDA."""
    from ._legacy import _wanted

    dtype, device = _wanted(t)
    if device == "cuda":
        raise errors.ValueError(f"set_default_tensor_type: expected a type of the CPU, got {t}; use set_default_device")
    _neura.set_default_dtype(dtype)


def get_num_interop_threads():
    """How many operations run at a time: 1, each of which uses get_num_threads threads."""
    return 1


def set_num_interop_threads(num):
    """Accepts any count, and changes nothing: operations run one at a time. ValueError for less than 1."""
    if _arguments.integer("set_num_interop_threads", "num", num) < 1:
        raise errors.ValueError(f"set_num_interop_threads: expected at least 1, got {num}")


def set_flush_denormal(mode):
    """False: Neura does not set the processor's mode, so that denormal numbers stay what they are."""
    return False


def get_device_module(device=None):
    """neura.cpu, neura.cuda or another module of a device's functions; by default that of the device there is."""
    import neura

    kind = neura.accelerator.current_accelerator() or "cpu" if device is None else device
    kind = kind.type if isinstance(kind, _neura.device) else str(kind).split(":")[0]
    if kind not in ("cpu", "cuda", "mps", "xpu"):
        raise errors.ValueError(f"get_device_module: expected a kind of device, got {kind!r}")
    return getattr(neura, kind)


def cond(pred, true_fn, false_fn, operands=()):
    """true_fn(*operands) if pred (a bool, a number or a tensor of one element) is true, else false_fn(*operands).

    >>> neura.cond(neura.tensor(True), lambda x: x + 1, lambda x: x - 1, (neura.ones(2),))
    tensor([2., 2.])
    """
    _arguments.functions("cond", true_fn=true_fn, false_fn=false_fn)
    operands = _arguments.listed("cond", "operands", operands)
    return true_fn(*operands) if pred else false_fn(*operands)


def while_loop(cond_fn, body_fn, carried_inputs):
    """Applies body_fn, which returns as many tensors as it gets, to carried_inputs while cond_fn of them is true.

    >>> neura.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (neura.tensor(0), neura.ones(1)))
    (tensor(3), tensor([8.]))
    """
    _arguments.functions("while_loop", cond_fn=cond_fn, body_fn=body_fn)
    values = _arguments.listed("while_loop", "carried_inputs", carried_inputs)
    while cond_fn(*values):
        new = body_fn(*values)
        new = tuple(new) if isinstance(new, (tuple, list)) else (new,)
        if len(new) != len(values):
            raise errors.ValueError(f"while_loop: expected body_fn to return {len(values)} values, got {len(new)}")
        values = new
    return values


sym_int, sym_float, sym_sum, sym_sqrt = int, float, sum, math.sqrt


def sym_max(a, b):
    """The greater of two numbers; PyTorch's name for sizes that it does not know yet."""
    _arguments.numbers("sym_max", a=a, b=b)
    return max(a, b)


def sym_min(a, b):
    """The smaller of two numbers; PyTorch's name for sizes that it does not know yet."""
    _arguments.numbers("sym_min", a=a, b=b)
    return min(a, b)


@_arguments.named
def sym_not(a):
    """not a, of a number; PyTorch's name for sizes that it does not know yet."""
    return not a


@_arguments.named
def sym_ite(b, t, f):
    """t if b else f, of numbers."""
    return t if b else f


def _assert(condition, message):
    """AssertionError with this message unless the condition holds."""
    assert condition, message


def _check(cond, message=None):
    """RuntimeError with what message() gives unless cond, a bool, is true."""
    if not isinstance(cond, bool):
        raise TypeError(f"_check: expected cond to be a bool, got {type(cond).__name__}")
    if not cond:
        raise RuntimeError("_check: expected a condition to hold" if message is None else str(message()))


@_arguments.named
def from_file(filename, shared=None, size=0, *, dtype=None, device=None, requires_grad=False):
    """A tensor [size] that is memory-mapped from a file, which must be large enough.

    shared: writing to the tensor writes to the file, which is made or made longer where needed; else it does not.
    ValueError for a size below 0 or, unless shared, a file that is too short; OSError where it cannot be opened.
    """
    import mmap
    import os

    _arguments.dtype("from_file", dtype)
    size = _arguments.integer("from_file", "size", size)
    if not isinstance(filename, (str, bytes)) and not hasattr(filename, "__fspath__"):
        raise errors.ArgumentError(f"from_file: expected a path for filename, got {type(filename).__name__}")
    dtype = _neura.get_default_dtype() if dtype is None else dtype
    count = size * _neura.empty(0, dtype=dtype).element_size()
    if size < 0:
        raise errors.ValueError(f"from_file: expected a size of 0 or more, got {size}")
    if not count:
        return _neura.empty(0, dtype=dtype, device=device)
    flags = os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY
    handle = os.open(filename, flags, 0o666)
    try:
        there = os.fstat(handle).st_size
        if there < count and not shared:
            raise errors.ValueError(f"from_file: expected a file of at least {count} bytes, got {there}")
        if there < count:
            os.ftruncate(handle, count)
        pages = mmap.mmap(handle, count, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY)
    finally:
        os.close(handle)
    made = _neura.frombuffer(pages, dtype=dtype, count=size)
    return (made if device is None else made.to(device)).requires_grad_(requires_grad)
