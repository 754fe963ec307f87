"""Columns of tables as tensors: of pyarrow, polars, pandas, duckdb and whatever else has `__arrow_c_stream__`.

They come by Arrow's C data interface, so that none of these packages is needed here.
"""

import ctypes
import itertools

from .. import _neura
from .._neura import errors
from ._arrow_struct import Column, read_stream

_FLOATS = {"e": "float16", "f": "float32", "g": "float64"}
_SIGNED = {"c": "int8", "s": "int16", "i": "int32", "l": "int64"}
_UNSIGNED = {
    "C": ("uint8", "uint8", 0),
    "S": ("int16", "int32", 16),
    "I": ("int32", "int64", 32),
    "L": ("int64",) * 2 + (0,),
}
_TIMES = {"tdD": "i", "tdm": "l", "tts": "i", "ttm": "i", "ttu": "l", "ttn": "l"}  # dates and times are integers
_TEXTS = "u", "U", "vu"


def _name(column):
    return f'from_arrow: column "{column.name}"'


def _refuse_missing(column, missing):
    if missing:
        raise errors.ValueError(
            f"{_name(column)}: expected a value in every row, got {missing} rows without one; fill them first"
        )


def _bits(chunk, place):
    """A bool tensor of packed bits; of all True where there are none, as of a column that has every value."""
    address = chunk.buffer(place)
    if not address:
        return _neura.ones(chunk.length, dtype=_neura.bool)
    first = chunk.offset // 8
    packed = chunk.tensor(place, _neura.uint8, (chunk.offset + chunk.length + 7) // 8 - first, first)
    weights = _neura.tensor([1, 2, 4, 8, 16, 32, 64, 128], dtype=_neura.uint8)
    at = chunk.offset % 8
    return ((packed[:, None] & weights) != 0).flatten()[at : at + chunk.length]


def _missing(chunk):
    """How many rows have no value."""
    if chunk.null_count == 0 or not chunk.buffer(0):
        return 0
    return chunk.length - int(_bits(chunk, 0).sum())


def _numbers(column, chunk):
    kind = _TIMES.get(column.format, "l" if column.format[:2] in ("ts", "tD") else column.format)
    if kind in _FLOATS:
        values = chunk.tensor(1, getattr(_neura, _FLOATS[kind]), chunk.length, chunk.offset)
        return values if not _missing(chunk) else _neura.where(_bits(chunk, 0), values, float("nan"))
    _refuse_missing(column, _missing(chunk))
    if kind == "b":
        return _bits(chunk, 1)
    if kind in _SIGNED:
        return chunk.tensor(1, getattr(_neura, _SIGNED[kind]), chunk.length, chunk.offset)
    read, wide, bits = _UNSIGNED[kind]
    values = chunk.tensor(1, getattr(_neura, read), chunk.length, chunk.offset)
    if kind == "L" and chunk.length and values.min() < 0:
        raise errors.ValueError(f"{_name(column)}: expected numbers below 2^63, got larger ones; cast it to float64")
    values = values.to(getattr(_neura, wide))
    return values & (2**bits - 1) if bits else values


def _rows(column, chunk):
    """Lists of equally many numbers, as [rows, numbers]."""
    _refuse_missing(column, _missing(chunk))
    child = column.children[0]
    if column.format.startswith("+w:"):
        wide = int(column.format[3:])
        inner = chunk.child(0, chunk.offset * wide, chunk.length * wide)
    else:
        dtype = _neura.int32 if column.format == "+l" else _neura.int64
        ends = chunk.tensor(1, dtype, chunk.length + 1, chunk.offset) if chunk.length else _neura.zeros(1, dtype=dtype)
        sizes = ends[1:] - ends[:-1]
        wide = int(sizes[0]) if chunk.length else 0
        if chunk.length and sizes.min() != sizes.max():
            raise errors.ValueError(
                f"{_name(column)}: expected lists of equal length, got {int(sizes.min())} to {int(sizes.max())}; "
                f"pad them"
            )
        inner = chunk.child(0, int(ends[0]), chunk.length * wide)
    values = _values(child, [inner])
    if not isinstance(values, _neura.Tensor):
        raise errors.DTypeError(f"{_name(column)}: expected lists of numbers, got lists of text")
    return values.reshape(chunk.length, wide, *values.shape[1:])


def _text_places(column, chunk):
    """(address, bytes) of each text."""
    if column.format == "vu":  # 16 bytes each: the length, then the text itself or where it is
        for i in range(chunk.offset, chunk.offset + chunk.length):
            view = chunk.buffer(1) + 16 * i
            size, _, buffer, at = (ctypes.c_int32 * 4).from_address(view)
            yield (view + 4 if size <= 12 else chunk.buffer(2 + buffer) + at), size
        return
    kind = ctypes.c_int32 if column.format == "u" else ctypes.c_int64
    if not chunk.length:
        return
    ends = (kind * (chunk.offset + chunk.length + 1)).from_address(chunk.buffer(1))
    ends = ends[chunk.offset :]
    for begin, end in zip(ends, ends[1:]):
        yield (chunk.buffer(2) or 0) + begin, end - begin


def _texts(column, chunk):
    there = _bits(chunk, 0).tolist() if _missing(chunk) else itertools.repeat(True)
    places = _text_places(column, chunk)
    return [ctypes.string_at(at, size).decode() if is_there else None for (at, size), is_there in zip(places, there)]


def _categories(column, chunks):
    """Codes and their names; of chunks with dictionaries of their own, codes into one of all."""
    names, codes = {}, []
    for chunk in chunks:
        _refuse_missing(column, _missing(chunk))
        own = _values(column.dictionary, [chunk.dictionary()])
        if isinstance(own, _neura.Tensor):
            own = own.tolist()
        places = _neura.tensor([names.setdefault(name, len(names)) for name in own], dtype=_neura.int64)
        codes.append(places[_numbers(Column(column.name, column.format), chunk).to(_neura.int64)])
    return Categories(_neura.cat(codes) if codes else _neura.empty(0, dtype=_neura.int64), list(names))


def _values(column, chunks):
    if column.dictionary is not None:
        return _categories(column, chunks)
    if column.format in _TEXTS:
        return [text for chunk in chunks for text in _texts(column, chunk)]
    lists = column.format in ("+l", "+L") or column.format.startswith("+w:")
    if not lists and column.format not in (*_FLOATS, *_SIGNED, *_UNSIGNED, *_TIMES, "b"):
        if column.format[:2] not in ("ts", "tD"):
            raise errors.DTypeError(
                f"{_name(column)}: expected numbers, truths, texts, categories or lists of numbers, got Arrow's type "
                f'"{column.format}"; cast it, or leave it out with columns='
            )
    parts = [(_rows if lists else _numbers)(column, chunk) for chunk in chunks if chunk.length]
    if not parts:
        dtype = {**_FLOATS, **_SIGNED, "b": "bool"}.get(column.format, "int64")
        return _neura.empty((0, 0) if lists else 0, dtype=getattr(_neura, dtype))
    return parts[0] if len(parts) == 1 else _neura.cat(parts)


class Categories:
    """A column of few different values. ``codes``: int64 [rows], the place of each row's value in ``names``."""

    def __init__(self, codes, names):
        self.codes, self.names = codes, names

    def __len__(self):
        return len(self.codes)

    def __repr__(self):
        return f"Categories({len(self)} rows, names={self.names!r})"


def from_arrow(data, columns=None, *, copy=True):
    """The columns of a table by name, a dict.

    Numbers, truths, dates and times become tensors [rows], lists of equally many numbers tensors [rows, numbers],
    texts lists of str, and what the table holds as categories (Arrow's dictionaries) ``Categories``. Missing numbers
    with fractions are NaN, missing texts None; other missing values are a ValueError. ``uint16`` and ``uint32`` become
    the next wider integer.

    ``data``: an object with ``__arrow_c_stream__``: a table of pyarrow, a frame of polars or pandas, a relation of
    duckdb. ``columns``: the names that are wanted. ``copy=False``: columns in one piece are tensors over the
    table's own memory, which must not be written. ValueError for a column that is not there, DTypeError for other
    types.

    >>> import neura
    >>> pandas = __import__("pandas")  # doctest: +SKIP
    >>> frame = pandas.DataFrame({"x": [1.0, 2.0], "y": [0, 1]})  # doctest: +SKIP
    >>> neura.data.from_arrow(frame)  # doctest: +SKIP
    {'x': tensor([1., 2.], dtype=neura.float64), 'y': tensor([0, 1])}
    """
    if not hasattr(data, "__arrow_c_stream__"):
        table = getattr(getattr(data, "data", None), "table", None)  # a Dataset of Hugging Face's datasets
        if table is None or getattr(data, "_indices", None) is not None:
            raise TypeError(
                f"from_arrow: expected an object with __arrow_c_stream__, such as a table of pyarrow or a frame of "
                f"polars or pandas, got {type(data).__name__}"
                + ("" if table is None else "; call its flatten_indices() first")
            )
        data = table
    schema, chunks = read_stream(data.__arrow_c_stream__(), copy)
    if not schema.format == "+s":
        raise errors.DTypeError("from_arrow: expected a table, got one column; put it into a table")
    there = {column.name: i for i, column in enumerate(schema.children)}
    wanted = list(there) if columns is None else list(columns)
    for name in wanted:
        if name not in there:
            raise errors.ValueError(f'from_arrow: expected a column "{name}", got {", ".join(there)}')
    rows = [(chunk, chunk.offset, chunk.length) for chunk in chunks]
    return {
        name: _values(schema.children[there[name]], [c.child(there[name], at, size) for c, at, size in rows])
        for name in wanted
    }
