"""What torch.save pickles, read as data. An interpreter of its own knows the few instructions that tensors and plain
containers need; what they may call is a table; every other name is refused by its name.
"""

import collections
import re
import struct

from . import _formats, _neura, _words
from ._neura import errors

_MARK = object()


class _Storage:
    """Bytes of the file, read when a tensor first needs them."""

    def __init__(self, archive, key, dtype, location):
        self.archive, self.key, self.dtype, self.location = archive, key, dtype, location
        self._bytes, self._bools_checked = None, False

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


_STORAGES = _storage_dtypes()


def _demand(ok, what):
    if not ok:
        raise errors.FormatError(f"expected {what}")


def _integers(values):
    return isinstance(values, tuple) and all(type(v) is int and -(2**63) <= v < 2**63 for v in values)


def _tensor(storage, offset, size, stride, requires_grad=False, hooks=None, metadata=None, dtype=None):
    _demand(isinstance(storage, _Storage) and _integers((offset,)), "a storage and an offset")
    _demand(_integers(size) and _integers(stride), "a size and strides, both tuples of integers")
    _demand(not hooks, "tensors without hooks; save them after removing the hooks")
    _demand(metadata is None or isinstance(metadata, dict), "metadata of a tensor")
    dtype = dtype or storage.dtype
    _demand(dtype is not None, "a dtype for the tensor")
    tensor = storage.tensor(dtype, offset, list(size), list(stride))
    for name, on in (metadata or {}).items():
        _demand(name in ("conj", "neg"), f"no metadata of tensors but conj and neg, got {name!r}")
        if on:
            tensor = tensor.conj().resolve_conj() if name == "conj" else -tensor
    return tensor.requires_grad_() if requires_grad is True else tensor


def _tensor_v3(storage, offset, size, stride, requires_grad, hooks, dtype, metadata=None):
    _demand(isinstance(dtype, _neura.dtype), "a dtype for the tensor")
    return _tensor(storage, offset, size, stride, requires_grad, hooks, metadata, dtype)


def _layout(name):
    kind = getattr(_formats, name.removeprefix("torch."), None) if isinstance(name, str) else None
    _demand(isinstance(kind, _formats.layout), f"a layout of tensors, got {name!r}")
    return kind


def _sparse(layout, data):
    from . import sparse

    coo = layout == _formats.sparse_coo
    _demand(isinstance(layout, _formats.layout) and layout != _formats.strided, "a layout of sparse tensors")
    _demand(isinstance(data, tuple) and len(data) in ((3, 4) if coo else (4,)), "the parts of a sparse tensor")
    *tensors, size = data[: 3 if coo else 4]
    _demand(all(isinstance(t, _neura.Tensor) for t in tensors), "tensors of indices and values")
    try:
        if coo:
            more = {"is_coalesced": data[3:] == (True,), "check_invariants": True}
            return sparse.sparse_coo_tensor(*tensors, _size(size), **more)
        return sparse.sparse_compressed_tensor(*tensors, _size(size), layout=layout, check_invariants=True)
    except errors.Error as e:
        raise errors.FormatError(str(e)) from None


def _parameter(data, requires_grad=True, hooks=None):
    _demand(isinstance(data, _neura.Tensor) and isinstance(requires_grad, bool) and not hooks, "a parameter's tensor")
    from . import nn

    if hasattr(nn, "Parameter"):
        return nn.Parameter(data.detach(), requires_grad)
    return data.detach().requires_grad_(requires_grad)


def _encoded(text, encoding="utf-8"):
    _demand(isinstance(text, str) and encoding in ("latin1", "utf-8"), "text to encode as latin1 or utf-8")
    return text.encode(encoding)


def _plain(items):
    """May these be in a set, or be keys? Not what hashes slowly: deep and long tuples, huge integers."""
    flat = [i for item in items for i in (item if type(item) is tuple and len(item) < 9 else (item,))]
    return all(type(i) in (str, float, bool, bytes) or i is None or _integers((i,)) for i in flat)


def _set_of(kind):
    def make(items=()):
        _demand(isinstance(items, (list, tuple, set)) and _plain(items), "a set of plain values")
        return kind(items)

    return make


def _counted(items=None):
    _demand(items is None or isinstance(items, dict), "counted values")
    return collections.Counter(items)


def _ordered(items=()):
    _demand(isinstance(items, (list, tuple)), "pairs of a dictionary")
    _demand(
        all(isinstance(i, (list, tuple)) and len(i) == 2 and _plain([i[0]]) for i in items), "pairs of a dictionary"
    )
    return collections.OrderedDict(items)


def _complex(real, imag=0.0):
    _demand(isinstance(real, (int, float)) and isinstance(imag, (int, float)), "the parts of a complex number")
    return complex(real, imag)


def _device(kind, index=None):
    _demand(isinstance(kind, str) and (index is None or type(index) is int), "a device")
    return _neura.device(kind if index is None else f"{kind}:{index}")


