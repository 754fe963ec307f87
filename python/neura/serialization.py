"""Saving and loading: `neura.save`, `neura.load`. Nothing that is read from a file is executed, unless it is a whole
module and the caller says weights_only=False (_pickled.py).

A file is safetensors: the tensors by their path ("model.0.weight"), which every reader of that format sees, and the
rest as JSON in its metadata, under "neura.value". Types that JSON lacks are objects with one key, which names the type.
"""

import math
import os
from collections import OrderedDict

from . import _neura
from ._neura import Size, Tensor, device, dtype, errors

_KEY = "neura.value"
_MAX_DEPTH = 64  # as in C++


class _Whole(TypeError):
    """A module, an optimizer or a schedule was met."""


class _Encoder:
    """A tree of values as JSON; its tensors go to `tensors`, each once."""

    def __init__(self):
        self.tensors, self._found = {}, {}  # by what makes them the same: the tensor, its path, its place in the tree

    def tree(self, value):
        """The whole of it."""
        tree = self.encode(value)
        found = list(self._found.values())
        self._write_shared(found)
        for tensor, path, place in found:
            if not place:
                place["tensor"] = self._put(tensor, path)
        return tree

    def _write_shared(self, found):
        """Bytes that several tensors share are written once, and these are views of them."""
        from . import _shared_storage

        for begin, end, members in _shared_storage.clusters([tensor for tensor, _, _ in found]):
            base = _shared_storage.whole([found[i][0] for i in members], begin, end)
            if base is None:
                continue
            owner = next((i for i in members if found[i][0] is base), None)
            name = self._put(base, f"{found[members[0]][1]}.shared" if owner is None else found[owner][1])
            for i in members:
                tensor, _, place = found[i]
                place.update({"tensor": name} if i == owner else {"view": _shared_storage.as_view(tensor, base, name)})

    def encode(self, value, path="", depth=0):
        if depth > _MAX_DEPTH:
            raise errors.ValueError(f"save: expected at most {_MAX_DEPTH} levels, got more at {_where(path)}")
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, Tensor):
            made = self._place(value, path) if value._layout() == 0 else self._encode_sparse(value, path, depth)
            return {"parameter": made} if isinstance(value, _neura.nn.Parameter) else made
        if isinstance(value, int):
            return int(value) if -(2**63) <= value < 2**63 else {"int": str(value)}
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else {"float": str(float(value))}
        if isinstance(value, dict):
            items = [[self._key(k, path), self.encode(v, _below(path, k), depth + 1)] for k, v in value.items()]
            return {"ordered" if type(value) is OrderedDict else "dict": items}
        if type(value) is Size:
            return {"size": list(value)}
        if type(value) in (list, tuple, set, frozenset):
            items = [self.encode(v, _below(path, i), depth + 1) for i, v in enumerate(value)]
            return {type(value).__name__: items}
        return self._encode_rarer(value, path)

    def _encode_sparse(self, value, path, depth):
        from . import sparse

        facts, tensors = sparse._parts(value)
        names = ("indices", "other_indices", "values")
        parts = [self.encode(t, _below(path, name), depth + 1) for name, t in zip(names, tensors)]
        return {"sparse": [facts[0], {"list": facts[1]}, *facts[2:], *parts]}

    def _encode_rarer(self, value, path):
        if isinstance(value, complex):
            return {"complex": [self.encode(value.real), self.encode(value.imag)]}
        if isinstance(value, (bytes, bytearray)):
            import base64

            return {"bytes": base64.b64encode(value).decode()}
        if isinstance(value, dtype):
            return {"dtype": str(value).split(".")[-1]}
        if isinstance(value, device):
            return {"device": str(value)}
        if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):  # lists of another name
            kind = "tuple" if isinstance(value, tuple) else "list"
            return self.encode(tuple(value) if kind == "tuple" else list(value), path)
        if type(value).__module__ == "numpy" and type(value).__name__ != "ndarray":
            return self.encode(value.item(), path)
        if type(value).__module__ == "numpy" and value.dtype.kind in "biufc":
            return {"array": self.encode(_neura.tensor(value), path)}
        if type(value).__module__ != "numpy" and hasattr(value, "__index__"):
            return self.encode(value.__index__(), path)
        name = f"{type(value).__module__}.{type(value).__qualname__}"
        advice = "; save its state_dict()" if hasattr(value, "state_dict") else ""
        kind = _Whole if advice and _is_whole(value) else TypeError
        raise kind(f"save: expected tensors and plain values, got {name} at {_where(path)}{advice}")

    def _key(self, key, path):
        if isinstance(key, (str, bool, int)) or key is None:
            return key
        raise TypeError(f"save: expected keys that are text or integers, got {type(key).__name__} at {_where(path)}")

    def _place(self, tensor, path):
        """An object that says where the tensor is, once all are known; the same one for the same tensor."""
        alias = id(tensor)
        if tensor.numel():
            alias = (str(tensor.device), tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()))
            alias += (tensor.requires_grad,)
        return self._found.setdefault(alias, (tensor, path, {}))[2]

    def _put(self, tensor, path):
        name = path or "tensor"
        while name in self.tensors:
            name += "'"
        self.tensors[name] = tensor
        return name


