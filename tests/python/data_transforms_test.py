"""neura.data's transforms: values against torchvision's stored ones (make_pictures.py), chance, and folders."""

import json
import pathlib
import pickle

import neura
import neura.data.functional as F
import pytest
from neura.data import transforms as T
from neura.utils.data import DataLoader

STORED = json.loads((pathlib.Path(__file__).parent / "pictures.json").read_text())
PICTURE = neura.tensor(STORED["picture"], dtype=neura.uint8).reshape(3, 8, 9)
LARGE = (neura.arange(3 * 40 * 60) * 7 % 251).to(neura.uint8).reshape(3, 40, 60)


def name_of(case):
    return "-".join(map(str, [case["name"], *case["arguments"]]))


@pytest.mark.parametrize("case", STORED["answers"], ids=name_of)
def test_values_are_torchvisions(case):
    got = getattr(F, case["name"])(PICTURE, *case["arguments"])
    want = neura.tensor(case["values"]).reshape(case["shape"])
    assert got.dtype is neura.uint8 and list(got.shape) == case["shape"]
    assert (got.to(neura.int64) - want).abs().max().item() <= 1
    assert not got.equal(PICTURE)
    batch = getattr(F, case["name"])(neura.stack([PICTURE, PICTURE.flip(-1)]), *case["arguments"])
    assert batch[0].equal(got)


@pytest.mark.parametrize("case", STORED["answers"], ids=name_of)
def test_floats_are_the_same_pictures(case):
    if case["name"] in ("solarize", "posterize") or 9 in case["arguments"]:
        return  # of other levels
    got = getattr(F, case["name"])(F.to_dtype(PICTURE, neura.float32, True), *case["arguments"])
    want = neura.tensor(case["values"]).reshape(case["shape"])
    assert (got * 255 - want).abs().max().item() <= 1.6  # bytes are rounded or cut off


