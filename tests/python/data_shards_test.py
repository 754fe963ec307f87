"""neura.data: tar files of samples, and files of tokens."""

import os
import pickle
import tarfile

import neura
import pytest
from neura.data import TarShards, TokenFile, build_shard_index, write_shard, write_tokens
from neura.utils.data import DataLoader


def pictures(folder, shards=2, each=5):
    paths = []
    for s in range(shards):
        path = folder / f"train-{s}.tar"
        numbers = range(s * each, (s + 1) * each)
        full = [(f"{i:04d}", {"png": neura.full((3, 4, 5), i, dtype=neura.uint8), "cls": i % 3}) for i in numbers]
        assert write_shard(path, full) == each
        paths.append(path)
    return paths


def test_items_are_the_samples_in_their_order(tmp_path):
    paths = pictures(tmp_path)
    shards = TarShards(paths, ("jpg;png", "cls"), target_transform=str)
    assert len(shards) == 10 and shards.names[6] == "0006"
    image, label = shards[7]
    assert image.equal(neura.full((3, 4, 5), 7, dtype=neura.uint8)) and label == "1"
    assert TarShards(paths[0], "cls")[4] == 1 and TarShards(paths[0], "cls", decode=False)[4] == b"1"


@pytest.mark.parametrize("kind", ["thread", "process"])
def test_loaders_shuffle_them_as_any_other(tmp_path, kind):
    shards = TarShards(pictures(tmp_path), ("png", "cls"))
    shards[0]  # a file is open as workers start
    neura.manual_seed(3)
    got = [x[:, 0, 0, 0] for x, _ in DataLoader(shards, batch_size=4, shuffle=True, num_workers=2, worker_type=kind)]
    assert sorted(neura.cat(got).tolist()) == list(range(10)) and neura.cat(got).tolist() != list(range(10))
    assert pickle.loads(pickle.dumps(shards))[3][1] == 0


def test_a_run_goes_on_within_an_epoch_of_shards(tmp_path):
    shards = TarShards(pictures(tmp_path), ("png", "cls"), transform=neura.data.ToFloat())

    def weights(stop):
        neura.manual_seed(0)
        model = neura.nn.Sequential(neura.nn.Flatten(), neura.nn.Linear(60, 3))
        run = neura.train.Run(
            model, neura.optim.SGD(model.parameters(), lr=0.1), folder=tmp_path / "run", save_every=1, log_every=1
        )
        run.resume()
        for _ in run.epochs(2):
            for x, y in run.batches(DataLoader(shards, batch_size=3, shuffle=True)):
                run.step(lambda: neura.nn.functional.cross_entropy(model(x), y))
                if run.steps == stop:
                    return None
        return model[1].weight.detach()

    whole = weights(None)
    for file in (tmp_path / "run").iterdir():
        file.unlink()
    assert weights(2) is None and weights(7) is None
    assert weights(None).equal(whole)


def test_an_index_that_no_longer_fits_is_not_used(tmp_path):
    path = pictures(tmp_path, shards=1)[0]
    assert (tmp_path / "train-0.tar.index").exists()
    with tarfile.open(path, "w") as tar:  # another one, with members that webdataset's writers leave out, too
        for name, text in (("a/one.txt", b"1"), (".hidden", b""), ("plain", b""), ("a/one.cls", b"4")):
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, __import__("io").BytesIO(text))
    shards = TarShards(path, ("txt", "cls"))
    assert shards.names == ["a/one"] and shards[0] == ("1", 4)
    assert build_shard_index(path) == 1  # "plain" has no ending, ".hidden" no name: neither is a sample
    (tmp_path / "train-0.tar.index").write_text("{")
    assert len(TarShards(path, "txt;cls")) == 1


