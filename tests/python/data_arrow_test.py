"""neura.data.from_arrow: columns of tables, from a producer made here and from the packages that are installed."""

import ctypes
import gc

import neura
import pytest
from neura.data import _arrow_struct as structs


class Producer:
    """A table of the C data interface; counts how many of its arrays were released."""

    def __init__(self, *batches, error=None):
        self.batches, self.error, self.released, self.kept = batches, error, 0, []

    def _schema(self, out, format, name, children=(), dictionary=None):
        parts = [structs._Schema() for _ in children]
        for part, child in zip(parts, children):
            self._schema(part, *child)
        out.format, out.name, out.n_children = format.encode(), name.encode(), len(parts)
        pointers = (ctypes.POINTER(structs._Schema) * max(1, len(parts)))(*map(ctypes.pointer, parts))
        out.children = ctypes.cast(pointers, type(out.children))
        if dictionary:
            inner = structs._Schema()
            self._schema(inner, dictionary, "")
            out.dictionary = ctypes.pointer(inner)
            self.kept.append(inner)
        out.release = type(out.release)(lambda s: setattr(s.contents, "release", type(s.contents.release)()))
        self.kept += [parts, pointers, out.release]

    def _array(self, out, length, buffers, children=(), *, nulls=0, offset=0, dictionary=None, counts=False):
        parts = [structs._Array() for _ in children]
        for part, (args, options) in zip(parts, children):
            self._array(part, *args, **options)
        held = [None if b is None else ctypes.create_string_buffer(bytes(b), max(1, len(b))) for b in buffers]
        addresses = (ctypes.c_void_p * max(1, len(held)))(*[b and ctypes.addressof(b) for b in held])
        out.length, out.null_count, out.offset, out.n_buffers = length, nulls, offset, len(held)
        out.buffers, out.n_children = ctypes.cast(addresses, type(out.buffers)), len(parts)
        pointers = (ctypes.POINTER(structs._Array) * max(1, len(parts)))(*map(ctypes.pointer, parts))
        out.children = ctypes.cast(pointers, type(out.children))
        if dictionary:
            inner = structs._Array()
            self._array(inner, *dictionary)
            out.dictionary = ctypes.pointer(inner)
            self.kept.append(inner)

        def release(array):
            self.released += counts
            array.contents.release = type(array.contents.release)()

        out.release = type(out.release)(release)
        self.kept += [parts, held, addresses, pointers, out.release]

    def __arrow_c_stream__(self, requested_schema=None):
        left = list(self.batches)
        columns = [column for column, _, _ in self.batches[0]]

        def schema(stream, out):
            self._schema(out.contents, "+s", "", columns)
            return 0

        def following(stream, out):
            if self.error:
                return 5
            if not left:
                out.contents.release = type(out.contents.release)()
                return 0
            batch = left.pop(0)
            rows = batch[0][1][0]
            self._array(out.contents, rows, [None], [(args, options) for _, args, options in batch], counts=True)
            return 0

        stream = structs._Stream()
        kinds = dict(structs._Stream._fields_)
        stream.get_schema, stream.get_next = kinds["get_schema"](schema), kinds["get_next"](following)
        text = ctypes.create_string_buffer(self.error or b"")
        stream.get_last_error = kinds["get_last_error"](lambda s: ctypes.addressof(text))
        self.kept += [text, stream, stream.get_schema, stream.get_next, stream.get_last_error]
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(stream), b"arrow_array_stream", None)


def ints(*values, kind=ctypes.c_int32):
    return bytes((kind * len(values))(*values))


def floats(*values):
    return bytes((ctypes.c_float * len(values))(*values))


def test_numbers_of_several_pieces():
    table = Producer(
        [(("i", "a"), (2, [None, ints(1, 2)]), {}), (("f", "b"), (2, [b"\x01", floats(0.5, 9)]), {"nulls": 1})],
        [(("i", "a"), (1, [None, ints(0, 3)]), {"offset": 1}), (("f", "b"), (1, [None, floats(2)]), {})],
    )
    got = neura.data.from_arrow(table)
    assert list(got) == ["a", "b"] and got["a"].tolist() == [1, 2, 3] and got["a"].dtype is neura.int32
    assert got["b"][0].item() == 0.5 and got["b"].isnan().tolist() == [False, True, False]
    gc.collect()
    assert table.released == 2  # the copies need nothing of it


def test_shared_memory_lives_as_long_as_its_tensors():
    table = Producer([(("i", "a"), (3, [None, ints(7, 8, 9)]), {})])
    a = neura.data.from_arrow(table, copy=False)["a"]
    gc.collect()
    assert a.tolist() == [7, 8, 9] and table.released == 0
    part = a[1:]
    del a
    gc.collect()
    assert part.tolist() == [8, 9] and table.released == 0
    del part
    gc.collect()
    assert table.released == 1


