"""What a file of torch.save may call, by name, and what is called instead: tensors, parameters and plain containers."""

import argparse
import collections
import re

from . import _formats, _neura, _torch_numpy, _words
from ._neura import errors
from ._torch_numpy import demand, integers


class Storage:
    """Bytes of the file, read when a tensor first needs them."""

    def __init__(self, archive, key, dtype, location):
        self.archive, self.key, self.dtype, self.location = archive, key, dtype, location
        self._bytes, self._bools_checked = None, False

    def part(self, first):
        """The storage that begins at this element of it."""
        made = Storage(self.archive, self.key, self.dtype, self.location)
        made.tensor = lambda dtype, offset, size, stride: self.tensor(dtype, offset + first, size, stride)
        return made

    def tensor(self, dtype, offset, size, stride):
        if self._bytes is None:
            self._bytes = self.archive.storage(self.key, self.location)
        if dtype is _neura.bool and not self._bools_checked:
            if not _neura._io.all_bools(self._bytes):
                self.archive.fail(f"expected 0 or 1 for the bools of storage {self.key}, got another byte")
            self._bools_checked = True
        return _neura._io.strided(self._bytes, dtype, offset, size, stride)


def _storage_dtypes():
    """PyTorch's classes of storages, and their dtypes."""
    names = _words.kinds("Storage")
    names.update((f"{dtype.capitalize()}Storage", dtype) for dtype in ("float8_e4m3fn", "float8_e5m2"))
    return {f"torch.{name}": getattr(_neura, dtype) for name, dtype in names.items()}


STORAGES = _storage_dtypes()


def _tensor(storage, offset, size, stride, requires_grad=False, hooks=None, metadata=None, dtype=None):
    demand(isinstance(storage, Storage) and integers((offset,)), "a storage and an offset")
    demand(integers(size) and integers(stride), "a size and strides, both tuples of integers")
    demand(not hooks, "tensors without hooks; save them after removing the hooks")
    demand(metadata is None or isinstance(metadata, dict), "metadata of a tensor")
    dtype = dtype or storage.dtype
    demand(dtype is not None, "a dtype for the tensor")
    tensor = storage.tensor(dtype, offset, list(size), list(stride))
    for name, on in (metadata or {}).items():
        demand(name in ("conj", "neg"), f"no metadata of tensors but conj and neg, got {name!r}")
        if on:
            tensor = tensor.conj().resolve_conj() if name == "conj" else -tensor
    return tensor.requires_grad_() if requires_grad is True else tensor


def _tensor_v3(storage, offset, size, stride, requires_grad, hooks, dtype, metadata=None):
    demand(isinstance(dtype, _neura.dtype), "a dtype for the tensor")
    return _tensor(storage, offset, size, stride, requires_grad, hooks, metadata, dtype)


def _meta_tensor(dtype, size, stride, requires_grad=False):
    demand(isinstance(dtype, _neura.dtype) and integers(size) and integers(stride), "a dtype, a size and strides")
    demand(len(size) == len(stride) and all(d >= 0 for d in (*size, *stride)), "a size and strides of equal length")
    try:
        tensor = _neura.empty_strided(size, stride, dtype=dtype, device="meta")
    except errors.Error as e:
        raise errors.FormatError(str(e)) from None
    return tensor.requires_grad_() if requires_grad is True else tensor


def _layout(name):
    kind = getattr(_formats, name.removeprefix("torch."), None) if isinstance(name, str) else None
    demand(isinstance(kind, _formats.layout), f"a layout of tensors, got {name!r}")
    return kind


def _sparse(layout, data):
    from . import sparse

    coo = layout == _formats.sparse_coo
    demand(isinstance(layout, _formats.layout) and layout != _formats.strided, "a layout of sparse tensors")
    demand(isinstance(data, tuple) and len(data) in ((3, 4) if coo else (4,)), "the parts of a sparse tensor")
    *tensors, size = data[: 3 if coo else 4]
    demand(all(isinstance(t, _neura.Tensor) for t in tensors), "tensors of indices and values")
    try:
        if coo:
            more = {"is_coalesced": data[3:] == (True,), "check_invariants": True}
            return sparse.sparse_coo_tensor(*tensors, _size(size), **more)
        return sparse.sparse_compressed_tensor(*tensors, _size(size), layout=layout, check_invariants=True)
    except errors.Error as e:
        raise errors.FormatError(str(e)) from None


