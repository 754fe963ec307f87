"""Files as tensors. IoError, an OSError, where one cannot be read; FormatError, a ValueError, where it is damaged."""

import os

from .. import _neura

_data = _neura._data


def read_idx(path):
    """The tensor in an idx file, the format of MNIST, plain or gzip: uint8, int8, int16, int32, float32 or float64."""
    return _data.read_idx(os.fspath(path))


def write_idx(path, tensor):
    """Writes an idx file, gzip where the name ends in ".gz". DTypeError for dtypes that the format does not have."""
    _data.write_idx(os.fspath(path), tensor)


def read_png(path, mode="unchanged"):
    """A picture as uint8 [channels, height, width].

    ``mode``: "unchanged" (as many channels as the file has), "gray", "gray_alpha", "rgb" or "rgb_alpha".
    """
    return _data.read_png(os.fspath(path), mode)


def write_png(path, image):
    """Writes uint8 [height, width] or [1 to 4 channels, height, width]."""
    _data.write_png(os.fspath(path), image)


def decode_png(data, mode="unchanged"):
    """A picture in bytes, as read_png gives it."""
    if isinstance(data, int):  # bytes(n) are n zeros
        raise TypeError("decode_png: expected the bytes of a picture, got a number")
    return _data.decode_png(bytes(data), mode)


def encode_png(image):
    """The bytes of the file that write_png writes.

    >>> import neura
    >>> picture = neura.arange(6, dtype=neura.uint8).reshape(1, 2, 3)
    >>> neura.data.decode_png(neura.data.encode_png(picture)).equal(picture)
    True
    """
    return _data.encode_png(image)


def _table(values, names, header):
    return (values, names) if header else values


def read_csv(path, delimiter=",", header=False):
    """Lines of equally many numbers, as float64 [rows, columns]; with ``header`` the pair of these and of the names in
    the first line. FormatError with line and column."""
    return _table(*_data.read_csv(os.fspath(path), delimiter, header), header)


def parse_csv(text, delimiter=",", header=False):
    """The same of text.

    >>> import neura
    >>> neura.data.parse_csv("x,y\\n1,2\\n3,4", header=True)
    (tensor([[1., 2.],
            [3., 4.]], dtype=neura.float64), ['x', 'y'])
    """
    return _table(*_data.parse_csv(text, delimiter, header), header)


def read_text(path):
    """The text in a file of UTF-8. FormatError, with the place, where it is something else."""
    return _data.read_text(os.fspath(path))