def _is_whole(value):
    from .nn import Module
    from .optim import Optimizer
    from .optim.lr_scheduler import LRScheduler

    return isinstance(value, (Module, Optimizer, LRScheduler))


def _where(path):
    return f'"{path}"' if path else "the top"


def _below(path, key):
    return f"{path}.{key}" if path else str(key)


class _Decoder:
    def __init__(self, file, tensors):
        self.file, self.tensors, self.views, self.parameters = file, tensors, {}, {}

    def decode(self, j, depth=0):
        self.demand(depth <= _MAX_DEPTH and not isinstance(j, list))
        if not isinstance(j, dict):
            return j
        self.demand(len(j) == 1)
        ((kind, v),) = j.items()
        if kind == "tensor":
            self.demand(isinstance(v, str) and v in self.tensors)
            return self.tensors[v]
        if kind == "view":
            return self.view(v)
        if kind == "sparse":
            return self.sparse(v, depth)
        if kind == "parameter":
            return self.parameter(v, depth)
        if kind in ("dict", "ordered"):
            self.demand(isinstance(v, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in v))
            self.demand(not any(isinstance(key, (list, dict)) for key, _ in v))
            made = {key: self.decode(item, depth + 1) for key, item in v}
            return OrderedDict(made) if kind == "ordered" else made
        if kind in ("list", "tuple", "set", "frozenset"):
            self.demand(isinstance(v, list))
            items = [self.decode(item, depth + 1) for item in v]
            try:
                return {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}[kind](items)
            except TypeError:  # a set of lists
                self.demand(False)
        return self.decode_rarer(kind, v, depth)

    def view(self, v):
        """The same tensor for the same place: its description is its name."""
        import json

        from . import _shared_storage

        try:
            key = json.dumps(v)
            if key not in self.views:
                self.views[key] = _shared_storage.from_view(v, self.tensors)
            return self.views[key]
        except (KeyError, TypeError, ValueError, errors.Error):
            self.demand(False)

    def parameter(self, v, depth):
        """The same parameter for the same tensor."""
        t = self.decode(v, depth + 1)
        self.demand(isinstance(t, Tensor))
        if id(t) not in self.parameters:
            parameter = _neura.nn.Parameter(t.detach(), requires_grad=t.requires_grad)
            self.parameters[id(t)] = t, parameter  # t is held: its number is not given to another
        return self.parameters[id(t)][1]

    def sparse(self, v, depth):
        from . import sparse

        self.demand(isinstance(v, list) and len(v) == 7)
        try:
            return sparse._rebuild(*(self.decode(part, depth + 1) for part in v))
        except (TypeError, ValueError, IndexError, errors.Error):
            self.demand(False)

    def decode_rarer(self, kind, v, depth):
        if kind == "size":
            self.demand(isinstance(v, list) and all(type(n) is int and abs(n) < 2**63 for n in v))
            return Size(v)
        if kind == "array":
            tensor = self.decode(v, depth + 1)
            self.demand(isinstance(tensor, Tensor))
            return tensor.numpy()
        if kind == "complex":
            self.demand(isinstance(v, list) and len(v) == 2)
            parts = [self.decode(part, depth + 1) for part in v]
            self.demand(all(isinstance(part, (int, float)) for part in parts))
            return complex(*parts)
        self.demand(isinstance(v, str))
        try:
            if kind == "float":
                return float(v)
            if kind == "int":
                return int(v)
            if kind == "bytes":
                import base64

                return base64.b64decode(v, validate=True)
            if kind == "dtype" and isinstance(getattr(_neura, v, None), dtype):
                return getattr(_neura, v)
            if kind == "device":
                return device(v)
        except ValueError:
            self.demand(False)
        raise errors.FormatError(f'{self.file}: the metadata entry "{_KEY}" holds a kind of value that is not known')

    def demand(self, ok):
        if not ok:
            raise errors.FormatError(f'{self.file}: the metadata entry "{_KEY}" is damaged')


def save(obj, f, pickle_module=None, pickle_protocol=None, _use_new_zipfile_serialization=True, *, metadata=None):
    """Saves tensors, arrays, numbers, text, lists, tuples, sets and dicts within each other, as a safetensors file.

    `f` is a path, or a file opened for writing bytes. At a path the file appears complete or not at all: it is written
    under another name, synced and renamed. Tensors of any dtype, device and layout; bytes that several of them share,
    also in part, are written once and shared again when they are loaded. `metadata`: texts by name, for whoever reads
    the file. pickle_module and what follows it are PyTorch's words for another format: they change nothing.
    Where a module, an optimizer or a schedule is among them, the whole is pickled into the file, which then loads with
    weights_only=False alone, and where its classes are found: a state_dict() lasts longer.
    TypeError for another object, naming where it is; IoError if the system refuses.

    >>> import io, neura
    >>> file = io.BytesIO()
    >>> neura.save({"epoch": 3, "weight": neura.ones(2)}, file)
    >>> neura.load(file.getvalue())
    {'epoch': 3, 'weight': tensor([1., 1.])}
    """
    import json

    from . import _pickled

    encoder = _Encoder()
    metadata = dict(metadata or {})
    for key in {_KEY, _pickled.KEY} & metadata.keys():
        raise errors.ValueError(f'save: the metadata key "{key}" is Neura\'s own; choose another')
    try:
        metadata[_KEY] = json.dumps(encoder.tree(obj), separators=(",", ":"), allow_nan=False)
        tensors = encoder.tensors
    except _Whole:
        tensors = _pickled.tensors_of(obj)
        metadata.update(_pickled.facts_of(obj))
    if hasattr(f, "write"):
        f.write(_neura._io.save_bytes(tensors, metadata))
    else:
        _neura._io.save_file(os.fspath(f), tensors, metadata)


