"""Legacy names of PyTorch: LongTensor(2, 3) and the other tensor types, Tensor.type(), tensors in shared memory."""

from . import _neura, _words
from ._neura import Tensor, errors

_DTYPES = _words.kinds("Tensor")
_NAMES = {getattr(_neura, dtype): name for name, dtype in _DTYPES.items()}


class _Kind(type):
    """The class of these classes: isinstance(x, LongTensor) asks for dtype and kind of device."""

    def __instancecheck__(cls, x):
        return isinstance(x, Tensor) and x.dtype is cls.dtype and x.device.type == cls._device

    def __call__(cls, *args, device=None):
        place = _neura.device(cls._device if device is None else device)
        if place.type != cls._device:
            raise errors.DeviceError(f"{cls.__name__}: expected a {cls._device} device, got {place}")
        if len(args) == 1 and isinstance(args[0], Tensor):
            return args[0].detach().to(place, cls.dtype)
        if len(args) == 1 and not _is_size(args[0]):
            return _neura.tensor(args[0], dtype=cls.dtype, device=place)
        sizes = args[0] if len(args) == 1 and hasattr(args[0], "__len__") else args or (0,)
        return _neura.empty(tuple(sizes), dtype=cls.dtype, device=place)


class _SparseKind(_Kind):
    """The class of sparse.FloatTensor and its like."""

    def __instancecheck__(cls, x):
        return super().__instancecheck__(x) and x.is_sparse

    def __call__(cls, *args, device=None):
        from .sparse import sparse_coo_tensor

        place = _neura.device(cls._device if device is None else device)
        if len(args) > 1 and isinstance(args[0], Tensor):
            return sparse_coo_tensor(*args, dtype=cls.dtype, device=place)
        sizes = tuple(args[0]) if len(args) == 1 and hasattr(args[0], "__len__") else args or (0,)
        none = _neura.empty((len(sizes), 0), dtype=_neura.int64)
        return sparse_coo_tensor(none, _neura.empty(0), sizes, dtype=cls.dtype, device=place)


def _is_size(x):
    """Does it stand for sizes, and not for data?"""
    return isinstance(x, _neura.Size) or (hasattr(x, "__index__") and not hasattr(x, "__len__"))


def _make(name, device):
    text = (
        f"A tensor of {_DTYPES[name]} on the {device}, of sizes (not filled) or of data: {name}(2, 3), {name}([1, 2])."
    )
    space = {"dtype": getattr(_neura, _DTYPES[name]), "_device": device, "__doc__": text}
    return _Kind(name, (), {**space, "__module__": "neura" if device == "cpu" else "neura.cuda"})


def _make_sparse(name):
    text = f"A sparse tensor of {_DTYPES[name]}: {name}(indices, values, size), or of sizes, without elements."
    space = {"dtype": getattr(_neura, _DTYPES[name]), "_device": "cpu", "__doc__": text}
    return _SparseKind(name, (), {**space, "__module__": "neura.sparse"})


for _name in _DTYPES:
    globals()[_name] = _make(_name, "cpu")
sparse_types = {name: _make_sparse(name) for name in _DTYPES}
cuda_types = {name: _make(name, "cuda") for name in _DTYPES}


def _wanted(dtype):
    """The dtype and the kind of device (None: as it is) that a dtype, a legacy class or a name of one means."""
    if isinstance(dtype, _neura.dtype):
        return dtype, None
    if isinstance(dtype, _Kind):
        return dtype.dtype, dtype._device
    if isinstance(dtype, str):
        path = dtype.split(".")
        if path[-1] in _DTYPES and path[0] in ("torch", "neura") and path[1:-1] in ([], ["cuda"]):
            return getattr(_neura, _DTYPES[path[-1]]), "cuda" if path[1:-1] else "cpu"
    raise errors.ArgumentError(f"type: expected a dtype or a name such as 'neura.FloatTensor', got {dtype!r}")


def type_of(tensor, dtype=None, non_blocking=False):
    """Tensor.type: the name of the kind of tensor, such as 'neura.FloatTensor', or the tensor as another kind."""
    if dtype is None:
        name = _NAMES.get(tensor.dtype)
        if name is None:
            raise errors.DTypeError(f"type: expected a dtype that has a name of old, got {tensor.dtype}; use .dtype")
        kind = "sparse." if tensor.is_sparse else ""
        return f"neura.{'' if tensor.device.type == 'cpu' else tensor.device.type + '.'}{kind}{name}"
    dtype, device = _wanted(dtype)
    place = tensor.device if device in (None, tensor.device.type) else _neura.device(device)
    return tensor.to(place, dtype, non_blocking=non_blocking)


def share_memory(tensor):
    """Tensor.share_memory_: moves the tensor to memory shared with processes forked from now on."""
    if is_shared(tensor) or not tensor.numel():
        return tensor
    if tensor.device.type != "cpu":
        raise errors.DeviceError(f"share_memory_: expected a tensor on the cpu, got one on {tensor.device}; use .cpu()")
    if tensor._base is not None or not tensor.is_leaf:
        raise errors.AutogradError("share_memory_: expected a tensor of its own, got a view or a result; clone() it")
    block = _neura._data.Block.create(-(-tensor.numel() * tensor.element_size() // 4096) * 4096)
    shared = block.tensor(0, tensor.dtype, tuple(tensor.shape))
    shared.copy_(tensor.detach())
    _neura.nn._set_data(tensor, shared)
    tensor._in_shared_memory = True
    return tensor


def is_shared(tensor):
    """Tensor.is_shared: True if in shared memory. CUDA memory always counts as shared."""
    owner = tensor if tensor._base is None else tensor._base
    return tensor.device.type == "cuda" or getattr(owner, "_in_shared_memory", False)
