"""neura.data: sets and files, read in C++."""

import gzip
import inspect
import pathlib
import pickle
import shutil

import neura
import pytest
from neura.utils.data import DataLoader, Subset

FILES = pathlib.Path(__file__).resolve().parents[1] / "data" / "files"


@pytest.fixture
def folder(tmp_path):
    return pathlib.Path(shutil.copytree(FILES, tmp_path / "files"))


def test_mnist(folder):
    set = neura.data.MNIST(folder / "mnist", train=False)
    assert len(set) == 3 and set.images.shape == (3, 1, 2, 2) and set.labels.tolist() == [7, 0, 9]
    image, label = set[2]
    assert image.tolist() == [[[8, 9], [10, 11]]] and label == 9 and isinstance(label, int)
    x, y = next(iter(DataLoader(set, batch_size=2)))
    assert x.equal(set.images[:2]) and x.dtype is neura.uint8 and y.tolist() == [7, 0]
    x, y = next(iter(DataLoader(Subset(set, [2, 0]), batch_size=2, num_workers=1)))
    assert x.equal(set.images[[2, 0]]) and y.tolist() == [9, 7]
    changed = neura.data.MNIST(folder / "mnist", False, transform=neura.data.ToFloat(), target_transform=str)
    x, y = next(iter(DataLoader(changed, batch_size=2)))
    assert x.dtype is neura.float32 and x[1, 0, 1, 1].item() == pytest.approx(7 / 255) and y == ("7", "0")
    with pytest.raises(OSError):
        neura.data.MNIST(folder / "mnist")
    (folder / "mnist/t10k-labels-idx1-ubyte").write_bytes(b"no")
    with pytest.raises(neura.errors.FormatError):
        neura.data.MNIST(folder / "mnist", train=False)


def test_sets_of_pictures_are_classes_with_texts_that_a_program_may_derive_from(folder):
    class Named(neura.data.MNIST):
        "Pictures with names."

        def __getitem__(self, index):
            image, label = super().__getitem__(index)
            return image, f"class {label}"

    assert Named(folder / "mnist", train=False)[1][1] == "class 0" and Named.__doc__ == "Pictures with names."
    assert neura.data.MNIST.__doc__.startswith("Four idx files") and "MNIST" in neura.data.__all__
    assert list(inspect.signature(neura.data.MNIST).parameters) == ["root", "train", "transform", "target_transform"]
    assert inspect.signature(neura.data.FashionMNIST).parameters["root"].default == ""
    again = pickle.loads(pickle.dumps(neura.data.MNIST(folder / "mnist", train=False)))
    assert type(again) is neura.data.MNIST and again.labels.tolist() == [7, 0, 9]


def test_fashion_mnist():
    try:
        set = neura.data.FashionMNIST(train=False)
    except OSError as error:
        assert "dataset-fashion-mnist" in str(error)
        pytest.skip("dataset-fashion-mnist is not installed")
    assert set.images.shape == (10000, 1, 28, 28) and set.classes[9] == "Ankle boot" and set[0][1] == 9


def test_pictures(folder):
    set = neura.data.ImageFolder(folder / "pictures")
    assert set.classes == ["cat", "dog"] and len(set) == 2
    cat, label = set[0]
    assert cat.shape == (3, 2, 3) and label == 0 and cat[:, 0, 1].tolist() == [3, 4, 5]
    assert set[1][0].flatten().tolist() == [255, 128, 0]
    assert neura.data.ImageFolder(folder / "pictures", mode="gray")[0][0].shape == (1, 2, 3)
    for kind in ("thread", "process"):
        got = list(DataLoader(set, batch_size=None, num_workers=2, worker_type=kind))
        assert [g[1] for g in got] == [0, 1] and got[0][0].equal(cat)
    (folder / "pictures/dog/b.png").write_bytes(b"broken")
    with pytest.raises(neura.errors.FormatError, match="b.png"):
        set[1]
    with pytest.raises(ValueError, match="expected mode"):
        neura.data.read_png(folder / "pictures/cat/a.png", "cmyk")
    with pytest.raises(OSError):
        neura.data.ImageFolder(folder / "mnist")


def test_cifar(folder):
    set = neura.data.CIFAR10(folder / "cifar", train=False)
    assert set.images.shape == (2, 3, 32, 32) and set[1][1] == 5 and set.classes[5] == "dog"
    whole = (folder / "cifar/test_batch.bin").read_bytes()
    (folder / "cifar/test_batch.bin").write_bytes(whole[:-1])
    with pytest.raises(neura.errors.FormatError):
        neura.data.CIFAR10(folder / "cifar", train=False)


def test_reviews(folder):
    set = neura.data.TextFolder(folder / "reviews")
    assert [set[i] for i in range(3)] == [("Dull, and too long.\n", 0), ("Très beau — 10/10 👍\n", 1), ("", 1)]
    assert neura.data.TextFolder(folder / "reviews", ["pos", "neg"]).classes == ["pos", "neg"]
    texts, labels = next(iter(DataLoader(set, batch_size=3, num_workers=1)))
    assert texts[0].startswith("Dull") and labels.tolist() == [0, 1, 1]
    (folder / "reviews/neg/0_2.txt").write_bytes(b"\xff")
    with pytest.raises(neura.errors.FormatError, match="0_2.txt: expected UTF-8"):
        set[0]


