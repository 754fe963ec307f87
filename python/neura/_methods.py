"""Methods of Tensor that are made of others."""

from . import _neura
from ._formats import layout as _layout
from ._formats import sparse_bsc, sparse_bsr, sparse_coo, strided
from ._neura import Tensor, dtype, errors


def _mapped(self, op, others, callable):
    from . import _arguments

    _arguments.tensors(op, **others)
    _arguments.functions(op, callable=callable)
    if self.requires_grad:
        raise errors.AutogradError(f"{op}: expected a tensor that requires no gradient; call detach() first")
    if not self.is_cpu:
        raise errors.DeviceError(f"{op}: expected a tensor on the cpu, got one on {self.device}; move it with .cpu()")
    columns = [t.expand(self.shape).reshape(-1).tolist() for t in (self, *others.values())]
    made = [callable(*values) for values in zip(*columns)]
    return self.copy_(_neura.tensor(made, dtype=self.dtype).reshape(self.shape)) if made else self


class TensorMethods:
    """Of Tensor."""

    def apply_(self, callable):
        """Replaces each element by callable(element); on the cpu, slow. AutogradError where a gradient is required."""
        return _mapped(self, "apply_", {}, callable)

    def map_(self, tensor, callable):
        """Replaces each element by callable(element, that of tensor), which broadcasts; see apply_."""
        return _mapped(self, "map_", {"tensor": tensor}, callable)

    def map2_(self, x, y, callable):
        """Replaces each element by callable(element, that of x, that of y), which broadcast; see apply_."""
        return _mapped(self, "map2_", {"x": x, "y": y}, callable)

    def set_(self, source=None, storage_offset=0, size=None, stride=None):
        """Lays the tensor into the memory of `source`, a tensor or a storage, with these sizes; of none, it is empty.

        >>> x = neura.empty(0)
        >>> x.set_(neura.arange(4.0).untyped_storage(), 1, (3,))
        tensor([1., 2., 3.])
        """
        from .storage import set_tensor

        return set_tensor(self, source, storage_offset, size, stride)

    def to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
        """The tensor in a sparse layout, sparse_coo unless layout is given; of a dense one, what is not 0 is stored.

        >>> neura.eye(2).to_sparse().indices()
        tensor([[0, 1],
                [0, 1]])
        """
        if isinstance(sparse_dim, _layout):
            sparse_dim, layout = None, sparse_dim
        if layout is not None and not isinstance(layout, _layout):
            raise errors.ArgumentError(f"to_sparse: expected a layout or None for layout, got {type(layout).__name__}")
        if sparse_dim is not None and (layout is not None or dense_dim is not None):
            raise errors.ArgumentError("to_sparse: expected sparse_dim alone, got it with layout or dense_dim")
        blocks = layout in (sparse_bsr, sparse_bsc)
        if blocks != (blocksize is not None):
            expected = "a blocksize" if blocks else "no blocksize, which sparse_bsr and sparse_bsc take"
            raise errors.ValueError(f"to_sparse: expected {expected}, got {blocksize}")
        if layout is None or layout == sparse_coo:
            if dense_dim is not None:
                from . import _arguments

                sparse_dim = self.dim() - _arguments.integer("to_sparse", "dense_dim", dense_dim)
            return self._to_sparse(sparse_dim)
        if layout == strided:
            return self.to_dense()
        convert = getattr(self, f"to_{layout._name}")
        return convert(dense_dim=dense_dim) if blocksize is None else convert(blocksize, dense_dim=dense_dim)

    def to_sparse_coo(self):
        """to_sparse(): the tensor in the layout sparse_coo."""
        return self._to_sparse()

    def new(self, *args, device=None):
        """An uninitialised tensor of these sizes, or one of this data, of this tensor's dtype and device.

        torch keeps it for old programs: new_empty and new_tensor say which one is meant.
        """
        if len(args) == 1 and not isinstance(args[0], int):
            (data,) = args
            if isinstance(data, _neura.Size):
                return self.new_empty(data, device=device)
            if not isinstance(data, Tensor):
                return self.new_tensor(data, device=device)
            if data.dtype != self.dtype:
                raise errors.DTypeError(f"new: expected a tensor of dtype {self.dtype}, got {data.dtype}")
            return data.detach()
        return self.new_empty(args or (0,), device=device)

    def storage(self):
        """The elements that this tensor and its views share, as a neura.TypedStorage."""
        from .storage import storage_of

        return storage_of(self)

    def storage_type(self):
        """The class of storage()."""
        from .storage import TypedStorage

        return TypedStorage

    def has_names(self):
        """Always False: dimensions have no names."""
        return False

    def unsafe_split_with_sizes(self, split_sizes, dim=0):
        """split_with_sizes of this tensor."""
        return self.split_with_sizes(split_sizes, dim)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """func(*args, **kwargs), with the tensors of its result as objects of this class; see neura.overrides."""
        from .overrides import _default

        return _default(cls, func, types, args, kwargs)

    @classmethod
    def __init_subclass__(cls, **kwargs):
        super(Tensor, cls).__init_subclass__(**kwargs)
        if cls.__torch_function__ is not _neura._disabled_torch_function_impl:
            _neura._count_overriding(1)  # from now on calls look for objects of such classes

    @staticmethod
    def _make_subclass(cls, data, require_grad=False):
        """data without its history as an object of this class, which derives from Tensor."""
        if not isinstance(data, Tensor):
            raise errors.ArgumentError(f"_make_subclass: expected a tensor for data, got {type(data).__name__}")
        made = data.detach().as_subclass(cls)
        made.requires_grad = require_grad
        return made

    def __ipow__(self, exponent):
        return self.pow_(exponent)

    def __ilshift__(self, other):
        return self.bitwise_left_shift_(other)

    def __irshift__(self, other):
        return self.bitwise_right_shift_(other)