def _size(dims=()):
    _demand(_integers(tuple(dims) if isinstance(dims, list) else dims), "the sizes of a shape")
    return tuple(dims)


_CALLS = {  # what a file may call, and what is called instead
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_tensor_v3": _tensor_v3,
    "torch._utils._rebuild_parameter": _parameter,
    "torch._utils._rebuild_sparse_tensor": _sparse,
    "torch.serialization._get_layout": _layout,
    "torch.Size": _size,
    "torch.device": _device,
    "collections.OrderedDict": _ordered,
    "collections.Counter": _counted,
    "_codecs.encode": _encoded,
    "builtins.complex": _complex,
    "builtins.set": _set_of(set),
    "builtins.frozenset": _set_of(frozenset),
}


class _Name:
    """A name in the file that stands for a call, a storage's class, or nothing that is allowed."""

    def __init__(self, name):
        self.name = name


def _resolve(name):
    if name.startswith("__builtin__."):  # as Python 2 called it
        name = "builtins" + name[len("__builtin__") :]
    if name.startswith("torch.") and name.count(".") == 1:
        dtype = getattr(_neura, name[len("torch.") :], None)
        if isinstance(dtype, _neura.dtype):
            return dtype
    if name in _CALLS or name in _STORAGES or name == "torch.storage.UntypedStorage":
        return _Name(name)
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


def _fail(text):
    raise errors.FormatError(text)


def _checked(value):
    """`value`, if nothing within it is a class or a storage."""
    left, seen = [value], set()
    while left:
        v = left.pop()
        if isinstance(v, (_Name, _Storage)):
            _fail(f"expected tensors and plain values, got {'a storage' if isinstance(v, _Storage) else v.name!r}")
        if isinstance(v, (dict, list, tuple, set)) and id(v) not in seen:
            seen.add(id(v))
            left += [*v.values(), getattr(v, "_metadata", None)] if isinstance(v, dict) else v
    return value


class Interpreter:
    """Runs over `data` once. Whatever is wrong is a FormatError that says at which byte."""

    def __init__(self, data, archive):
        self.data, self.archive, self.at = data, archive, 0
        self.stack, self.memo, self.storages = [], {}, {}
        self.work = 100_000 + 2 * len(data)  # that calls may do: they can be given one long list again and again

    def run(self):
        """The value that the pickle stands for."""
        try:
            while (code := self.take(1)[0]) != ord("."):
                _STEPS.get(code, _unknown)(self)
            return _checked(self.pop())
        except (IndexError, KeyError, TypeError, ValueError, OverflowError, RecursionError, struct.error) as e:
            if isinstance(e, errors.Error):
                raise
            _fail(f"the pickle is damaged at byte {self.at} ({type(e).__name__}: {str(e)[:200]})")

    def take(self, n):
        """The next n bytes."""
        if n < 0 or n > len(self.data) - self.at:
            _fail(f"the pickle ends at byte {len(self.data)}, before it is complete")
        self.at += n
        return self.data[self.at - n : self.at]

    def number(self, form):
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def line(self):
        end = self.data.index(b"\n", self.at)
        return self.take(end + 1 - self.at)[:-1].decode("utf-8")

    def push(self, value):
        self.stack.append(value)

    def pop(self):
        value = self.stack.pop()
        if value is _MARK:
            _fail("expected a value, got a mark")
        return value

    def above_mark(self):
        """What was pushed since the last mark."""
        for i in range(len(self.stack) - 1, -1, -1):
            if self.stack[i] is _MARK:
                items = self.stack[i + 1 :]
                del self.stack[i:]
                return items
        _fail("expected a mark, got none")

    def top(self, kind):
        value = self.stack[-1]
        if not isinstance(value, kind):
            _fail(f"expected a {kind.__name__} to add to, got {type(value).__name__}")
        return value

    def set_items(self, items):
        target = self.top(dict)
        if len(items) % 2 or not _plain(items[::2]):
            _fail("expected pairs of a plain key and a value")
        target.update(zip(items[::2], items[1::2]))

    def tuple_of(self, n):
        items = [self.pop() for _ in range(n)]
        self.push(tuple(reversed(items)))

    def memorise(self, key):
        value = self.stack[-1]
        self.memo[key] = value if value is not _MARK else _fail("expected a value, got a mark")

    def persistent(self):
        """('storage', class, key, location, elements) becomes a storage, one for each key."""
        saved = self.pop()
        if not (isinstance(saved, tuple) and len(saved) == 5 and saved[0] == "storage" and isinstance(saved[1], _Name)):
            _fail("expected a storage, got another persistent object")
        _, kind, key, location, _ = saved
        if not isinstance(key, str) or not isinstance(location, str):
            _fail("expected the key and location of a storage to be text")
        if kind.name not in _STORAGES and kind.name != "torch.storage.UntypedStorage":
            _fail(f"expected a class of storages, got {kind.name!r}")
        dtype = _STORAGES.get(kind.name)
        if (key, dtype) not in self.storages:
            self.storages[key, dtype] = _Storage(self.archive, key, dtype, location)
        self.push(self.storages[key, dtype])

    def call(self):
        arguments, function = self.pop(), self.pop()
        if not isinstance(function, _Name) or function.name not in _CALLS or not isinstance(arguments, tuple):
            what = function.name[:200] if isinstance(function, _Name) else type(function).__name__
            _fail(f"expected a call that makes a tensor or a container, got {what}")
        self.work -= sum(len(a) for a in arguments if hasattr(a, "__len__") and not isinstance(a, _neura.Tensor))
        if self.work < 0:
            _fail("expected calls with arguments of their own, got the same long ones again and again")
        self.push(_CALLS[function.name](*arguments))

    def build(self):
        """Attributes: an OrderedDict's _metadata, which a state dict has, and no other."""
        state = self.pop()
        if not isinstance(self.stack[-1], collections.OrderedDict) or not isinstance(state, dict):
            _fail(f"expected no attributes, got those of a {type(self.stack[-1]).__name__}")
        if any(key != "_metadata" for key in state):
            _fail("expected a dictionary with no attribute but _metadata, got others")
        for value in state.values():
            self.stack[-1]._metadata = value

    def new(self):
        arguments, kind = self.pop(), self.pop()
        self.stack += [kind, arguments]
        self.call()

    def global_name(self, module, name):
        if not isinstance(module, str) or not isinstance(name, str):
            _fail("expected a name, got another value")
        self.push(_resolve(f"{module}.{name}"))

    def stack_global(self):
        name, module = self.pop(), self.pop()
        self.global_name(module, name)

    def text(self, size):
        self.push(self.take(size).decode("utf-8", "surrogatepass"))

    def add_all(self):
        items = self.above_mark()
        self.top(set).update(items if _plain(items) else _fail("expected a set of plain values"))

    def duplicate(self):
        self.push(self.stack[-1] if self.stack[-1] is not _MARK else _fail("expected a value, got a mark"))


