"""neura.save, neura.load, neura.safetensors, and files of torch.save."""

import collections
import io
import json
import os
import pathlib
import random
import struct

import neura
import numpy as np
import pytest

DATA = pathlib.Path(__file__).parent / "data"
DTYPES = [neura.bool, neura.uint8, neura.int8, neura.int16, neura.int32, neura.int64, neura.float16, neura.bfloat16]
DTYPES += [neura.float32, neura.float64, neura.complex64, neura.complex128]


def same(a, b):
    """Equal values, types and dtypes, all the way down."""
    if isinstance(a, neura.Tensor):
        return isinstance(b, neura.Tensor) and a.dtype is b.dtype and neura.equal(a, b)
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and (a == b or a != a and b != b)


TREE = {
    "numbers": [0, -1, 2**63 - 1, -(2**63), 2**200, 1.5, -0.0, float("inf"), float("-inf"), float("nan"), 1 - 2j],
    "rest": (None, True, False, "text ä\n", b"\x00\xff", (), [], {}, {1, 2}, frozenset(), neura.bfloat16),
    "device": neura.device("cpu"),
    "keys": {0: "zero", "0": "text", True: 1, None: [neura.ones(2)]},
    "tensors": {str(d): neura.tensor([0, 1, 1]).to(d) for d in DTYPES},
    "shapes": [neura.tensor(2.5), neura.empty(0, 3), neura.arange(6.0).reshape(2, 3).t()],
}


def test_a_tree_comes_back(tmp_path):
    neura.save(TREE, tmp_path / "tree")
    assert same(neura.load(tmp_path / "tree"), TREE)
    file = io.BytesIO()
    neura.save(TREE, file)
    assert file.getvalue() == (tmp_path / "tree").read_bytes()
    file.seek(0)
    assert same(neura.load(file), TREE) and same(neura.load(bytearray(file.getvalue())), TREE)
    assert os.listdir(tmp_path) == ["tree"]


def test_a_tensor_alone_and_its_flags(tmp_path):
    x = neura.ones(2, requires_grad=True)
    neura.save(x, str(tmp_path / "x"))
    y = neura.load(str(tmp_path / "x"))
    assert y.requires_grad and y.is_leaf and y.tolist() == [1, 1]


def test_ordered_dicts_sizes_and_what_numpy_makes(tmp_path):
    net = neura.nn.Linear(2, 1)
    ordered = collections.OrderedDict(b=1, a=neura.Size([2, 3]))
    tree = {"state": net.state_dict(), "ordered": ordered, "loss": np.float32(0.5), "best": np.bool_(True)}
    neura.save(tree, tmp_path / "x")
    back = neura.load(tmp_path / "x")
    assert {type(back[name]) for name in ("state", "ordered")} == {collections.OrderedDict}
    assert list(back["ordered"]) == ["b", "a"]
    assert type(back["ordered"]["a"]) is neura.Size and (back["loss"], back["best"]) == (0.5, True)
    assert neura.equal(back["state"]["weight"], net.weight)

    arrays = [
        np.arange(6.0).reshape(2, 3).T,
        np.arange(4)[::-1],
        np.array(2, np.int8),
        np.zeros((0, 2)),
        np.ones(2) > 0,
    ]
    neura.save(arrays, tmp_path / "x")
    for mine, theirs in zip(neura.load(tmp_path / "x"), arrays, strict=True):
        assert isinstance(mine, np.ndarray) and mine.dtype == theirs.dtype and np.array_equal(mine, theirs)
    with pytest.raises(TypeError, match='numpy.ndarray at "0"'):
        neura.save([np.array(["a"])], tmp_path / "x")


def test_shared_tensors_are_one(tmp_path):
    x = neura.arange(1000.0)
    neura.save({"a": x, "b": x, "c": x.detach(), "d": x[:10]}, tmp_path / "x")
    assert os.path.getsize(tmp_path / "x") < 6000
    y = neura.load(tmp_path / "x")
    y["a"][0] = 7
    assert y["b"][0].item() == 7 and y["c"][0].item() == 7 and y["d"][0].item() == 7


def test_other_readers_see_the_tensors(tmp_path):
    neura.save({"model": {"0.weight": neura.ones(2, 3), "n": 1}}, tmp_path / "x", metadata={"note": "mine"})
    data = (tmp_path / "x").read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    assert header["model.0.weight"] == {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}
    assert header["__metadata__"]["note"] == "mine" and len(data) == 8 + size + 24
    assert neura.safetensors.load_file(tmp_path / "x").keys() == {"model.0.weight"}


