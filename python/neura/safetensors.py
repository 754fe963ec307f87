"""Safetensors files as they are, by the names of the safetensors package: `load_file`, `save_file`, `load`, `save`,
`safe_open`. `neura.save` and `neura.load` also handle the rest of a model's state.
"""

import os

from . import _neura
from ._neura import errors


def load_file(filename, device="cpu"):
    """The tensors of a file by name. Of an index (`*.safetensors.index.json`), those of all its parts.

    >>> import neura, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "x.safetensors")
    >>> neura.safetensors.save_file({"x": neura.ones(2)}, path)
    >>> neura.safetensors.load_file(path)
    {'x': tensor([1., 1.])}
    """
    path = os.fspath(filename)
    if not path.endswith(".index.json"):
        return _neura._io.load_file(path, device)[0]
    tensors = {}
    for part, names in _parts(path).items():
        found = _neura._io.load_file(os.path.join(os.path.dirname(path), part), device)[0]
        for name in names:
            if name not in found:
                raise errors.FormatError(f"{path}: expected {name!r} in {part}, got none there")
            tensors[name] = found[name]
    return tensors


def _parts(path):
    """The names in each file of an index."""
    import json

    try:
        with open(path, encoding="utf-8") as file:
            weights = json.load(file)["weight_map"]
        parts = {}
        for name, part in weights.items():
            parts.setdefault(part, []).append(name)
    except OSError as e:
        raise errors.IoError(f'cannot open "{path}": {e.strerror}') from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise errors.FormatError(f"{path}: expected an index with a weight_map from names to files") from None
    for part in parts:
        if not isinstance(part, str) or part != os.path.basename(part) or part in ("", ".", ".."):
            raise errors.FormatError(f"{path}: expected files next to the index, got {part!r}")
    return parts


def save_file(tensors, filename, metadata=None):
    """Writes tensors by name; the file appears complete or not at all. `metadata`: texts by name."""
    _neura._io.save_file(os.fspath(filename), tensors, metadata or {})


def load(data):
    """The tensors of a file in memory, by name."""
    return _neura._io.load_bytes(data)[0]


def save(tensors, metadata=None):
    """The file as bytes."""
    return _neura._io.save_bytes(tensors, metadata or {})


class safe_open:
    """A file whose tensors are read on demand: `with safe_open(path) as f: f.get_tensor("x")`."""

    def __init__(self, filename, framework="pt", device="cpu"):
        self._device = device
        self._tensors, self._metadata = _neura._io.load_file(os.fspath(filename), None, True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._tensors = {}

    def keys(self):
        """The names, as the file has them."""
        return list(self._tensors)

    def metadata(self):
        """The file's texts by name, or None."""
        return self._metadata or None

    def get_tensor(self, name):
        """A copy of one tensor."""
        if name not in self._tensors:
            raise errors.IndexError(f"safe_open: expected the name of a tensor in the file, got {name!r}")
        return self._tensors[name].clone().to(self._device)

    def get_slice(self, name):
        """The tensor, uncopied, to be indexed: only the pages that are used are read."""
        if name not in self._tensors:
            raise errors.IndexError(f"safe_open: expected the name of a tensor in the file, got {name!r}")
        return self._tensors[name]
