"""Files of torch.save: what is read, what is refused, and that nothing in them is ever run."""

import collections
import io
import os
import pathlib
import pickle
import random
import struct
import time
import zipfile

import neura
import pytest

DATA = pathlib.Path(__file__).parent / "data"
FormatError = neura.errors.FormatError


def archive(pickled, storages=(), compression=zipfile.ZIP_STORED, prefix="x/", **more):
    """A file as torch.save writes it, of these bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as z:
        z.writestr(prefix + "data.pkl", pickled)
        for i, data in enumerate(storages):
            z.writestr(f"{prefix}data/{i}", data)
        for name, data in more.items():
            z.writestr(prefix + name, data)
    return file.getvalue()


def pickle_of(value):
    return archive(pickle.dumps(value, protocol=2))


def tensor_pickle(size, stride, offset=0, kind="FloatStorage", key="0", elements=4):
    """The pickle of one tensor over storage 0."""

    class Saved:
        def __reduce__(self):
            return rebuild, (Storage(), offset, size, stride, False, collections.OrderedDict())

    class Storage:
        pass

    def rebuild():
        pass

    class Pickler(pickle._Pickler):
        def persistent_id(self, o):
            return ("storage", cls, key, "cpu", elements) if isinstance(o, Storage) else None

        def save_global(self, o, name=None):
            names = {rebuild: "torch._utils\n_rebuild_tensor_v2", cls: f"torch\n{kind}"}
            text = names.get(o) or f"{o.__module__}\n{o.__name__}"
            self.write(b"c" + text.encode() + b"\n")

        dispatch = pickle._Pickler.dispatch.copy()
        dispatch[type(rebuild)] = save_global

    class cls:
        pass

    Pickler.dispatch[type] = Pickler.save_global
    file = io.BytesIO()
    Pickler(file, 2).dump(Saved())
    return file.getvalue()


FLOATS = struct.pack("<4f", 0, 1, 2, 3)


def test_containers_come_as_torch_saved_them():
    x = neura.load(DATA / "containers.pt")
    inf = float("inf")
    plain = [None, True, False, 0, -1, 255, 65536, -(2**40), 2**70, 1.5, inf, "text ä", b"\x00\xff", 2 - 1j]
    assert x["plain"] == plain and list(map(type, x["plain"])) == list(map(type, plain))
    assert x["tuples"] == ((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4))
    assert x["nested"] == {"a": {1: [2, {"b": ()}]}, 3: {4, 5}}
    assert type(x["ordered"]) is collections.OrderedDict and list(x["ordered"].items()) == [("z", 1), ("a", 2)]
    assert type(x["counter"]) is collections.Counter and x["counter"] == {1: 2, 2: 1}
    assert x["types"] == [neura.float32, neura.bfloat16, neura.device("cpu"), (2, 3)]


def test_tensors_come_as_torch_saved_them():
    x = neura.load(DATA / "containers.pt")
    base, turned, stepped, one = x["views"]
    assert turned.shape == (4, 3) and turned.stride() == (1, 4) and turned.tolist()[1] == [1, 5, 9]
    assert stepped.tolist() == [2, 4, 6] and one.dim() == 0 and one.item() == 5
    base.add_(1)
    assert one.item() == 6 and turned[1, 1].item() == 6 and stepped.tolist() == [3, 5, 7]
    assert x["same"][0] is x["same"][1]
    for name, t in x["dtypes"].items():
        assert t.dtype is getattr(neura, name)
        values = [0, 1, 2, 1] if name != "bool" else [0, 1, 1, 1]
        if name != "float8_e4m3fn":
            assert t.tolist() == values, name
    assert [tuple(t.shape) for t in x["empty"]] == [(0,), (2, 0), ()] and x["empty"][2].item() == 2.5
    assert x["conjugate"][0].tolist() == [1 - 2j] and x["conjugate"][1].tolist() == [-2]
    assert x["parameter"].requires_grad and x["leaf"].requires_grad and x["leaf"].is_leaf
    assert x["expanded"].shape == (3, 2) and x["expanded"].stride() == (0, 0)


@pytest.mark.parametrize("mmap", [False, True])
def test_a_model_gives_torchs_outputs(mmap):
    saved = neura.load(DATA / "model.pt", mmap=mmap)
    w, F = saved["model"], neura.nn.functional
    y = F.conv2d(saved["input"], w["0.weight"], w["0.bias"], padding=1)
    y = F.batch_norm(y, w["1.running_mean"], w["1.running_var"], w["1.weight"], w["1.bias"]).relu().flatten(1)
    y = F.layer_norm(F.linear(y, w["4.weight"], w["4.bias"]), (4,), w["5.weight"], w["5.bias"])
    assert neura.allclose(y, saved["output"], atol=1e-5)
    assert w["1.num_batches_tracked"].item() == 1
    w["0.weight"].zero_()
    assert neura.allclose(neura.load(DATA / "model.pt")["output"], saved["output"])


def test_sources_are_paths_files_and_bytes():
    data = (DATA / "model.pt").read_bytes()
    for source in [str(DATA / "model.pt"), data, io.BytesIO(data), memoryview(data)]:
        assert neura.load(source, map_location="cpu", weights_only=False)["output"].shape == (5, 4)


def test_what_is_no_tensor_is_refused_by_its_name():
    with pytest.raises(FormatError, match="torch.nn.modules.linear.Linear.*save a state_dict"):
        neura.load(DATA / "module.pt")


def test_nothing_is_run(tmp_path):
    victim = tmp_path / "victim"

    class Evil:
        def __init__(self, f, *args):
            self.f, self.args = f, args

        def __reduce__(self):
            return self.f, self.args

    for evil in [
        Evil(os.system, f"touch {victim}"),
        Evil(eval, f"open({str(victim)!r}, 'w')"),
        Evil(getattr, 1, "real"),
    ]:
        for value in (evil, [evil], {"a": evil}, {1: collections.OrderedDict(x=evil)}):
            for protocol in (2, 3, 4, 5):
                with pytest.raises(FormatError, match="system|eval|getattr|instruction"):
                    neura.load(archive(pickle.dumps(value, protocol=protocol)))
    for name in [
        b"os\nsystem",
        b"torch\nload",
        b"torch.serialization\nload",
        b"builtins\nexec",
        b"neura\nload",
        b"a.b\nc",
    ]:
        with pytest.raises(FormatError, match="code, which is never run"):
            neura.load(archive(b"c" + name + b"\n."))
    assert not victim.exists()


def test_damaged_pickles_are_refused():
    rebuild = b"ctorch._utils\n_rebuild_tensor_v2\n"
    for text in [
        b"",
        b"\x80\x02",
        b".",
        b"(.",
        b"K",
        b"0.",
        b"K\x01}s.",
        b"]K\x01a",
        b"K\x01K\x01a.",
        b"}]K\x01s.",
        b"}(K\x01u.",
        b"}((ttK\x02s.",
        b"h\x07.",
        b"(q\x00.",
        b"(2.",
        b"e.",
        b"t.",
        b"X\xff\xff\xff\xffabc.",
        b"\x8d\xff\xff\xff\xff\xff\xff\xff\xffabc.",
        b"X\x01\x00\x00\x00\xff.",
        b"\x8a\xff.",
        b"ctorch._utils\n",
        b"c\xff\n\xff\n.",
        b"ctorch\nFloatStorage\n.",
        b"]ctorch\nFloatStorage\na.",
        b"K\x01Q.",
        b"(U\x07storageK\x01K\x01K\x01K\x01tQ.",
        b"\x8c\x07storage\x85Q.",
        rebuild + b")R.",
        rebuild + b"K\x01R.",
        rebuild + b"(K\x01K\x00))\x89}tR.",
        b"ccollections\nOrderedDict\n(K\x01tR.",
        b"ccollections\nOrderedDict\n)R}\x8c\x01aK\x01sb.",
        b"ccollections\nCounter\n(K\x01tR.",
        b"ctorch\ndevice\n\x8c\x04moon\x85R.",
        b"ctorch\nSize\n\x8c\x01a\x85R.",
        b"c_codecs\nencode\nX\x01\x00\x00\x00a\x8c\x03rot\x86R.",
        b"cbuiltins\nset\n]]a\x85R.",
        b"\x8f(]\x90.",
        b"K\x01K\x01b.",
        b"I1\n.",
        b"i" * 10,
    ]:
        with pytest.raises((FormatError, neura.errors.DeviceError)):
            neura.load(archive(text))
    with pytest.raises(FormatError):  # a class within the result
        neura.load(archive(b"ctorch\nDoubleStorage\n\x85."))


def test_tensors_beyond_their_storage_are_refused():
    read = lambda *args, **kwargs: neura.load(archive(tensor_pickle(*args, **kwargs), [FLOATS]))  # noqa: E731
    assert read((2, 2), (2, 1)).tolist() == [[0, 1], [2, 3]]
    assert read((2,), (1,), 2).tolist() == [2, 3] and read((0, 5), (5, 1), 4).numel() == 0
    assert read((3,), (0,), 3).tolist() == [3, 3, 3]
    assert read((2,), (1,), kind="DoubleStorage").shape == (2,)
    for args in [
        ((5,), (1,)),
        ((2, 2), (3, 1)),
        ((2,), (1,), 3),
        ((1,), (1,), 4),
        ((0,), (1,), 5),
        ((1,), (1,), -1),
        ((-1,), (1,)),
        ((2,), (-1,), 1),
        ((2, 2), (1,)),
        ((2**62, 2**62), (0, 0)),
        ((2**40, 2**40), (1, 2**40)),
        ((2,), (2**63 - 1,)),
        ((3,), (2**62,)),
        ((2**64,), (0,)),
        ((1,) * 9, (1,) * 9),
        ((1.0,), (1,)),
        (("a",), (1,)),
        ([1], [1]),
        ((1,), (1,), "0"),
    ]:
        with pytest.raises(FormatError):
            read(*args)
    for kwargs in [{"key": "1"}, {"key": "../data.pkl"}, {"key": 0}, {"kind": "QUInt8Storage"}, {"kind": "nn"}]:
        with pytest.raises(FormatError):
            read((1,), (1,), **kwargs)
    with pytest.raises(FormatError, match="expected 0 or 1"):
        read((1,), (1,), kind="BoolStorage")


def test_damaged_archives_are_refused():
    good = archive(tensor_pickle((4,), (1,)), [FLOATS])
    assert neura.load(good).tolist() == [0, 1, 2, 3]
    at = good.index(FLOATS)
    for bad in [
        good[:-1],
        good[:100],
        good[:4],
        good[4:],
        b"PK\x03\x04" + b"\x00" * 100,
        good[:at] + b"\x01" + good[at + 1 :],
        archive(tensor_pickle((4,), (1,)), [FLOATS], zipfile.ZIP_DEFLATED),
        archive(b"N."[:1], [FLOATS]),
        archive(b"N.", prefix=""),
        archive(b"N.", prefix="a/b/"),
        archive(b"N.", byteorder="big"),
    ]:
        with pytest.raises(FormatError):
            neura.load(bad)
    twice = io.BytesIO(archive(b"N."))
    with zipfile.ZipFile(twice, "a") as z:
        z.writestr("y/data.pkl", b"N.")
    with pytest.raises(FormatError, match="one data.pkl"):
        neura.load(twice.getvalue())


def test_claims_of_size_cost_nothing(tmp_path):
    """A record that says it has 2⁴⁰ bytes, in a file of a few hundred."""
    good = bytearray(archive(tensor_pickle((4,), (1,)), [FLOATS]))
    entry = good.rindex(b"x/data/0") - 46
    good[entry + 20 : entry + 28] = struct.pack("<II", 0xFFFFFFF0, 0xFFFFFFF0)
    with pytest.raises(FormatError):
        neura.load(bytes(good))
    (tmp_path / "x").write_bytes(good)
    with pytest.raises(FormatError):
        neura.load(tmp_path / "x", mmap=True)


def test_long_arguments_again_and_again_are_refused():
    """A list of a million numbers, counted a million times, would take an hour."""
    items = b"](" + b"K\x01" * 100_000 + b"eq\x00"
    calls = b"cbuiltins\nset\nq\x01" + b"h\x01h\x00\x85R0" * 20_000
    began = time.monotonic()
    with pytest.raises(FormatError, match="again and again"):
        neura.load(archive(items + calls + b"N."))
    assert time.monotonic() - began < 60


def test_deep_and_wide_values_are_borne():
    """Tuples within tuples, as keys, as what is counted, and as what is called; 2⁶⁰ when written out."""
    deep = b")" + b"\x85" * 500_000
    wide = b")" + b"2\x86" * 60
    for text in [
        b"}" + deep + b"Ns.",
        b"ccollections\nCounter\n" + deep + b"\x85R.",
        b"cbuiltins\nset\n" + deep + b"\x85R.",
        deep + b")R.",
        wide + b")R.",
        wide + wide + b"\x86Q.",
        b"ctorch\nSize\n" + wide + b"\x85R.",
    ]:
        with pytest.raises(FormatError):
            neura.load(archive(text))
    value = neura.load(archive(wide + b"."))
    assert value[0][0][1] is value[1][1][1]


def test_changed_files_are_read_or_refused():
    dice = random.Random(1)
    files = [(DATA / name).read_bytes() for name in ("containers.pt", "model.pt")]
    refused = 0
    for i in range(600):
        data = bytearray(files[i % 2])
        if i % 3:  # within the pickle, its checksum set right again
            with zipfile.ZipFile(io.BytesIO(bytes(data))) as z:
                records = {name: z.read(name) for name in z.namelist()}
            name = next(n for n in records if n.endswith("data.pkl"))
            text = bytearray(records[name])
            for _ in range(dice.randrange(1, 6)):
                text[dice.randrange(len(text))] = dice.randrange(256)
            records[name] = bytes(text)
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w") as z:
                for record, content in records.items():
                    z.writestr(record, content)
            data = out.getvalue()
        else:
            for _ in range(dice.randrange(1, 4)):
                data[dice.randrange(len(data))] = dice.randrange(256)
            if i % 2:
                del data[dice.randrange(len(data)) :]
        try:
            neura.load(bytes(data))
        except neura.errors.Error:
            refused += 1
    assert 200 < refused < 600