def test_what_cannot_be_saved_is_named(tmp_path):
    class Thing:
        def state_dict(self):
            return {}

    Pair = collections.namedtuple("Pair", "a b")
    deep = []
    for _ in range(100):
        deep = [deep]
    for value, kind, text in [
        ({"a": [1, Thing()]}, TypeError, r'Thing at "a.1"; save its state_dict\(\)'),
        ([neura.ones(1), print], TypeError, 'builtin_function_or_method at "1"'),
        (Pair(1, 2), TypeError, "Pair at the top"),
        ({(1, 2): 3}, TypeError, "keys that are text or integers, got tuple"),
        (deep, ValueError, "at most 64 levels"),
        ({"\ud800": neura.ones(1)}, (ValueError, UnicodeEncodeError), ""),
    ]:
        with pytest.raises(kind, match=text):
            neura.save(value, tmp_path / "x")
    with pytest.raises(ValueError, match="Neura's own"):
        neura.save(1, tmp_path / "x", metadata={"neura.value": ""})
    with pytest.raises(TypeError):
        neura.save(1, tmp_path / "x", metadata={"a": 1})
    assert not list(tmp_path.iterdir())


def test_the_old_file_stays_when_saving_fails(tmp_path):
    neura.save(1, tmp_path / "x")
    with pytest.raises(TypeError):
        neura.save([neura.ones(1000), object()], tmp_path / "x")
    assert neura.load(tmp_path / "x") == 1 and os.listdir(tmp_path) == ["x"]
    with pytest.raises(OSError):
        neura.save(1, tmp_path / "no" / "x")
    with pytest.raises(neura.errors.IoError):
        neura.save(1, tmp_path)


def test_what_the_system_refuses_is_the_built_in_error_too(tmp_path):
    with pytest.raises(FileNotFoundError) as e:
        neura.load(tmp_path / "nowhere")
    assert isinstance(e.value, neura.errors.IoError) and "nowhere" in str(e.value)
    with pytest.raises(neura.errors.IoError):
        neura.load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(neura.errors.IoError, match="not a regular file"):
        neura.load(tmp_path / "pipe")
    for wrong in (5, None, ["x"]):
        with pytest.raises(TypeError):
            neura.load(wrong)


def test_damage_is_a_format_error(tmp_path):
    neura.save(TREE, tmp_path / "x")
    data = (tmp_path / "x").read_bytes()
    refused = 0
    dice = random.Random(0)
    for i in range(300):
        changed = bytearray(data)
        if i % 3 == 0:
            del changed[dice.randrange(len(data)) :]
        for _ in range(dice.randrange(4)):
            if changed:
                changed[dice.randrange(min(len(changed), 3000))] = dice.randrange(256)
        try:
            neura.load(bytes(changed))
        except (neura.errors.FormatError, neura.errors.DeviceError):
            refused += 1
    assert refused > 150
    for text in [
        "[1]",
        "{}",
        '{"tensor":"x"}',
        '{"dict":[[[],1]]}',
        '{"set":[{"list":[]}]}',
        '{"what":"x"}',
        "1" * 5000,
    ]:
        with pytest.raises(neura.errors.FormatError, match="damaged|not known"):
            neura.load(neura.safetensors.save({}, {"neura.value": text}))
    nested = '{"list":[' * 5000 + "]}" * 5000
    with pytest.raises(neura.errors.FormatError):
        neura.load(neura.safetensors.save({}, {"neura.value": nested}))


def test_mapped_files_are_not_copied(tmp_path):
    saved = {"a": neura.arange(100000.0), "b": neura.ones(3, dtype=neura.bool), "c": neura.arange(7)}
    neura.save(saved, tmp_path / "x")
    before = (tmp_path / "x").read_bytes()
    mapped = neura.load(tmp_path / "x", mmap=True)
    assert same(mapped, saved)
    assert lies_in(mapped["a"], tmp_path / "x") and not lies_in(neura.load(tmp_path / "x")["a"], tmp_path / "x")
    a = mapped["a"]
    del mapped["a"]
    a.mul_(2).add_(1)
    mapped["b"].logical_not_()
    assert a[99999].item() == 199999 and mapped["c"].tolist() == list(range(7)) and not mapped["b"].any().item()
    assert (tmp_path / "x").read_bytes() == before
    os.remove(tmp_path / "x")
    assert a.sum().item() == pytest.approx(2 * 4999950000 + 100000)
    with pytest.raises(ValueError, match="expected a path"):
        neura.load(before, mmap=True)


def lies_in(tensor, path):
    """Is the tensor's memory a mapping of this file?"""
    for line in open("/proc/self/maps"):
        fields = line.split()
        if fields[-1] == str(path):
            begin, end = (int(x, 16) for x in fields[0].split("-"))
            if begin <= tensor.data_ptr() < end:
                return True
    return False


