"""The memory of tensors: bytes (UntypedStorage), and elements of a dtype, PyTorch's older form (TypedStorage).

>>> x = neura.arange(6.0).reshape(2, 3)
>>> len(x[1:].storage()), x[1:].storage()[0], x[1:].storage_offset()
(6, 0.0, 3)
"""

from . import _arguments, _neura, _words
from ._neura import Tensor, UntypedStorage, errors

__all__ = ["TypedStorage", "UntypedStorage", *_words.kinds("Storage")]


class TypedStorage:
    """The elements that a tensor and its views share, as one row: TypedStorage(3), TypedStorage([1, 2], dtype=...).

    Made by Tensor.storage(), it is the tensor's memory; made of a size or of numbers, it has memory of its own. Its
    classes of one dtype, such as FloatStorage, are used in the same way.
    """

    dtype = None

    def __init__(self, *args, dtype=None, device=None, wrap_storage=None):
        dtype = self.dtype or dtype or _neura.get_default_dtype()
        if wrap_storage is not None:
            self._flat = _over(wrap_storage, dtype)
        elif len(args) > 1:
            raise errors.ValueError(f"{type(self).__name__}: expected a size or a sequence, got {len(args)} arguments")
        elif not args or isinstance(args[0], int):
            self._flat = _neura.empty(*args or (0,), dtype=dtype, device=device)
        else:
            self._flat = _neura.tensor(list(args[0]), dtype=dtype, device=device)
        self.dtype = self._flat.dtype

    device = property(lambda self: self._flat.device, doc="Where the elements are.")
    is_cuda = property(lambda self: self._flat.is_cuda, doc="Are they on a CUDA device?")

    def __len__(self):
        return self._flat.numel()

    def __iter__(self):
        return iter(self.tolist())

    def __getitem__(self, index):
        part = self._flat[index]
        return _wrap(part) if isinstance(index, slice) else part.item()

    def __setitem__(self, index, value):
        self._flat[index] = value

    def __eq__(self, other):
        return isinstance(other, TypedStorage) and self.tolist() == other.tolist()

    __hash__ = object.__hash__

    def __repr__(self):
        rows = "\n".join(f" {value}" for value in self.tolist())
        name = type(self).__name__
        return f"{rows}\n[neura.storage.{name}(dtype={self.dtype}, device={self.device}) of size {len(self)}]"

    def size(self):
        """How many elements there are."""
        return len(self)

    def nbytes(self):
        """How many bytes they take."""
        return self._flat.nbytes

    def element_size(self):
        """How many bytes one takes."""
        return self._flat.element_size()

    def data_ptr(self):
        """The address of the first."""
        return self._flat.data_ptr()

    def untyped(self):
        """The bytes, as an UntypedStorage."""
        return self._flat.untyped_storage()

    def tolist(self):
        """A list of the elements."""
        return self._flat.tolist()

    def fill_(self, value):
        """Sets every element."""
        self._flat.fill_(value)
        return self

    def copy_(self, source, non_blocking=False):
        """Copies the elements of a storage of the same size."""
        if len(source) != len(self):
            raise errors.ShapeError(f"copy_: expected a storage of {len(self)} elements, got {len(source)}")
        self._flat.copy_(source._flat, non_blocking)
        return self

    def clone(self):
        """A copy."""
        return _wrap(self._flat.clone())

    def to(self, device):
        """A copy on a device."""
        return _wrap(self._flat.to(device, copy=True))

    def cpu(self):
        """It on the CPU."""
        return self if self._flat.is_cpu else self.to("cpu")

    def cuda(self, device=None):
        """It on a CUDA device."""
        return self.to("cuda" if device is None else device)

    def type(self, dtype=None):
        """The name of its kind, such as 'neura.FloatStorage', or a copy as another kind."""
        if dtype is None:
            return _wrap(self._flat)._name()
        return _wrap(self._flat.to(getattr(dtype, "dtype", dtype)))

    def _name(self):
        kind = next(name for name, d in _words.kinds("Storage").items() if getattr(_neura, d) is self.dtype)
        return f"neura.{'cuda.' if self.is_cuda else ''}{kind}"

    def is_shared(self):
        """True if in shared memory."""
        return self._flat.is_shared()