def _parameter(data, requires_grad=True, hooks=None):
    demand(isinstance(data, _neura.Tensor) and isinstance(requires_grad, bool) and not hooks, "a parameter's tensor")
    from . import nn

    if hasattr(nn, "Parameter"):
        return nn.Parameter(data.detach(), requires_grad)
    return data.detach().requires_grad_(requires_grad)


def _encoded(text, encoding="utf-8"):
    demand(isinstance(text, str) and encoding in ("latin1", "utf-8"), "text to encode as latin1 or utf-8")
    return text.encode(encoding)


def plain(items):
    """May these be in a set, or be keys? Not what hashes slowly: deep and long tuples, huge integers."""
    flat = [i for item in items for i in (item if type(item) is tuple and len(item) < 9 else (item,))]
    return all(type(i) in (str, float, bool, bytes) or i is None or integers((i,)) for i in flat)


def _set_of(kind):
    def make(items=()):
        demand(isinstance(items, (list, tuple, set)) and plain(items), "a set of plain values")
        return kind(items)

    return make


def _counted(items=None):
    demand(items is None or isinstance(items, dict), "counted values")
    return collections.Counter(items)


def _ordered(items=()):
    demand(isinstance(items, (list, tuple)), "pairs of a dictionary")
    demand(all(isinstance(i, (list, tuple)) and len(i) == 2 and plain([i[0]]) for i in items), "pairs of a dictionary")
    return collections.OrderedDict(items)


def _bytearray(data=b"", encoding=None):
    data = _encoded(data, {"latin-1": "latin1"}.get(encoding, encoding)) if isinstance(data, str) else data
    demand(isinstance(data, (bytes, bytearray)), "bytes")
    return bytearray(data)


_DEFAULTS = {f"builtins.{kind.__name__}": kind for kind in (dict, float, int, list, set, str)}


def _defaulting(kind=None):
    demand(kind is None or (isinstance(kind, Name) and kind.name in _DEFAULTS), "a type that makes missing values")
    return collections.defaultdict(kind and _DEFAULTS[kind.name])


def _complex(real, imag=0.0):
    demand(isinstance(real, (int, float)) and isinstance(imag, (int, float)), "the parts of a complex number")
    return complex(real, imag)


def _device(kind, index=None):
    demand(isinstance(kind, str) and (index is None or type(index) is int), "a device")
    return _neura.device(kind if index is None else f"{kind}:{index}")


def _size(dims=()):
    demand(integers(tuple(dims) if isinstance(dims, list) else dims), "the sizes of a shape")
    return tuple(dims)


CALLS = {  # what a file may call, and what is called instead
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_tensor_v3": _tensor_v3,
    "torch._utils._rebuild_parameter": _parameter,
    "torch._utils._rebuild_sparse_tensor": _sparse,
    "torch._utils._rebuild_meta_tensor_no_storage": _meta_tensor,
    "torch.serialization._get_layout": _layout,
    "torch.Size": _size,
    "torch.device": _device,
    "collections.OrderedDict": _ordered,
    "collections.Counter": _counted,
    "collections.defaultdict": _defaulting,
    "argparse.Namespace": argparse.Namespace,
    "_codecs.encode": _encoded,
    "builtins.bytearray": _bytearray,
    "builtins.complex": _complex,
    "builtins.set": _set_of(set),
    "builtins.frozenset": _set_of(frozenset),
    **_torch_numpy.CALLS,
}


class Name:
    """A name in the file that stands for a call, a storage's class, or nothing that is allowed."""

    def __init__(self, name):
        self.name = name


def resolve(name):
    if name.startswith("__builtin__."):  # as Python 2 called it
        name = "builtins" + name[len("__builtin__") :]
    if name.startswith("torch.") and name.count(".") == 1:
        dtype = getattr(_neura, name[len("torch.") :], None)
        if isinstance(dtype, _neura.dtype):
            return dtype
    if (
        name in CALLS
        or name in STORAGES
        or name in _DEFAULTS
        or name in ("torch.storage.UntypedStorage", "numpy.ndarray")
    ):
        return Name(name)
    if re.fullmatch(r"torch\.(q?u?int|float|complex|bits)\d\w*|torch\.\w+Storage", name):
        raise errors.FormatError(f"expected a dtype of Neura, got {name!r}; convert the tensor before it is saved")
    if name.startswith(("torch._utils._rebuild_", "torch._tensor._rebuild_", "torch.nested.")):
        raise errors.FormatError(
            f"expected dense and sparse tensors, got one that {name!r} makes; convert it before it is saved"
        )
    raise errors.FormatError(
        f"expected tensors and plain containers, got {name[:200]!r}; such objects are code, which is never run: "
        "save a state_dict() instead"
    )
