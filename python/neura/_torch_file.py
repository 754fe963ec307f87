"""The zip files of torch.save: records by name, each checked before it is read."""

import io
import os
import struct
import zipfile
import zlib

from . import _neura
from ._neura import errors
from ._torch_pickle import Interpreter


class Source:
    """A file of torch.save, open. Whatever is not as torch.save writes it is a FormatError."""

    def __init__(self, source, name, location, mmap):
        self.name, self.location = name, location
        self.file = open(source, "rb") if isinstance(source, str) else io.BytesIO(source)
        self.size = self.file.seek(0, os.SEEK_END)
        self.mapping = _neura._io.map_file(source) if mmap else None

    def fail(self, text):
        """FormatError, with the file's name."""
        raise errors.FormatError(f"{self.name}: {text}")

    def bytes_of(self, offset, size, what):
        """A place of the file as a tensor of bytes."""
        if self.mapping is not None:
            data = _neura._io.mapped_bytes(self.mapping, offset, size)
            return data if data.data_ptr() % 16 == 0 else data.clone()  # for another writer's choice of places
        data = _neura.empty(size, dtype=_neura.uint8, device="cpu")
        self.file.seek(offset)
        if size and self.file.readinto(memoryview(data)) != size:
            self.fail(f"expected the {size} bytes of {what!r}, got fewer; the file was cut off")
        return data

    def moved(self, data, saved):
        place = self.location
        if isinstance(place, dict):
            place = place.get(saved)
        elif callable(place):
            place = place(saved)
        place = saved if place is None else place
        if place in ("cpu", "CPU"):
            return data
        try:
            return data.to(_neura.device(place) if isinstance(place, str) else place)
        except errors.DeviceError as e:
            raise errors.DeviceError(
                f'{self.name}: a tensor of {saved} cannot go to {place} here ({e}); pass map_location="cpu"'
            ) from None


class _Archive(Source):
    """Where the records of a zip file are."""

    def __init__(self, source, name, location, mmap):
        super().__init__(source, name, location, mmap)
        self.left = self.size  # of bytes that storages may still take: no file holds more than itself
        try:
            entries = zipfile.ZipFile(self.file).infolist()
        except (
            zipfile.BadZipFile,
            NotImplementedError,
            ValueError,
            OverflowError,
            EOFError,
            struct.error,
            OSError,
        ) as e:
            self.fail(f"expected a zip file, got a damaged one ({e})")
        before = min((entry.header_offset for entry in entries), default=0)
        if before:
            self.fail(f"expected one file of torch.save, got another {before} bytes before it; read them one by one")
        self.entries = {entry.filename: entry for entry in entries}
        pickles = [n for n in self.entries if n.endswith("/data.pkl") and n.count("/") == 1]
        if len(pickles) != 1 or len(self.entries) != len(entries):
            self.fail("expected one data.pkl, as torch.save writes it, got another zip file")
        self.prefix = pickles[0][: -len("data.pkl")]

    def place(self, record):
        """The bytes of a record: (offset, size)."""
        entry = self.entries.get(self.prefix + record)
        if entry is None:
            self.fail(f"expected a record {record[:80]!r}, got none")
        if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
            self.fail(f"expected the record {record[:80]!r} to be stored, got a compressed or encrypted one")
        head = self.bytes_at(entry.header_offset, 30, record)
        if head[:4] != b"PK\x03\x04":
            self.fail(f"expected the record {record[:80]!r} where the directory says it is, got other bytes")
        offset = entry.header_offset + 30 + sum(struct.unpack("<HH", head[26:30]))
        if entry.file_size > self.size - offset:
            self.fail(f"expected the {entry.file_size} bytes of {record[:80]!r}, got fewer; the file was cut off")
        return offset, entry.file_size, entry.CRC

    def bytes_at(self, offset, size, record):
        if not 0 <= offset <= self.size - size:
            self.fail(f"expected the record {record[:80]!r} within the file, got a place beyond it")
        self.file.seek(offset)
        return self.file.read(size)

    def record(self, record):
        offset, size, crc = self.place(record)
        data = self.bytes_at(offset, size, record)
        if zlib.crc32(data) != crc:
            self.fail(f"expected the checksum of {record[:80]!r}, got another; the file is damaged")
        return data

    def storage(self, key, saved):
        """A record as a tensor of bytes on the device where it belongs."""
        record = f"data/{key}"
        offset, size, crc = self.place(record)
        if size > self.left:
            self.fail("expected storages of no more bytes than the file, got records that overlap")
        self.left -= size
        data = self.bytes_of(offset, size, record)
        if self.mapping is None and zlib.crc32(memoryview(data)) != crc:
            self.fail(f"expected the checksum of {record!r}, got another; the file is damaged")
        return self.moved(data, saved)


def load_torch(source, name, location, mmap):
    """What torch.save wrote into the zip file `source`, a path or bytes."""
    archive = _Archive(source, name, location, mmap)
    with archive.file:
        if archive.prefix + "byteorder" in archive.entries and archive.record("byteorder") != b"little":
            archive.fail("expected little-endian numbers, got big-endian ones")
        return named(name, lambda: Interpreter(archive.record("data.pkl"), archive).run())


def named(name, read):
    """What read() makes; its errors say the file's name."""
    try:
        return read()
    except errors.FormatError as e:
        text = str(e)
        raise errors.FormatError(text if text.startswith(f"{name}: ") else f"{name}: {text}") from None