def test_map_location(tmp_path):
    header = {"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}
    own = {"format": 1, "version": "0", "tensors": {"x": {"device": "cuda:1"}}}
    header["__metadata__"] = {"neura": json.dumps(own)}
    text = json.dumps(header).encode()
    file = struct.pack("<Q", len(text)) + text + struct.pack("<f", 5)
    with pytest.raises(neura.errors.DeviceError, match='pass map_location "cpu"'):
        neura.load(file)
    seen = []
    for place in [
        "cpu",
        neura.device("cpu"),
        {"cuda:1": "cpu"},
        lambda s, where: seen.append(where) or s,
        lambda *_: "cpu",
    ]:
        assert neura.load(file, map_location=place)["x"].item() == 5
    assert seen == ["cuda:1"]
    with pytest.raises(TypeError):
        neura.load(file, map_location=3)
    with pytest.raises(ZeroDivisionError):
        neura.load(file, map_location=lambda *_: 1 / 0)


def test_safetensors_by_its_own_names(tmp_path):
    st = neura.safetensors
    tensors = {"b": neura.ones(2, 2).to(neura.bfloat16), "a": neura.arange(3)}
    st.save_file(tensors, tmp_path / "x.safetensors", metadata={"format": "pt"})
    assert same(st.load_file(tmp_path / "x.safetensors"), tensors)
    assert same(st.load(st.save(tensors)), tensors)
    with st.safe_open(tmp_path / "x.safetensors", framework="pt") as f:
        assert sorted(f.keys()) == ["a", "b"] and f.metadata() == {"format": "pt"}
        assert f.get_tensor("a").tolist() == [0, 1, 2] and f.get_slice("a")[1:].tolist() == [1, 2]
        with pytest.raises(IndexError):
            f.get_tensor("c")
    with pytest.raises(TypeError, match="expected a tensor for 'x', got int"):
        st.save_file({"x": 1}, tmp_path / "y")


def test_files_in_parts(tmp_path):
    st = neura.safetensors
    st.save_file({"a": neura.ones(1)}, tmp_path / "m-1.safetensors")
    st.save_file({"b": neura.zeros(1)}, tmp_path / "m-2.safetensors")
    index = tmp_path / "m.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors"}}))
    assert same(st.load_file(index), {"a": neura.ones(1), "b": neura.zeros(1)})
    for wrong in ["[]", "{", '{"weight_map": {"a": "../m-1.safetensors"}}', '{"weight_map": {"b": "m-1.safetensors"}}']:
        index.write_text(wrong)
        with pytest.raises(neura.errors.FormatError):
            st.load_file(index)


def test_eight_bit_floats():
    """Bytes pass through as they are."""
    text = json.dumps({"x": {"dtype": "F8_E4M3", "shape": [2], "data_offsets": [0, 2]}}).encode()
    file = struct.pack("<Q", len(text)) + text + b"\x38\xc0"
    x = neura.load(file)["x"]
    assert x.dtype is neura.float8_e4m3fn and neura.safetensors.save({"x": x})[-2:] == b"\x38\xc0"


def saved_on_a_gpu(data):
    """The file as a machine with a GPU would have written it."""
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    own = json.loads(header["__metadata__"]["neura"])
    for name in header.keys() - {"__metadata__"}:
        own.setdefault("tensors", {}).setdefault(name, {})["device"] = "cuda:0"
    header["__metadata__"]["neura"] = json.dumps(own)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data[8 + size :]


def test_an_optimizer_saved_on_a_gpu_goes_on_without_one():
    def step(optimizer, p, n):
        p.grad = neura.sin(neura.arange(4.0) + n)
        optimizer.step()

    p = neura.ones(4, requires_grad=True)
    optimizer = neura.optim.Adam([p], lr=0.1)
    for n in range(3):
        step(optimizer, p, n)
    file = io.BytesIO()
    neura.save({"p": p, "optimizer": optimizer.state_dict()}, file)
    data = saved_on_a_gpu(file.getvalue())
    with pytest.raises(neura.errors.DeviceError, match="cuda:0"):
        neura.load(data)
    saved = neura.load(data, map_location="cpu")
    fresh = neura.optim.Adam([saved["p"]])
    fresh.load_state_dict(saved["optimizer"])
    for n in range(3, 6):
        step(optimizer, p, n)
        step(fresh, saved["p"], n)
    assert neura.equal(p, saved["p"])


FORMAT_1 = {
    "half": neura.tensor([0.5, -2.0], dtype=neura.float16),
    "z": neura.tensor([1 + 2j]),
    "n": [1, None, {3: "x"}],
}


def test_files_of_every_past_format_load():
    """data/format-1.safetensors is what save(FORMAT_1) wrote when format 1 was the newest."""
    assert same(neura.load(DATA / "format-1.safetensors"), FORMAT_1)


def test_a_path_with_a_byte_0_is_refused(tmp_path):
    for name in ("q\0.safetensors", "q\0"):
        with pytest.raises(ValueError):
            neura.save({"x": neura.ones(2)}, f"{tmp_path}/{name}")
    assert not list(tmp_path.iterdir())