def test_equalized_levels_are_as_often():
    dark = LARGE // 3
    got = F.equalize(dark)
    for channel, equalized in zip(dark.flatten(1).tolist(), got.flatten(1).tolist()):
        step = (len(channel) - channel.count(max(channel))) // 255
        below = {level: sum(x < level for x in channel) for level in set(channel)}
        assert equalized == [min(255, (below[level] + step // 2) // step) for level in channel]
    assert got.max().item() == 255 and F.equalize(neura.full_like(dark, 9)).equal(neura.full_like(dark, 9))


def test_rotations_by_right_angles_are_exact():
    square = PICTURE[:, :, :8]
    assert F.rotate(square, 90).equal(square.rot90(1, (1, 2))) and F.rotate(square, -90).equal(square.rot90(3, (1, 2)))
    assert F.rotate(PICTURE, 180).equal(PICTURE.flip((1, 2))) and F.rotate(PICTURE, 360).equal(PICTURE)
    assert F.rotate(PICTURE, 90, expand=True).shape == (3, 9, 8)
    corners = F.rotate(square, 45, fill=[7, 8, 9])
    assert corners[:, 0, 0].tolist() == [7, 8, 9] and corners[:, -1, -1].tolist() == [7, 8, 9]


RANDOM = [
    T.RandomVerticalFlip(0.4),
    T.RandomGrayscale(0.4),
    T.RandomResizedCrop((8, 9)),
    T.RandomApply([T.RandomHorizontalFlip(1)], 0.5),
    T.RandomChoice([T.RandomHorizontalFlip(1), T.RandomVerticalFlip(1)]),
    neura.data.ColorJitter(0.4, (0.5, 1.5), 0.4, 0.2),
    neura.data.RandomRotation(50, "bilinear"),
    neura.data.RandomAffine(20, (0.2, 0.1), (0.8, 1.2), (-10, 10, -5, 5)),
    neura.data.RandomErasing(0.6),
    neura.data.RandomErasing(0.9, value="random"),
    neura.data.GaussianBlur(3),
    neura.data.RandAugment(),
    neura.data.TrivialAugmentWide(),
    neura.data.AutoAugment(),
    neura.data.AutoAugment("cifar10"),
    neura.data.AutoAugment("svhn", fill=128),
]


@pytest.mark.parametrize("transform", RANDOM, ids=lambda t: type(t).__name__)
@pytest.mark.parametrize("dtype", [neura.uint8, neura.float32])
def test_random_ones_repeat_with_their_seed(transform, dtype):
    x = F.to_dtype(PICTURE, dtype, True)
    rounds = []
    for t in (transform, pickle.loads(pickle.dumps(transform))):
        neura.manual_seed(3)
        rounds.append([t(x) for _ in range(30)])
    assert all(a.equal(b) for a, b in zip(*rounds))
    assert all(y.dtype is dtype and y.shape == x.shape for y in rounds[0])
    assert len({str(y.tolist()) for y in rounds[0]}) > 1
    neura.manual_seed(3)
    batch = transform(neura.stack([x, x]))  # one decision for a batch
    assert batch.shape == (2, 3, 8, 9)
    if not (type(transform) is neura.data.RandomErasing and not transform.value):
        assert batch[1].equal(rounds[0][0]) or (batch[1] - rounds[0][0]).abs().max() <= 1


def test_chance_is_as_given():
    neura.manual_seed(1)
    turned = sum(not T.RandomVerticalFlip(0.3)(PICTURE).equal(PICTURE) for _ in range(1000))
    assert 240 < turned < 360
    first = sum(T.RandomChoice([F.invert, F.equalize], [3, 1])(PICTURE).equal(F.invert(PICTURE)) for _ in range(400))
    assert 260 < first < 340
    erased = [(neura.data.RandomErasing(1)(LARGE) == 0).sum().item() / LARGE.numel() for _ in range(200)]
    assert 0.01 < min(erased) < 0.1 and 0.25 < max(erased) < 0.36


def test_padding_of_random_crops():
    neura.manual_seed(1)
    x = PICTURE + 1
    for _ in range(20):
        assert T.RandomCrop((12, 9), padding=(0, 2), fill=7)(x).equal(F.pad(x, (0, 2), 7))
    edge = [T.RandomCrop((10, 9), padding=(0, 1), padding_mode="edge")(x) for _ in range(3)]
    assert all(y[:, 0].equal(x[:, 0]) and y[:, 1:9].equal(x) for y in edge)
    small = T.RandomCrop((20, 12), pad_if_needed=True, fill=5)(x)
    assert small.shape == (3, 20, 12) and (small == 5).any().item()
    with pytest.raises(neura.errors.ShapeError):
        T.RandomCrop(20)(x)


def test_words_have_torchvisions_names():
    mode = T.InterpolationMode.BICUBIC
    assert F.resize(PICTURE, [4, 4], mode).equal(F.resize(PICTURE, [4, 4], "bicubic"))
    neura.manual_seed(2)
    got = neura.data.AutoAugment(neura.data.AutoAugmentPolicy.SVHN)(PICTURE)
    neura.manual_seed(2)
    assert got.equal(neura.data.AutoAugment("svhn")(PICTURE))


def test_functions_and_labels():
    assert T.Lambda(F.invert)(PICTURE).equal(F.invert(PICTURE))
    assert neura.data.OneHot(3)(2).tolist() == [0, 0, 1]
    with pytest.raises(ValueError, match="OneHot: expected a label in"):
        neura.data.OneHot(3)(3)
    with pytest.raises(TypeError):
        T.Lambda(3)


def test_mixing():
    x, y = neura.rand(4, 3, 8, 8), neura.tensor([0, 1, 2, 1])
    neura.manual_seed(5)
    for mix in (neura.data.MixUp(alpha=0.5, num_classes=3), neura.data.CutMix(num_classes=3)):
        for _ in range(20):
            images, labels = mix(x, y)
            assert images.shape == x.shape and labels.shape == (4, 3)
            assert labels.sum(1).allclose(neura.ones(4))
            share = labels[0, 0].item()  # the rest comes from picture 3, of class 1
            if type(mix) is neura.data.MixUp:
                assert images[0].allclose(share * x[0] + (1 - share) * x[3], atol=1e-6)
            else:
                kept = (images[0] == x[0]).all(0)
                assert kept.to(neura.float32).mean().item() == pytest.approx(share)
                assert (images[0] == x[3]).all(0).logical_or(kept).all().item()
    shares = [neura.data.MixUp(alpha=2.0, num_classes=3)(x, y)[1][0, 0].item() for _ in range(800)]
    mean = sum(shares) / 800
    assert mean == pytest.approx(0.5, abs=0.05)  # of Beta(2, 2), whose variance is 1 / 20
    assert sum((s - mean) ** 2 for s in shares) / 800 == pytest.approx(0.05, abs=0.01)
    with pytest.raises(ValueError, match="num_classes"):
        neura.data.MixUp()(x, y)
    with pytest.raises(TypeError):
        neura.data.CutMix(num_classes=3)(x.to(neura.uint8), y)


def test_arguments_out_of_range():
    for wrong in (
        lambda: F.adjust_hue(PICTURE, 0.6),
        lambda: F.adjust_contrast(PICTURE, -1),
        lambda: F.resize(PICTURE, [0, 3]),
        lambda: F.resize(PICTURE, 3, "cubic"),
        lambda: F.resize(PICTURE, [3, 3], max_size=4),
        lambda: F.gaussian_blur(PICTURE, 4),
        lambda: F.rotate(PICTURE, float("nan")),
        lambda: F.affine(PICTURE, 0, [0, 0], 0, 0),
        lambda: F.pad(PICTURE, [1, 2, 3]),
        lambda: F.pad(PICTURE, 1, padding_mode="symmetric"),
        lambda: F.posterize(PICTURE, 9),
        lambda: neura.data.RandomErasing(2)(PICTURE),
        lambda: neura.data.ColorJitter(hue=0.7)(PICTURE),
        lambda: neura.data.ColorJitter(-1),
        lambda: neura.data.AutoAugment("mnist")(PICTURE),
        lambda: neura.data.RandAugment(magnitude=31)(PICTURE),
    ):
        with pytest.raises(ValueError):
            wrong()
    for transform in RANDOM[5:] + [F.invert, F.equalize, T.Resize(3), T.CenterCrop(3), T.Pad(1), T.Grayscale()]:
        with pytest.raises((neura.errors.ShapeError, ValueError)):
            for _ in range(40):
                transform(neura.zeros(3, 0, 4, dtype=neura.uint8))


@pytest.fixture
def folder(tmp_path):
    for i in range(8):
        label = tmp_path / ("cat" if i < 4 else "dog")
        label.mkdir(exist_ok=True)
        picture = LARGE[:, : 40 - i, : 60 - 3 * i]
        jpeg = neura._neura._data.has_jpeg() and i % 2
        data = neura.data.encode_jpeg(picture, 90) if jpeg else neura.data.encode_ppm(picture)
        (label / f"{i}.{'jpg' if jpeg else 'ppm'}").write_bytes(data)
    return tmp_path


TRAIN = [
    T.RandomResizedCrop((16, 20)),
    T.RandomHorizontalFlip(),
    T.ToDtype(neura.float32, scale=True),
    T.Normalize([0.4, 0.5, 0.6], [0.25, 0.25, 0.25]),
]
PREFIXES = [TRAIN, TRAIN[:1], TRAIN[:2], TRAIN[:3], [T.Resize(24), T.CenterCrop(16), *TRAIN[2:]], [T.Resize((16, 20))]]


@pytest.mark.parametrize("steps", PREFIXES, ids=len)
def test_pipelines_are_their_transforms(folder, steps):
    fused = neura.data.ImageFolder(folder, T.Compose(steps))
    plain = neura.data.ImageFolder(folder, lambda x: T.Compose(steps)(x))
    assert fused._collated and not plain._collated and fused.classes == ["cat", "dog"]
    level = 1.01 / 255 / 0.25 if len(steps) == 4 else 1.01 / 255 if len(steps) == 3 else 1
    for i in range(8):
        neura.manual_seed(i)
        got, label = fused[i]
        neura.manual_seed(i)
        want, _ = plain[i]
        assert got.dtype is want.dtype and label == int(i >= 4)
        assert (got.to(neura.float32) - want.to(neura.float32)).abs().max().item() <= level


def test_loaders_of_folders(folder):
    set = neura.data.ImageFolder(folder, T.Compose(TRAIN))
    x, y = next(iter(DataLoader(set, batch_size=8)))
    assert x.shape == (8, 3, 16, 20) and y.tolist() == [0] * 4 + [1] * 4
    loader = DataLoader(set, batch_size=4, num_workers=2)
    assert loader.worker_type == "thread" and len(list(loader)) == 2
    more = neura.data.ImageFolder(folder, T.Compose([*TRAIN, neura.data.RandomErasing(1)]))
    for kind in ("thread", "process"):
        x, y = next(iter(DataLoader(more, batch_size=4, num_workers=1, worker_type=kind)))
        assert x.shape == (4, 3, 16, 20) and (x == 0).any().item()
    (folder / "cat/0.ppm").write_bytes(b"broken")
    with pytest.raises(neura.errors.FormatError, match="0.ppm"):
        list(DataLoader(set, batch_size=8))