def test_mistakes_of_shards_are_sentences(tmp_path):
    path = pictures(tmp_path, shards=1)[0]
    with pytest.raises(ValueError, match='expected "txt" of the sample "0000" in .*, got cls, png'):
        TarShards(path, "txt")
    with pytest.raises(ValueError, match="expected one tar file or more, got none"):
        TarShards([], "txt")
    with pytest.raises(OSError):
        TarShards(tmp_path / "none.tar", "txt")
    (tmp_path / "text.tar").write_text("no tar file at all" * 100)
    with pytest.raises(neura.errors.FormatError, match="text.tar: expected a tar file without compression"):
        TarShards(tmp_path / "text.tar", "txt")
    whole = path.read_bytes()
    with tarfile.open(path) as tar:
        last = max(m.offset_data for m in tar if m.name.endswith("png"))
    path.write_bytes(whole[: last + 10])
    with pytest.raises(neura.errors.FormatError, match="train-0.tar: expected"):
        TarShards(path, "png")
    path.write_bytes(whole.replace(b"\x89PNG", b"\x89PMG", 1))
    with pytest.raises(neura.errors.FormatError, match="train-0.tar: 0000.png: "):
        TarShards(path, "png")[0]
    shards = TarShards(path, "png")
    os.truncate(path, 600)
    with pytest.raises(neura.errors.FormatError, match="expected the file as it was opened, got a shorter one"):
        shards[4]
    for name in ("0", "0.5", ""):
        with pytest.raises(ValueError, match="expected a new name without a dot"):
            write_shard(tmp_path / "new.tar", [("0", {"txt": "a"}), (name, {"txt": "b"})])
    with pytest.raises(ValueError, match='expected a tensor for "png" or "jpg", got one for "txt"'):
        write_shard(tmp_path / "new.tar", [("0", {"txt": neura.zeros(1)})])
    assert not [f.name for f in tmp_path.iterdir() if f.name.startswith("new.tar")]


@pytest.mark.parametrize("dtype, large", [("uint16", 65535), ("uint32", 4294967295)])
def test_windows_of_tokens(tmp_path, dtype, large):
    path = tmp_path / "train.bin"
    ids = [large, 1, 2, 32768, 4, 5, 6, 7, 8]
    assert write_tokens(path, [ids[:4], [], neura.tensor(ids[4:])], dtype) == 9
    assert path.read_bytes()[:2] == b"\xff\xff"
    file = TokenFile(path, 3, dtype=dtype)
    assert len(file) == 2 and file.tokens().tolist() == ids and file.tokens(1, 3).tolist() == [1, 2]
    x, y = file[1]
    assert x.tolist() == ids[3:6] and y.tolist() == ids[4:7] and x.dtype is neura.int64
    assert file[-1][0].equal(x) and len(list(file)) == 2
    close = TokenFile(path, 3, dtype=dtype, stride=1)
    assert len(close) == 6 and close[5][1].tolist() == ids[6:]
    for workers in (0, 2):
        x, y = next(iter(DataLoader(close, batch_size=6, num_workers=workers)))
        assert x.tolist() == [ids[i : i + 3] for i in range(6)] and y.tolist() == [ids[i + 1 : i + 4] for i in range(6)]
    assert pickle.loads(pickle.dumps(close))[0][0].tolist() == ids[:3]


def test_mistakes_of_tokens_are_sentences(tmp_path):
    path = tmp_path / "train.bin"
    with pytest.raises(ValueError, match='got 1 to 70000; take "uint32"'):
        write_tokens(path, [[1, 70000]])
    with pytest.raises(ValueError, match="got -1 to 5"):
        write_tokens(path, [[5, -1]])
    assert not list(tmp_path.iterdir())
    write_tokens(path, [[1, 2, 3]])
    with pytest.raises(ValueError, match="expected more than 3 ids in .*, got 3; take a smaller context"):
        TokenFile(path, 3)
    with pytest.raises(
        neura.errors.FormatError, match="expected ids of 4 bytes, got 6 bytes; is its dtype another one"
    ):
        TokenFile(path, 1, dtype="uint32")
    with pytest.raises(ValueError, match='expected dtype "uint16" or "uint32"'):
        TokenFile(path, 1, dtype="int64")
    with pytest.raises(ValueError, match="a context and a stride of 1 or more"):
        TokenFile(path, 0)
    with pytest.raises(IndexError):
        TokenFile(path, 1)[2]
