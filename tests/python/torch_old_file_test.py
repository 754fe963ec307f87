"""What torch.save wrote before PyTorch 1.6: a stream of pickles and storages, read without running any."""

import argparse
import collections
import io
import os
import pathlib
import pickle
import random
import struct

import neura
import pytest
from torch_file_kinds_test import Call, Name, Pickler

DATA = pathlib.Path(__file__).parent / "data"
FormatError = neura.errors.FormatError
MAGIC = 0x1950A86A20F9469CFC6C


class Storage:
    def __init__(self, kind, key, elements, part=None):
        self.saved = ("storage", Name(kind), key, "cpu", elements, part)


class OldPickler(Pickler):
    def persistent_id(self, o):
        return o.saved if isinstance(o, Storage) else None


def old_file(value, storages=(), magic=MAGIC, version=1001, machine=None, keys=None):
    """The bytes of a file; storages: (key, elements, bytes)."""
    file = io.BytesIO()
    for head in (magic, version, machine or {"protocol_version": version, "little_endian": True, "type_sizes": {}}):
        file.write(pickle.dumps(head, protocol=2))
    OldPickler(file, 2).dump(value)
    file.write(pickle.dumps(keys or [key for key, _, _ in storages], protocol=2))
    for _, count, data in storages:
        file.write(struct.pack("<q", count) + data)
    return file.getvalue()


def tensor(kind, key, elements, size, stride, offset=0, part=None):
    return Call("torch._utils._rebuild_tensor_v2", Storage(kind, key, elements, part), offset, size, stride, False, {})


FLOATS = struct.pack("<4f", 1, 2, 3, 4)
PAIR = old_file({"a": tensor("torch.FloatStorage", "7", 4, (2, 2), (2, 1)), "n": [3, "x"]}, [("7", 4, FLOATS)])


def test_a_file_that_pytorch_wrote():
    for source in (str(DATA / "legacy.pt"), (DATA / "legacy.pt").read_bytes(), open(DATA / "legacy.pt", "rb")):
        assert neura.equal(neura.load(source)["x"], neura.ones(2))
    assert neura.equal(neura.load(DATA / "legacy.pt", mmap=True)["x"], neura.ones(2))


def test_tensors_share_and_are_parts_of_storages():
    kind = "torch.FloatStorage"
    value = [
        tensor(kind, "0", 4, (2, 2), (1, 2)),
        tensor(kind, "0", 4, (2,), (1,), 1),
        tensor(kind, "0", 4, (2,), (1,), 0, ("v", 2, 2)),
        tensor("torch.LongStorage", "1", 1, (), ()),
    ]
    a, b, c, d = neura.load(old_file(value, [("1", 1, struct.pack("<q", 5)), ("0", 4, FLOATS)]))
    assert a.tolist() == [[1, 3], [2, 4]] and b.tolist() == [2, 3] and c.tolist() == [3, 4] and d.item() == 5
    a[0, 0] = 9.0
    b[0] = 8.0
    assert a.tolist() == [[9, 3], [8, 4]] and c.data_ptr() == a.data_ptr() + 8


def test_places_of_storages_are_chosen():
    assert neura.load(PAIR, map_location="meta")["a"].is_meta
    assert neura.load(PAIR, map_location=lambda storage, place: storage)["n"] == [3, "x"]


@pytest.mark.parametrize(
    "data, text",
    [
        (pickle.dumps({"a": 1}, protocol=2), "another pickle, which is a program"),
        (old_file(1, version=1000), "version 1001"),
        (old_file(1, machine={"little_endian": False}), "little-endian"),
        (old_file(1, keys={"a": 1}), "keys of the storages"),
        (old_file(1, keys=["0"]), "each storage of the value once"),
        (PAIR[:-1], "16 bytes of the storage '7', got 15"),
        (PAIR[:-20], "cut off"),
        (PAIR[:60], "damaged|ends"),
        (old_file(tensor("torch.FloatStorage", "0", 4, (5,), (1,)), [("0", 4, FLOATS)]), "bytes"),
        (old_file(tensor("torch.FloatStorage", "0", 4, (4,), (1,)), [("0", 2**62, FLOATS)]), "bytes of the storage"),
        (old_file(tensor("torch.FloatStorage", "0", 4, (4,), (1,)), [("0", -1, FLOATS)]), "bytes of the storage"),
        (old_file(tensor("torch.FloatStorage", "0", 4, (4,), (1,), 0, ("v", -1, 2)), [("0", 4, FLOATS)]), "part of a"),
        (old_file(tensor("torch.FloatStorage", "0", 4, (4,), (1,), 0, ("v", 1, 2)), [("0", 4, FLOATS)]), "bytes"),
        (old_file(Call("os.system", "true")), "os.system.*never run"),
    ],
)
def test_what_is_refused(data, text):
    with pytest.raises(FormatError, match=text):
        neura.load(data)