def _assigned(name):
    """The property with a setter: x.real = y writes y, a tensor or a number, into that part of x."""

    def write(self, value):
        if not (self.requires_grad and self.is_complex()):
            getattr(self, name)[...] = value
            return
        part = _neura.as_tensor(value, dtype=self.real.dtype, device=self.device).expand(self.shape)
        self.copy_(_neura.complex(part, self.imag) if name == "real" else _neura.complex(self.real, part))

    return getattr(Tensor, name).setter(write)


_COMPLEX = {
    _neura.float32: _neura.complex64,
    _neura.float64: _neura.complex128,
    _neura.bfloat16: _neura.complex64,  # of the same range
}
_REAL = {_neura.complex64: _neura.float32, _neura.complex128: _neura.float64}


class DtypeMethods:
    """Of dtype."""

    def to_real(self):
        """The dtype of the real part: float32 of complex64; a dtype that is not complex is its own."""
        return _REAL.get(self, self)

    def to_complex(self):
        """The complex dtype whose parts are of this one: complex64 of float32; a complex one is its own."""
        if not self.is_complex and self not in _COMPLEX:
            raise errors.DTypeError(f"to_complex: expected a dtype with a complex one, got {self}; use float32")
        return _COMPLEX.get(self, self)


class StorageMethods:
    """Of UntypedStorage."""

    def _bytes(self):
        return _neura._rebuild_tensor(Tensor, self, _neura.uint8, 0, (self.nbytes(),), (1,), False)

    device = property(lambda self: self._bytes().device, doc="Where the bytes are.")
    is_cuda = property(lambda self: self._bytes().is_cuda, doc="Are they on a CUDA device?")

    def element_size(self):
        """1."""
        return 1

    def tolist(self):
        """A list of the bytes."""
        return self._bytes().tolist()

    def __getitem__(self, index):
        part = self._bytes()[index]
        return part.clone().untyped_storage() if isinstance(index, slice) else part.item()

    def __setitem__(self, index, value):
        self._bytes()[index] = value

    def fill_(self, value):
        """Sets every byte."""
        self._bytes().fill_(value)
        return self

    def copy_(self, source, non_blocking=False):
        """Copies the bytes of a storage of the same size."""
        if not isinstance(source, _neura.UntypedStorage):
            raise errors.ArgumentError(f"copy_: expected a storage for source, got {type(source).__name__}")
        self._bytes().copy_(source._bytes(), non_blocking)
        return self

    def clone(self):
        """A copy."""
        return self._bytes().clone().untyped_storage()

    def cpu(self):
        """It on the CPU."""
        return self._bytes().cpu().untyped_storage()

    def cuda(self, device=None):
        """It on a CUDA device."""
        return self._bytes().to("cuda" if device is None else device).untyped_storage()


def _install():
    for target, source in ((_neura.UntypedStorage, StorageMethods), (Tensor, TensorMethods), (dtype, DtypeMethods)):
        for name, value in vars(source).items():
            if name not in ("__module__", "__dict__", "__weakref__", "__doc__", "__qualname__"):
                setattr(target, name, value)
    for name in ("real", "imag"):
        setattr(Tensor, name, _assigned(name))
    Tensor.grad = Tensor.grad.deleter(lambda self: setattr(self, "grad", None))  # del x.grad
    for name in "is_ipu is_maia is_mps is_mtia is_nested is_vulkan is_xla is_xpu".split():
        setattr(Tensor, name, property(lambda self: False, doc="Always False: there are no such tensors."))


_install()