def _over(storage, dtype):
    size = _neura.empty(0, dtype=dtype).element_size()
    return _neura._rebuild_tensor(Tensor, storage, dtype, 0, (storage.nbytes() // size,), (1,), False)


def _wrap(flat):
    storage = TypedStorage.__new__(TypedStorage)
    storage._flat, storage.dtype = flat, flat.dtype
    return storage


def storage_of(tensor):
    """Tensor.storage: the elements that a tensor and its views share."""
    return _wrap(_over(tensor.untyped_storage(), tensor.dtype))


def set_tensor(tensor, source, offset, size, stride):
    """Tensor.set_: the tensor lies in the memory of `source` from now on."""
    flat, offset = _flat_of(tensor, source), _arguments.integer("set_", "storage_offset", offset)
    if isinstance(source, Tensor) and size is None and not offset:
        offset, size, stride = source.storage_offset(), source.shape, source.stride()
    size = (max(flat.numel() - offset, 0),) if size is None else _integers("size", size)
    stride = _dense(size) if stride is None else _integers("stride", stride)
    end = offset + (sum((n - 1) * s for n, s in zip(size, stride)) + 1 if 0 not in size else 0)
    if len(size) != len(stride) or offset < 0 or min(size + stride, default=0) < 0 or end > flat.numel():
        raise errors.ValueError(
            f"set_: expected sizes and strides within the storage's {flat.numel()} elements, got {list(size)} with "
            f"strides {list(stride)} at offset {offset}"
        )
    tensor.data = flat.as_strided(size, stride, offset)
    return tensor


def _integers(name, value):
    return tuple(_arguments.integer("set_", name, n) for n in _arguments.listed("set_", name, value))


def _dense(size):
    """The strides of a contiguous tensor."""
    steps = [1]
    for n in reversed(size[1:]):
        steps.append(steps[-1] * max(n, 1))
    return tuple(reversed(steps))[-len(size) :] if size else ()


def _flat_of(tensor, source):
    if tensor._is_view() or not tensor.is_leaf:
        raise errors.ValueError("set_: expected a tensor of its own, got a view or a result that is differentiated")
    if tensor.requires_grad and tensor.is_leaf and _neura.is_grad_enabled():
        raise errors.AutogradError("set_: expected a tensor that requires no gradient; call detach() first")
    if isinstance(source, TypedStorage):
        source = source._flat
    if source is None:
        source = _neura.empty(0, dtype=tensor.dtype, device=tensor.device)
    if isinstance(source, Tensor):
        if source.dtype != tensor.dtype:
            raise errors.DTypeError(f"set_: expected a source of dtype {tensor.dtype}, got {source.dtype}")
        source = source.untyped_storage()
    if not isinstance(source, UntypedStorage):
        raise errors.ArgumentError(f"set_: expected a tensor or a storage for source, got {type(source).__name__}")
    flat = _over(source, tensor.dtype)
    if flat.device != tensor.device:
        raise errors.DeviceError(f"set_: expected a source on {tensor.device}, got one on {flat.device}")
    return flat


class _Kind(type(TypedStorage)):
    def __instancecheck__(cls, x):
        return isinstance(x, TypedStorage) and x.dtype is cls.dtype


def _conversion(dtype):
    def convert(self):
        return self.type(dtype)

    convert.__doc__ = f"A copy as {dtype}."
    return convert


for _kind, _dtype in _words.kinds("Storage").items():
    _space = {"dtype": getattr(_neura, _dtype), "__module__": "neura", "__doc__": f"A TypedStorage of {_dtype}."}
    globals()[_kind] = _Kind(_kind, (TypedStorage,), _space)
for _word, _dtype in _words.DTYPES.items():
    if not _dtype.startswith("complex"):
        _convert = _conversion(getattr(_neura, _dtype))
        _convert.__name__, _convert.__qualname__ = _word.lower(), f"TypedStorage.{_word.lower()}"
        setattr(TypedStorage, _word.lower(), _convert)