def test_tables(folder):
    values, names = neura.data.read_csv(folder / "table.csv", header=True)
    assert names == ["height", "width"] and values[0].tolist() == [1.5, 2] and values[1, 0].item() == -300
    assert neura.data.parse_csv("1;2", delimiter=";").tolist() == [[1, 2]]
    with pytest.raises(neura.errors.FormatError, match="line 1: expected a number in column 1"):
        neura.data.read_csv(folder / "table.csv")
    with pytest.raises(OSError):
        neura.data.read_csv(folder / "none.csv")


@pytest.mark.parametrize("name", ["t.idx", "t.idx.gz"])
@pytest.mark.parametrize("dtype", [neura.uint8, neura.int8, neura.int16, neura.int32, neura.float32, neura.float64])
def test_idx_files_come_back(tmp_path, name, dtype):
    t = neura.arange(6).reshape(2, 3).to(dtype)
    neura.data.write_idx(tmp_path / name, t)
    back = neura.data.read_idx(tmp_path / name)
    assert back.dtype is dtype and back.equal(t)
    data = (tmp_path / name).read_bytes()
    raw = gzip.decompress(data) if name.endswith("gz") else data
    (tmp_path / name).write_bytes(raw[:-1])
    with pytest.raises(neura.errors.FormatError):
        neura.data.read_idx(tmp_path / name)
    with pytest.raises(TypeError):
        neura.data.write_idx(tmp_path / name, t.to(neura.bool))


def test_pictures_in_bytes(tmp_path):
    t = neura.arange(24, dtype=neura.uint8).reshape(4, 2, 3)
    neura.data.write_png(tmp_path / "p.png", t)
    assert neura.data.read_png(tmp_path / "p.png").equal(t)
    assert neura.data.decode_png((tmp_path / "p.png").read_bytes(), "rgb").shape == (3, 2, 3)
    with pytest.raises(neura.errors.FormatError):
        neura.data.decode_png(b"no picture")
    with pytest.raises(TypeError):
        neura.data.encode_png(t.to(neura.float32))


def test_transforms():
    x = neura.arange(24, dtype=neura.uint8).reshape(2, 3, 4)
    f = neura.data.ToFloat()(x)
    assert f.dtype is neura.float32 and f.max().item() == pytest.approx(23 / 255)
    n = neura.data.Compose([neura.data.ToFloat(), neura.data.Normalize([0.5, 0.25], [0.5, 0.25])])(x)
    assert n[0].allclose((f[0] - 0.5) / 0.5) and n[1].allclose((f[1] - 0.25) / 0.25)
    assert neura.data.RandomHorizontalFlip(1)(x).equal(x.flip(-1)) and neura.data.RandomHorizontalFlip(0)(x).equal(x)
    neura.manual_seed(2)
    crops = [neura.data.RandomCrop(2, padding=1, fill=9)(x) for _ in range(40)]
    neura.manual_seed(2)
    assert all(neura.data.RandomCrop((2, 2), 1, 9)(x).equal(c) for c in crops)
    assert len({str(c.tolist()) for c in crops}) > 8 and all(c.shape == (2, 2, 2) for c in crops)
    with pytest.raises(ValueError):
        neura.data.Normalize([0], [0])(f)
    with pytest.raises(neura.errors.ShapeError):
        neura.data.RandomCrop(9)(x)


def test_formats_of_pictures(tmp_path):
    x = (neura.arange(3 * 16 * 24) % 200).to(neura.uint8).reshape(3, 16, 24)
    for data in (neura.data.encode_png(x), neura.data.encode_ppm(x)):
        assert neura.data.decode_image(data).equal(x)
        (tmp_path / "p").write_bytes(data)
        assert neura.data.read_image(tmp_path / "p").equal(x)
        assert neura.data.decode_image(neura.tensor(list(data), dtype=neura.uint8), "GRAY").shape == (1, 16, 24)
    with pytest.raises(neura.errors.FormatError, match="expected a PNG, JPEG, WebP, BMP, PPM, PGM or PBM picture"):
        neura.data.decode_image(b"GIF89a")
    with pytest.raises(ValueError, match="one dimension"):
        neura.data.decode_image(x)
    with pytest.raises(TypeError):
        neura.data.decode_image(3)


@pytest.mark.skipif(not neura._neura._data.has_jpeg(), reason="built without libjpeg-turbo")
def test_jpeg(tmp_path):
    x = neura.full((3, 16, 24), 90, dtype=neura.uint8)
    x[:, :, 12:] = 160
    y = neura.data.decode_jpeg(neura.data.encode_jpeg(x, 95))
    assert (y.to(neura.int32) - x.to(neura.int32)).abs().max().item() <= 10
    neura.data.write_jpeg(tmp_path / "p.jpg", x, quality=40)
    assert neura.data.read_image(tmp_path / "p.jpg", "gray").shape == (1, 16, 24)
    with pytest.raises(neura.errors.FormatError):
        neura.data.decode_jpeg((tmp_path / "p.jpg").read_bytes()[:200])
    with pytest.raises(ValueError, match="quality"):
        neura.data.encode_jpeg(x, 0)