def test_truths_and_unsigned_numbers_and_times():
    most = ints(-1, 5, kind=ctypes.c_int16)
    truth = Producer([(("b", "truth"), (9, [None, b"\xaa\x03"]), {"offset": 1})])
    table = Producer(
        [
            (("S", "wide"), (2, [None, most]), {}),
            (("tdD", "day"), (2, [None, ints(19000, 19001)]), {}),
            (("tsu:UTC", "time"), (2, [None, ints(5, 6, kind=ctypes.c_int64)]), {}),
        ]
    )
    got = neura.data.from_arrow(table)
    bits = [True, False, True, False, True, False, True, True, True]
    assert neura.data.from_arrow(truth)["truth"].tolist() == bits
    assert got["wide"].tolist() == [65535, 5] and got["wide"].dtype is neura.int32
    assert got["day"].tolist() == [19000, 19001] and got["time"].tolist() == [5, 6]


def test_texts_and_categories():
    text = "späte"
    view = ints(5) + b"early" + bytes(7) + ints(13) + b"a lo" + ints(0, 3) + ints(12) + b"twelve bytes"
    table = Producer(
        [
            (("u", "text"), (3, [b"\x05", ints(0, 6, 6, 9), (text + "abc").encode()]), {"nulls": 1}),
            (("vu", "view"), (3, [None, view, b"---a longer text", ints(16, kind=ctypes.c_int64)]), {}),
            (
                ("c", "kind", (), "u"),
                (3, [None, b"\x01\x00\x01"]),
                {"dictionary": (2, [None, ints(0, 3, 6), b"catdog"])},
            ),
        ]
    )
    got = neura.data.from_arrow(table)
    assert got["text"] == [text, None, "abc"] and got["view"] == ["early", "a longer text", "twelve bytes"]
    assert got["kind"].names == ["cat", "dog"] and got["kind"].codes.tolist() == [1, 0, 1] and len(got["kind"]) == 3


def test_lists_of_numbers():
    inner = ((4, [None, floats(1, 2, 3, 4)]), {})
    ragged = ((3, [None, floats(1, 2, 3)]), {})
    table = Producer(
        [
            (("+w:2", "pair", [("f", "item")]), (2, [None], [inner]), {}),
            (("+l", "list", [("f", "item")]), (2, [None, ints(0, 2, 4)], [inner]), {}),
            (("+l", "ragged", [("f", "item")]), (2, [None, ints(0, 2, 3)], [ragged]), {}),
        ]
    )
    got = neura.data.from_arrow(table, ["list", "pair"])
    assert list(got) == ["list", "pair"] and got["pair"].tolist() == [[1, 2], [3, 4]] == got["list"].tolist()
    with pytest.raises(ValueError, match='"ragged": expected lists of equal length, got 1 to 2; pad them'):
        neura.data.from_arrow(table)


def test_mistakes_are_sentences():
    missing = Producer([(("i", "n"), (2, [b"\x01", ints(1, 2)]), {"nulls": 1}), (("Z", "bytes"), (2, [None]), {})])
    with pytest.raises(ValueError, match='"n": expected a value in every row, got 1 rows without one; fill them first'):
        neura.data.from_arrow(missing, ["n"])
    with pytest.raises(neura.errors.DTypeError, match='got Arrow\'s type "Z"; cast it, or leave it out with columns='):
        neura.data.from_arrow(missing, ["bytes"])
    with pytest.raises(ValueError, match='expected a column "m", got n, bytes'):
        neura.data.from_arrow(missing, ["m"])
    with pytest.raises(OSError, match="an error of it: the server is gone"):
        neura.data.from_arrow(Producer([(("i", "n"), (1, [None, ints(1)]), {})], error=b"the server is gone"))
    with pytest.raises(TypeError, match="__arrow_c_stream__, such as a table of pyarrow .* got dict"):
        neura.data.from_arrow({"a": [1]})


def frames():
    values = {"x": [1.5, 2.5, 3.5], "n": [1, 2, 3], "s": ["a", "bcd", "a text that is longer than twelve bytes"]}

    def pyarrow():
        return pytest.importorskip("pyarrow").table(values)

    def pandas():
        pytest.importorskip("pyarrow")
        return pytest.importorskip("pandas").DataFrame(values)

    def polars():
        return pytest.importorskip("polars").DataFrame(values)

    def datasets():
        return pytest.importorskip("datasets").Dataset.from_dict(values)

    return values, [pyarrow, pandas, polars, datasets]


@pytest.mark.parametrize("make", frames()[1], ids=lambda f: f.__name__)
def test_frames_of_other_packages(make):
    values, _ = frames()
    got = neura.data.from_arrow(make())
    assert {k: v if isinstance(v, list) else v.tolist() for k, v in got.items()} == values
    assert got["n"].dtype is neura.int64 and got["x"].dtype is neura.float64
