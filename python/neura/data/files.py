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


def _picture_bytes(op, data):
    """The bytes of a picture: bytes, or a uint8 tensor of one dimension."""
    if isinstance(data, int):  # bytes(n) are n zeros
        raise TypeError(f"{op}: expected the bytes of a picture, got a number")
    if isinstance(data, _neura.Tensor):
        if data.dtype is not _neura.uint8 or data.dim() != 1:
            raise ValueError(f"{op}: expected a uint8 tensor of one dimension, got {data.dtype} {tuple(data.shape)}")
        data = data.cpu().numpy()
    return bytes(data)


def decode_png(data, mode="unchanged"):
    """A picture in bytes, as read_png gives it."""
    return _data.decode_png(_picture_bytes("decode_png", data), mode, False)


def decode_jpeg(data, mode="unchanged", apply_exif_orientation=False):
    """A JPEG picture in bytes as uint8 [channels, height, width].

    ``apply_exif_orientation`` turns it as the camera was. CMYK becomes RGB. FormatError for damaged data, and for a
    picture of more pixels than 2^28 or than its bytes can hold.
    """
    return _data.decode_jpeg(_picture_bytes("decode_jpeg", data), mode, apply_exif_orientation)


def decode_image(input, mode="unchanged", apply_exif_orientation=False):
    """A picture in bytes, PNG, JPEG, WebP, BMP, PPM, PGM or PBM, as uint8 [channels, height, width].

    ``input``: bytes, or a uint8 tensor of one dimension; ``mode`` as in read_png. FormatError for other formats and
    damaged data.

    >>> import neura
    >>> picture = neura.arange(6, dtype=neura.uint8).reshape(1, 2, 3)
    >>> neura.data.decode_image(neura.data.encode_png(picture), mode="RGB").shape
    neura.Size([3, 2, 3])
    """
    return _data.decode_image(_picture_bytes("decode_image", input), mode, apply_exif_orientation)


def read_image(path, mode="unchanged", apply_exif_orientation=False):
    """decode_image of a file. IoError where it cannot be read."""
    return _data.read_image(os.fspath(path), mode, apply_exif_orientation)


def encode_png(image):
    """The bytes of the file that write_png writes.

    >>> import neura
    >>> picture = neura.arange(6, dtype=neura.uint8).reshape(1, 2, 3)
    >>> neura.data.decode_png(neura.data.encode_png(picture)).equal(picture)
    True
    """
    return _data.encode_png(image)


def encode_jpeg(image, quality=75):
    """The bytes of a JPEG file of uint8 [height, width] or [1 or 3 channels, height, width]; ``quality``: 1 to 100.
    DTypeError, ShapeError, ValueError."""
    return _data.encode_jpeg(image, quality)


def write_jpeg(path, image, quality=75):
    """Writes what encode_jpeg makes."""
    data = _data.encode_jpeg(image, quality)
    with open(path, "wb") as file:
        file.write(data)


def encode_ppm(image):
    """The bytes of a PPM file of uint8 [3, height, width], or of a PGM file of [height, width] or [1, height, width].
    DTypeError, ShapeError."""
    return _data.encode_ppm(image)


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