def _unknown(m):
    _fail(f"expected an instruction of a pickle at byte {m.at - 1}, got {m.data[m.at - 1]}")


def _integer(data):
    return int.from_bytes(data, "little", signed=True)


_STEPS = {  # by the byte of the instruction; names as in Python's pickletools
    b"\x80": lambda m: m.take(1),  # PROTO
    b"\x95": lambda m: m.take(8),  # FRAME
    b"(": lambda m: m.push(_MARK),
    b"0": lambda m: m.pop(),
    b"1": lambda m: m.above_mark(),
    b"2": lambda m: m.duplicate(),
    b"N": lambda m: m.push(None),
    b"\x88": lambda m: m.push(True),
    b"\x89": lambda m: m.push(False),
    b"J": lambda m: m.push(m.number("<i")),
    b"K": lambda m: m.push(m.number("<B")),
    b"M": lambda m: m.push(m.number("<H")),
    b"\x8a": lambda m: m.push(_integer(m.take(m.number("<B")))),
    b"G": lambda m: m.push(m.number(">d")),
    b"X": lambda m: m.text(m.number("<I")),
    b"\x8c": lambda m: m.text(m.number("<B")),
    b"\x8d": lambda m: m.text(m.number("<Q")),
    b"B": lambda m: m.push(m.take(m.number("<I"))),
    b"C": lambda m: m.push(m.take(m.number("<B"))),
    b"\x8e": lambda m: m.push(m.take(m.number("<Q"))),
    b"}": lambda m: m.push({}),
    b"]": lambda m: m.push([]),
    b")": lambda m: m.push(()),
    b"\x8f": lambda m: m.push(set()),
    b"t": lambda m: m.push(tuple(m.above_mark())),
    b"\x85": lambda m: m.tuple_of(1),
    b"\x86": lambda m: m.tuple_of(2),
    b"\x87": lambda m: m.tuple_of(3),
    b"a": lambda m: (lambda item: m.top(list).append(item))(m.pop()),
    b"e": lambda m: (lambda items: m.top(list).extend(items))(m.above_mark()),
    b"s": lambda m: (lambda value: m.set_items([m.pop(), value]))(m.pop()),
    b"u": lambda m: (lambda items: m.set_items(items))(m.above_mark()),
    b"\x90": lambda m: m.add_all(),
    b"q": lambda m: m.memorise(m.number("<B")),
    b"r": lambda m: m.memorise(m.number("<I")),
    b"\x94": lambda m: m.memorise(len(m.memo)),
    b"h": lambda m: m.push(m.memo[m.number("<B")]),
    b"j": lambda m: m.push(m.memo[m.number("<I")]),
    b"c": lambda m: m.global_name(m.line(), m.line()),
    b"\x93": lambda m: m.stack_global(),
    b"Q": lambda m: m.persistent(),
    b"R": lambda m: m.call(),
    b"\x81": lambda m: m.new(),
    b"b": lambda m: m.build(),
}
_STEPS = {code[0]: step for code, step in _STEPS.items()}
