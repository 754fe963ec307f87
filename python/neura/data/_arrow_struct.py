"""Arrow's C data interface (https://arrow.apache.org/docs/format/CDataInterface.html): its structures, and who frees
them."""

import ctypes

from .. import _neura
from .._neura import errors


class _Schema(ctypes.Structure):
    pass


class _Array(ctypes.Structure):
    pass


class _Stream(ctypes.Structure):
    pass


_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.POINTER(_Schema)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Schema))),
    ("private_data", ctypes.c_void_p),
]
_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.POINTER(_Array)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))),
    ("private_data", ctypes.c_void_p),
]
_Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Schema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_Stream))),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Stream))),
    ("private_data", ctypes.c_void_p),
]


class Column:
    """What a column is: its name, Arrow's word for its type, and of nested types those of their parts."""

    def __init__(self, name, format, children=(), dictionary=None):
        self.name, self.format, self.children, self.dictionary = name, format, children, dictionary

    @classmethod
    def of(cls, schema):
        children = [cls.of(schema.children[i].contents) for i in range(schema.n_children)]
        dictionary = cls.of(schema.dictionary.contents) if schema.dictionary else None
        return cls((schema.name or b"").decode(), schema.format.decode(), children, dictionary)


class _Owner:
    """Frees an array, all of its columns at once, when nothing reads it any more."""

    def __init__(self, array):
        self.array = array

    def __del__(self):
        if self.array.release:
            self.array.release(ctypes.byref(self.array))


class Chunk:
    """A range of the rows of a column; it and the tensors of it keep the memory alive."""

    def __init__(self, array, owner, copy, offset, length):
        self.array, self.owner, self.copy = array, owner, copy
        self.offset, self.length, self.null_count = offset, length, array.null_count

    def buffer(self, place):
        """The address, or None."""
        return self.array.buffers[place]

    def tensor(self, place, dtype, count, offset):
        """Numbers from the one at `offset` on."""
        if count == 0:
            return _neura.empty(0, dtype=dtype)
        size = dtype.itemsize
        kind = type("Block", (ctypes.c_char * (count * size),), {})  # whose instances may have an attribute
        block = kind.from_address(self.buffer(place) + offset * size)
        block.owner = self.owner
        view = memoryview(block)
        return _neura.frombuffer(view.toreadonly() if self.copy else view, dtype=dtype, count=count)

    def child(self, place, offset, length):
        """The rows of a nested column that belong to these."""
        array = self.array.children[place].contents
        return Chunk(array, self.owner, self.copy, array.offset + offset, length)

    def dictionary(self):
        array = self.array.dictionary.contents
        return Chunk(array, self.owner, self.copy, array.offset, array.length)


def read_stream(capsule, copy):
    """The Column of the table and its Chunks."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    stream = _Stream.from_address(pointer(capsule, b"arrow_array_stream"))

    def checked(code):
        if code:
            said = stream.get_last_error(ctypes.byref(stream))
            text = ctypes.string_at(said) if said else b"no reason"
            raise errors.IoError(f"from_arrow: expected the table's rows, got an error of it: {text.decode()}")

    schema = _Schema()
    checked(stream.get_schema(ctypes.byref(stream), ctypes.byref(schema)))
    try:
        column = Column.of(schema)
    finally:
        schema.release(ctypes.byref(schema))
    chunks = []
    while True:
        array = _Array()
        checked(stream.get_next(ctypes.byref(stream), ctypes.byref(array)))
        if not array.release:
            return column, chunks
        chunks.append(Chunk(array, _Owner(array), copy, array.offset, array.length))
