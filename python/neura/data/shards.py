"""Tar files of samples, in webdataset's layout: files of one name and different endings are a sample."""

import io
import json
import os
import pathlib
import tarfile

from .. import _neura
from .._neura import errors
from .._replaced import replaced
from ..serialization import load
from ..utils.data import Dataset
from .files import decode_image

_PICTURES = ("jpg", "jpeg", "png", "ppm", "pgm")
_TEXTS = ("txt", "text")
_NUMBERS = ("cls", "cls2", "index", "inx", "id")
_FORMAT = 1


def _decoded(ending, data):
    """What a member holds; bytes where the ending says nothing of it."""
    kind = ending.rsplit(".", 1)[-1].lower()
    if kind in _PICTURES:
        return decode_image(data, "rgb")
    if kind in _TEXTS:
        return data.decode()
    if kind in _NUMBERS:
        return int(data)
    if kind == "json":
        return json.loads(data)
    if kind == "safetensors":
        return load(io.BytesIO(data))
    return data


def _read_members(path):
    """The samples of a file: for each the pair of its name and of where its members are, by ending."""
    samples = {}
    try:
        with tarfile.open(path, "r:") as tar:
            for member in tar:
                folder, _, file = member.name.rpartition("/")
                name, dot, ending = file.partition(".")
                if member.isreg() and name and dot:
                    where = samples.setdefault(f"{folder}/{name}" if folder else name, {})
                    where[ending.lower()] = member.offset_data, member.size
    except tarfile.TarError as error:
        raise errors.FormatError(
            f"{path}: expected a tar file without compression, got another or a damaged one: {error}"
        )
    size = os.path.getsize(path)
    for name, where in samples.items():
        for ending, (at, length) in where.items():
            if at + length > size:
                raise errors.FormatError(
                    f"{path}: expected all of {name}.{ending}, got a file that ends before it does"
                )
    return list(samples.items())


def build_shard_index(path):
    """Writes ``path``.index, which says where the samples of a tar file are, so that it need not be read through each
    time it is opened. Returns how many samples there are. FormatError for a file that is no tar file."""
    state = os.stat(path)
    samples = _read_members(path)
    with replaced(f"{os.fspath(path)}.index", "w") as file:
        json.dump({"format": _FORMAT, "bytes": state.st_size, "time": state.st_mtime_ns, "samples": samples}, file)
    return len(samples)


def _samples_of(path):
    """By the index if there is one that fits the file, else by reading through it."""
    state = os.stat(path)
    try:
        with open(f"{path}.index", encoding="utf-8") as file:
            index = json.load(file)
        if (index["format"], index["bytes"], index["time"]) == (_FORMAT, state.st_size, state.st_mtime_ns):
            return index["samples"]
    except (OSError, ValueError, KeyError, TypeError):
        pass  # none, of another version, or damaged
    return _read_members(path)


class TarShards(Dataset):
    """The samples of tar files in webdataset's layout, as a data set with a length and with items by number: what
    shuffles, shares among ranks and goes on after a stop works as with any other. Only what is asked for is read.

    paths: a file, or several, such as ``sorted(glob("train-*.tar"))``. Not compressed.
    keys: the endings whose contents an item has, in this order; ``"jpg;jpeg;png"`` takes the one that is there.
    decode: pictures become uint8 [3, height, width], ``cls`` and ``index`` ints, ``txt`` str, ``json`` what it says,
        ``safetensors`` what load() gives, others bytes. False: all are bytes.
    transform, target_transform: of the first and the second content of an item.

    An item is a tuple, or, of one key, its content. ``names`` are the samples' names. `build_shard_index` makes opening
    fast. FormatError for a file that is no tar file; ValueError for a sample without one of the keys.

    >>> import neura, tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "train-0.tar"
    >>> neura.data.write_shard(path, [("a", {"txt": "a cat", "cls": 0}), ("b", {"txt": "a dog", "cls": 1})])
    2
    >>> neura.data.TarShards(path, ("txt", "cls"))[1]
    ('a dog', 1)
    """

    def __init__(self, paths, keys, *, decode=True, transform=None, target_transform=None):
        one = isinstance(paths, (str, os.PathLike))
        self.paths = [os.fspath(paths)] if one else [os.fspath(p) for p in paths]
        if not self.paths:
            raise errors.ValueError("TarShards: expected one tar file or more, got none; does the pattern fit any?")
        self._keys = [key.lower().split(";") for key in ([keys] if isinstance(keys, str) else keys)]
        self._single = isinstance(keys, str)
        self.decode, self.transform, self.target_transform = decode, transform, target_transform
        self.names, self._places, self._files = [], [], {}
        for shard, path in enumerate(self.paths):
            for name, where in _samples_of(path):
                self.names.append(name)
                self._places.append((shard, [self._find(path, name, where, key) for key in self._keys]))

    @staticmethod
    def _find(path, name, where, key):
        for ending in key:
            if ending in where:
                return ending, *where[ending]
        raise errors.ValueError(
            f'TarShards: expected "{";".join(key)}" of the sample "{name}" in {path}, got {", ".join(sorted(where))}'
        )

    def _read(self, shard, at, size):
        handle = self._files.get(shard)  # is shared by forked workers, which read at places and move nothing
        if handle is None:
            handle = self._files[shard] = open(self.paths[shard], "rb", buffering=0)
        parts = []
        while size > 0:
            part = os.pread(handle.fileno(), size, at)
            if not part:
                raise errors.FormatError(f"{self.paths[shard]}: expected the file as it was opened, got a shorter one")
            parts.append(part)
            at, size = at + len(part), size - len(part)
        return b"".join(parts)

    def __getitem__(self, index):
        shard, places = self._places[index]
        item = []
        for ending, at, size in places:
            data = self._read(shard, at, size)
            try:
                item.append(_decoded(ending, data) if self.decode else data)
            except ValueError as error:  # FormatError, UnicodeDecodeError, JSONDecodeError
                raise errors.FormatError(f"{self.paths[shard]}: {self.names[index]}.{ending}: {error}")
        for i, change in enumerate((self.transform, self.target_transform)):
            if change is not None and i < len(item):
                item[i] = change(item[i])
        return item[0] if self._single else tuple(item)

    def __len__(self):
        return len(self._places)

    def __getstate__(self):
        return {**self.__dict__, "_files": {}}


def _encoded(ending, content):
    if isinstance(content, (bytes, bytearray)):
        return bytes(content)
    if isinstance(content, _neura.Tensor):
        kind = ending.rsplit(".", 1)[-1]
        if kind == "png":
            return _neura._data.encode_png(content)
        if kind in ("jpg", "jpeg"):
            return _neura._data.encode_jpeg(content, 95)
        raise errors.ValueError(f'write_shard: expected a tensor for "png" or "jpg", got one for "{ending}"')
    return (json.dumps(content) if ending.endswith("json") else str(content)).encode()


def write_shard(path, samples):
    """Writes a tar file of samples, and its index. Returns how many they were.

    samples: an iterable of pairs of a name and of contents by ending: bytes as they are, pictures for "png" and "jpg",
    plain values for "json", str() of all else. The file is complete or not there. ValueError for two of one name.
    """
    seen = set()
    with replaced(path) as file, tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, contents in samples:
            if not name or name in seen or "." in pathlib.PurePosixPath(name).name:
                raise errors.ValueError(f"write_shard: expected a new name without a dot, got {name!r}")
            seen.add(name)
            for ending, content in contents.items():
                data = _encoded(ending, content)
                member = tarfile.TarInfo(f"{name}.{ending}")
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    return build_shard_index(path)
