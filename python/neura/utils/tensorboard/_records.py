"""Event files: records with checksums, and in each a message in the wire format of protocol buffers."""

import struct


def _crc_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _crc_table()


def masked_crc(data):
    """CRC-32C, turned and shifted as these files have it, so that a checksum of checksums is a good one."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(data):
    """length, its checksum, data, its checksum."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


def _varint(value):
    value &= 0xFFFFFFFFFFFFFFFF  # negative numbers take ten bytes
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(field, value):
    return _varint(field << 3) + _varint(value)


def double(field, value):
    return _varint(field << 3 | 1) + struct.pack("<d", value)


def single(field, value):
    return _varint(field << 3 | 5) + struct.pack("<f", value)


def message(field, data):
    """A message, bytes, or a text."""
    data = data.encode() if isinstance(data, str) else data
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def doubles(field, values):
    return message(field, struct.pack(f"<{len(values)}d", *values))


def value(tag, data):
    """Summary.Value in a Summary."""
    return message(1, message(1, tag) + data)


def plugin(name, content=b""):
    """SummaryMetadata."""
    inner = message(1, name) + (message(2, content) if content else b"")
    return message(9, message(1, inner))


def event(wall_time, step, summary):
    return double(1, wall_time) + (integer(2, step) if step else b"") + message(5, summary)