def _location(map_location):
    """PyTorch's kinds of `map_location`, as C++ takes them."""
    if map_location is None or isinstance(map_location, (str, device, dict)):
        return map_location
    if not callable(map_location):
        raise TypeError(f"load: expected map_location to be a device, dict or function, got {map_location!r}")

    def place(saved):
        result = map_location(_neura.empty(0, dtype=_neura.uint8, device="cpu"), saved)
        return result.device if isinstance(result, Tensor) else result

    return place


def _open(path):
    """The first bytes of a file. FileNotFoundError is the built-in one too."""
    import stat

    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise errors.IoError(f'cannot read "{path}": not a regular file')
        with open(path, "rb") as file:
            return file.read(9)
    except FileNotFoundError:
        raise errors.FileNotFoundError(f'cannot open "{path}": No such file or directory') from None
    except errors.IoError:
        raise
    except OSError as e:
        raise errors.IoError(f'cannot open "{path}": {e.strerror}') from None


def load(f, map_location=None, pickle_module=None, *, weights_only=True, mmap=None):
    """Loads what `save` wrote, any other safetensors file (a dict of its tensors), or a file of `torch.save`.

    `f` is a path, bytes, or a file opened for reading bytes. Of a .pt file, tensors and plain containers are read,
    anything else is refused by its name; nothing of it is executed, whatever `weights_only` and `pickle_module` say.
    A whole module that `save` wrote is unpickled with weights_only=False, which may run any code: only of whom you
    trust.
    `map_location`: a device, a dict from saved to new devices, or PyTorch's function of (storage, location). `mmap`,
    with a path: the tensors are in the file's own pages, which are read when they are first used; writing to them
    changes no file, and the file must not be shortened meanwhile.
    FormatError for a damaged or unknown file, IoError if the system refuses, DeviceError where a device is not there.
    """
    if hasattr(f, "read"):
        f = f.read()
    in_memory = isinstance(f, (bytes, bytearray, memoryview))
    if in_memory and mmap:
        raise errors.ValueError("load: expected a path with mmap=True, got bytes or an open file")
    name = "bytes" if in_memory else os.fspath(f)
    head = bytes(f[:9]) if in_memory else _open(name)
    location = _location(map_location)
    if head[:4] == b"PK\x03\x04":
        from ._torch_file import load_torch

        return load_torch(f if in_memory else name, name, location, bool(mmap))
    if head[:1] == b"\x80" and head[1:2] in b"\x02\x03\x04\x05" and head[8:] != b"{":
        from ._torch_old_file import load_old

        return load_old(f if in_memory else name, name, location, bool(mmap))
    if in_memory:
        tensors, metadata = _neura._io.load_bytes(f, location, name)
    else:
        tensors, metadata = _neura._io.load_file(name, location, bool(mmap))
    from . import _pickled

    if _pickled.KEY in metadata:
        return _pickled.rebuilt(name, tensors, metadata[_pickled.KEY], location, not weights_only)
    if _KEY not in metadata:
        return tensors
    import json

    try:
        tree = json.loads(metadata[_KEY])
    except (ValueError, RecursionError):
        raise errors.FormatError(f'{name}: the metadata entry "{_KEY}" is damaged') from None
    return _Decoder(name, tensors).decode(tree)


_safe_globals = []


def add_safe_globals(safe_globals):
    """Notes classes that PyTorch's load may then make. Here they are only kept: `load` makes none, and refuses them.

    >>> neura.serialization.add_safe_globals([complex])
    >>> neura.serialization.get_safe_globals()
    [<class 'complex'>]
    >>> neura.serialization.clear_safe_globals()
    """
    _safe_globals.extend(each for each in safe_globals if each not in _safe_globals)


def get_safe_globals():
    """What add_safe_globals was given, as a list."""
    return list(_safe_globals)


def clear_safe_globals():
    """Forgets what add_safe_globals was given."""
    _safe_globals.clear()


class safe_globals:
    """add_safe_globals for the length of a with statement."""

    def __init__(self, safe_globals):
        self._given = list(safe_globals)

    def __enter__(self):
        self._before = get_safe_globals()
        add_safe_globals(self._given)

    def __exit__(self, *exception):
        _safe_globals[:] = self._before
