"""Files of tokens: ids one after the other, mapped and not copied."""

import mmap
import os

from .. import _neura
from .._neura import errors
from .._replaced import replaced
from ..utils.data import Dataset

_DTYPES = {"uint16": _neura.uint16, "uint32": _neura.uint32}


def _dtype(op, name):
    if name not in _DTYPES:
        raise errors.ValueError(f'{op}: expected dtype "uint16" or "uint32", got {name!r}')
    return _DTYPES[name]


def write_tokens(path, texts, dtype="uint16"):
    """Writes the ids of texts one after the other into a file, little-endian, without anything else: what others name
    ``.bin``. Returns how many there are.

    texts: an iterable of the ids of each, lists or integer tensors. dtype: "uint16" for ids below 65,536, or "uint32".
    The file is complete or not there. ValueError for an id that does not fit.
    """
    held = _dtype("write_tokens", dtype)
    count, most = 0, 2 ** (8 * held.itemsize) - 1
    with replaced(path) as file:
        for ids in texts:
            ids = _neura.as_tensor(ids, dtype=_neura.int64).flatten()
            if not ids.numel():
                continue
            if ids.min() < 0 or ids.max() > most:
                raise errors.ValueError(
                    f'write_tokens: expected ids from 0 to {most:,} for "{dtype}", got {int(ids.min())} to '
                    f"{int(ids.max())}" + ('; take "uint32"' if most == 0xFFFF and ids.min() >= 0 else "")
                )
            file.write(memoryview(ids.to(held)))
            count += ids.numel()
    return count


class TokenFile(Dataset):
    """Windows of a file of ids, as `write_tokens` and many others (``train.bin``) write it: item i is the pair of
    `context` ids from i * stride on, and of those that follow each of them, int64. The file is mapped, not read: it may
    be larger than memory, and workers share its pages.

    dtype: "uint16" or "uint32". stride: from one window to the next, by default `context`.
    ``tokens(begin, end)`` are ids of the file. FormatError for a file that does not hold such ids alone, ValueError for
    one shorter than a window.

    >>> import neura, tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "train.bin"
    >>> neura.data.write_tokens(path, [[5, 6, 7], [65535, 8]])
    5
    >>> neura.data.TokenFile(path, context=2)[1]
    (tensor([    7, 65535]), tensor([65535,     8]))
    """

    def __init__(self, path, context, *, dtype="uint16", stride=None):
        self.path, self.context, self.dtype = os.fspath(path), context, dtype
        self.stride = context if stride is None else stride
        width = _dtype("TokenFile", dtype).itemsize
        if context < 1 or self.stride < 1:
            raise errors.ValueError(
                f"TokenFile: expected a context and a stride of 1 or more, got {context} and {self.stride}"
            )
        size = os.path.getsize(self.path)
        if size % width:
            raise errors.FormatError(
                f"{self.path}: expected ids of {width} bytes, got {size} bytes; is its dtype another one?"
            )
        self.count = size // width
        if self.count <= context:
            raise errors.ValueError(
                f"TokenFile: expected more than {context} ids in {self.path}, got {self.count}; take a smaller context"
            )
        self._ids = None

    def _mapped(self):
        if self._ids is None:
            held = _DTYPES[self.dtype]
            with open(self.path, "rb") as file:
                pages = mmap.mmap(file.fileno(), self.count * held.itemsize, access=mmap.ACCESS_COPY)
            self._ids = _neura.frombuffer(pages, dtype=held)
        return self._ids

    def tokens(self, begin=0, end=None):
        """The ids from `begin` to before `end`, int64."""
        return self._mapped()[begin : self.count if end is None else end].to(_neura.int64)

    def __getitem__(self, index):
        index = range(len(self))[index]  # IndexError beyond the end, and places from there
        ids = self.tokens(index * self.stride, index * self.stride + self.context + 1)
        return ids[:-1], ids[1:]

    def __len__(self):
        return (self.count - self.context - 1) // self.stride + 1

    def _collated(self, indices):
        begins = _neura.tensor([range(len(self))[i] * self.stride for i in indices])
        places = begins[:, None] + _neura.arange(self.context + 1)
        ids = self._mapped()[places].to(_neura.int64)
        return [ids[:, :-1].contiguous(), ids[:, 1:].contiguous()]

    def __getstate__(self):
        return {**self.__dict__, "_ids": None}
