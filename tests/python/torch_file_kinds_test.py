"""Files of torch.save beyond dense tensors: sparse ones, dtypes that Neura lacks, two files in one."""

import collections
import io
import pickle
import struct
import zipfile

import neura
import pytest

FormatError = neura.errors.FormatError


class Name:
    """What a pickle calls by this name."""

    def __init__(self, text):
        self.text = text


class Call:
    def __init__(self, name, *args):
        self.name, self.args = Name(name), args

    def __reduce_ex__(self, protocol):
        return self.name, self.args


class Storage:
    def __init__(self, kind, key, elements):
        self.saved = ("storage", Name(kind), key, "cpu", elements)


class Pickler(pickle._Pickler):
    """As torch.save writes: names are texts, and storages are persistent."""

    def persistent_id(self, o):
        return o.saved if isinstance(o, Storage) else None

    def save_reduce(self, func, args, *more, **keywords):
        self.save(func)
        self.save(args)
        self.write(pickle.REDUCE)

    def save(self, o, save_persistent_id=True):
        if isinstance(o, Name):
            module, _, name = o.text.rpartition(".")
            return self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        return super().save(o, save_persistent_id)


def saved(value, *storages):
    """The bytes of a file that torch.save makes of a value with these storages."""
    text, file = io.BytesIO(), io.BytesIO()
    Pickler(text, 2).dump(value)
    with zipfile.ZipFile(file, "w") as z:
        z.writestr("x/data.pkl", text.getvalue())
        for i, data in enumerate(storages):
            z.writestr(f"x/data/{i}", data)
    return file.getvalue()


def dense(kind, key, size, elements=None):
    strides = [1]
    for n in size[:0:-1]:
        strides.insert(0, strides[0] * n)
    n = elements or strides[0] * size[0]
    storage = Storage(f"torch.{kind}Storage", key, n)
    return Call(
        "torch._utils._rebuild_tensor_v2", storage, 0, size, tuple(strides), False, Call("collections.OrderedDict")
    )


def sparse(layout, *parts):
    return Call(
        "torch._utils._rebuild_sparse_tensor", Call("torch.serialization._get_layout", f"torch.{layout}"), parts
    )


def size(*sizes):
    return Call("torch.Size", sizes)


INDICES, VALUES = struct.pack("<4q", 0, 1, 2, 0), struct.pack("<2f", 3, 4)


def test_sparse_tensors_are_read():
    parts = dense("Long", "0", (2, 2)), dense("Float", "1", (2,)), size(2, 3)
    for more in ((), (True,), (False,), (None,)):
        t = neura.load(saved({"s": sparse("sparse_coo", *parts, *more)}, INDICES, VALUES))["s"]
        assert t.layout == neura.sparse_coo and t.is_coalesced() is (more == (True,))
        assert t.to_dense().tolist() == [[0, 0, 3], [4, 0, 0]]
    rows, columns = struct.pack("<3q", 0, 1, 2), struct.pack("<2q", 2, 0)
    parts = dense("Long", "0", (3,)), dense("Long", "1", (2,)), dense("Float", "2", (2,)), size(2, 3)
    t = neura.load(saved([sparse("sparse_csr", *parts)], rows, columns, VALUES))[0]
    assert t.layout == neura.sparse_csr and t.to_dense().tolist() == [[0, 0, 3], [4, 0, 0]]
    assert neura.load(saved(Call("torch.serialization._get_layout", "torch.strided"))) == neura.strided


def test_damaged_sparse_tensors_are_refused():
    indices, values = dense("Long", "0", (2, 2)), dense("Float", "1", (2,))
    for parts in [
        (indices, values, size(2, 2)),  # an index outside
        (indices, values, size(2)),
        (indices, values, (-1, 3)),
        (indices, values),
        (indices, 3, size(2, 3)),
        (values, indices, size(2, 3)),
        (indices, values, size(2, 3), True, True),
    ]:
        with pytest.raises(FormatError):
            neura.load(saved(sparse("sparse_coo", *parts), INDICES, VALUES))
    for layout in ("sparse_csr", "strided", "jagged", "Tensor"):
        with pytest.raises(FormatError):
            neura.load(saved(sparse(layout, indices, values, size(2, 3)), INDICES, VALUES))


def test_dtypes_and_tensors_that_are_not_there_are_named():
    storage = Storage("torch.storage.UntypedStorage", "0", 4)
    for kind in ("quint8", "complex32", "float8_e8m0fnu", "bits8"):
        v3 = "torch._utils._rebuild_tensor_v3"
        t = Call(v3, storage, 0, (2,), (1,), False, collections.OrderedDict(), Name(f"torch.{kind}"))
        with pytest.raises(FormatError, match=f"expected a dtype of Neura, got 'torch.{kind}'; convert the tensor"):
            neura.load(saved(t, b"1234"))
    with pytest.raises(FormatError, match="expected a dtype of Neura, got 'torch.QInt8Storage'"):
        neura.load(saved(dense("QInt8", "0", (2,)), b"12"))
    for name in (
        "torch._utils._rebuild_qtensor",
        "torch._utils._rebuild_nested_tensor",
        "torch._tensor._rebuild_from_type_v2",
    ):
        with pytest.raises(FormatError, match=f"expected dense and sparse tensors, got one that '{name}' makes"):
            neura.load(saved(Call(name, storage), b"1234"))
    with pytest.raises(FormatError, match="code, which is never run"):
        neura.load(saved(Call("torch.load", "x")))


@pytest.mark.parametrize("mmap", [False, True])
def test_two_files_one_behind_the_other_are_refused(tmp_path, mmap):
    one, two = saved({"n": 1}), saved({"n": 2}, VALUES)
    assert neura.load(one) == {"n": 1}
    path = tmp_path / "both.pt"
    path.write_bytes(one + two)
    with pytest.raises(FormatError, match=f"expected one file of torch.save, got another {len(one)} bytes before it"):
        neura.load(path, mmap=mmap)