def test_damaged_copies_load_or_are_refused():
    dice, whole = random.Random(1), (DATA / "legacy.pt").read_bytes()
    for source in (whole, PAIR):
        for _ in range(1500):
            data = bytearray(source)
            for _ in range(dice.randint(1, 4)):
                data[dice.randrange(len(data))] = dice.choice([0, 1, 46, 88, 113, 128, 255, dice.randrange(256)])
            try:
                neura.load(bytes(data[: dice.randint(1, len(data))] if dice.random() < 0.2 else data), "cpu")
            except (FormatError, neura.errors.DeviceError):
                pass


def test_texts_of_python_2():
    value = b"\x80\x02}q\x00(U\x01aK\x01T\x01\x00\x00\x00bK\x02U\x02\xc3\xa4K\x03U\x01\xe4K\x04u."
    head = old_file(None)
    at = head.index(b"\x80\x02N.")
    assert neura.load(head[:at] + value + head[at + 4 :]) == {"a": 1, "b": 2, "ä": 4}


def zipped(value):
    from torch_file_test import pickle_of

    return neura.load(pickle_of(value))


def test_arrays_and_numbers_of_numpy():
    np = pytest.importorskip("numpy")
    arrays = [
        np.arange(6.0).reshape(2, 3),
        np.arange(6).reshape(2, 3).T,
        np.array(["a", "bc"]),
        np.array([1, 2], ">i2"),
    ]
    for made, given in zip(zipped({"a": arrays})["a"], pickle.loads(pickle.dumps(arrays, 2))):
        assert type(made) is np.ndarray and np.array_equal(made, given) and made.dtype == given.dtype
    made = zipped({"best": np.float64(0.5), "n": np.int64(3), "b": np.bool_(True)})
    assert made == {"best": 0.5, "n": 3, "b": True} and type(made["best"]) is np.float64
    with pytest.raises(FormatError, match="a dtype of numbers, bool or text, got 'O8'"):
        zipped(np.array([{}], dtype=object))
    with pytest.raises(FormatError, match="got 'a dtype of NumPy'"):
        zipped(np.dtype("f4"))


def test_settings_beside_the_weights():
    counted = collections.defaultdict(list, a=[1])
    made = zipped({"args": argparse.Namespace(lr=0.1, names=["a"]), "log": counted, "raw": bytearray(b"ab")})
    assert made["args"] == argparse.Namespace(lr=0.1, names=["a"]) and made["raw"] == bytearray(b"ab")
    assert made["log"] == counted and made["log"]["new"] == []
    with pytest.raises(FormatError, match="never run"):
        zipped(argparse.Namespace(f=os.system))


@pytest.mark.parametrize("old", [False, True])
def test_as_pytorch_writes_them(old, tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    t = torch.arange(12.0).reshape(3, 4)
    value = {"m": torch.nn.Linear(3, 2).state_dict(), "t": t.t(), "half": t.half(), "same": [t, t[1:, ::2]]}
    value["sparse"], value["p"] = t.to_sparse(), torch.nn.Parameter(t)
    torch.save(value, tmp_path / "a.pt", _use_new_zipfile_serialization=not old)
    made = neura.load(tmp_path / "a.pt")
    assert made["t"].tolist() == t.t().tolist() and made["half"].dtype is neura.float16
    assert made["sparse"].to_dense().tolist() == t.tolist() and made["p"].requires_grad
    assert made["same"][1].tolist() == t[1:, ::2].tolist() and made["t"].data_ptr() == made["same"][0].data_ptr()
    torch.save(torch.empty_strided((2, 3), (1, 2), device="meta"), tmp_path / "b.pt")
    meta = neura.load(tmp_path / "b.pt")
    assert meta.is_meta and meta.shape == (2, 3) and meta.stride() == (1, 2)
