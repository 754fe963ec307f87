"""What torch.save wrote before PyTorch 1.6: one stream of pickles, none of which is run. In this order: a magic number,
the version, facts about the machine, the value, the keys of the storages; then each storage, its count before it."""

import io
import mmap as maps
import pickletools
import struct

from ._torch_file import Source, named
from ._torch_pickle import Interpreter

_MAGIC, _VERSION = 0x1950A86A20F9469CFC6C, 1001
_HEAD = b"\x80\x02\x8a\x0a" + _MAGIC.to_bytes(10, "little") + b"."


def is_old(head):
    """Do these bytes begin such a file?"""
    return bytes(head[:2]) == _HEAD[:2] and bytes(head[2:4]) == _HEAD[2:4]


class _Kinds(Interpreter):
    """A run that makes no tensor, to see which storages there are, and of what."""

    def call(self):
        if getattr(self.stack[-2], "name", "").startswith("torch._utils._rebuild_"):
            del self.stack[-2:]
            return self.push(None)
        return super().call()


class _Stream(Source):
    """Where the storages of an old file are."""

    def __init__(self, source, name, location, mmap):
        super().__init__(source, name, location, mmap)
        self.places = {}
        if isinstance(source, str):
            self.data = maps.mmap(self.file.fileno(), 0, access=maps.ACCESS_READ)
        else:
            self.data = bytes(source)

    def pickle_end(self, at):
        """The place after the pickle that begins here."""
        stream = io.BytesIO(self.data) if isinstance(self.data, bytes) else self.data
        stream.seek(at)
        try:
            for _ in pickletools.genops(stream):
                pass
        except (ValueError, UnicodeDecodeError, struct.error, OverflowError) as e:
            self.fail(f"the pickle at byte {at} is damaged ({str(e)[:200]})")
        return stream.tell()

    def value(self, at):
        """(a plain value, the place after it)"""
        reader = Interpreter(self.data, self, at)
        return reader.run(), reader.at

    def read(self):
        """The value of the file."""
        magic, at = self.value(0)
        if magic != _MAGIC:
            self.fail("expected a file of torch.save, got another pickle, which is a program: it is never run")
        version, at = self.value(at)
        machine, begin = self.value(at)
        if version != _VERSION or not isinstance(machine, dict) or machine.get("little_endian", True) is not True:
            self.fail("expected version 1001 of PyTorch's old format with little-endian numbers, got another")
        kinds = _Kinds(self.data, self, begin)
        kinds.run()
        keys, at = self.value(self.pickle_end(begin))
        self.find(keys, at, {key: dtype for key, dtype in kinds.storages})
        return Interpreter(self.data, self, begin).run()

    def find(self, keys, at, dtypes):
        """Notes where each storage is."""
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            self.fail("expected the keys of the storages after the value, got another value")
        for key in keys:
            if key not in dtypes or key in self.places:
                self.fail(f"expected each storage of the value once, got {key[:80]!r}")
            if at + 8 > self.size:
                self.fail(f"expected the storage {key[:80]!r}, got the end; the file was cut off")
            count = struct.unpack("<q", self.data[at : at + 8])[0]
            size = count * (dtypes[key].itemsize if dtypes[key] else 1)
            at += 8
            if not 0 <= size <= self.size - at:
                self.fail(f"expected {size} bytes of the storage {key[:80]!r}, got {self.size - at}; it was cut off")
            self.places[key] = at, size
            at += size

    def storage(self, key, saved):
        """A storage as a tensor of bytes on the device where it belongs."""
        if key not in self.places:
            self.fail(f"expected the storage {key[:80]!r}, got none; the file was cut off")
        return self.moved(self.bytes_of(*self.places[key], key), saved)


def load_old(source, name, location, mmap):
    """What an old torch.save wrote into `source`, a path or bytes."""
    stream = _Stream(source, name, location, mmap)
    with stream.file:
        return named(name, stream.read)
