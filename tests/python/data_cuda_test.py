"""Transforms of pictures on CUDA are those on the cpu, with the same random numbers, within a level."""

import neura
import neura.data as data
import pytest

pytestmark = pytest.mark.skipif(not neura.cuda.is_available(), reason="no CUDA device")

TRANSFORMS = [
    data.Resize((9, 11)),
    data.CenterCrop((9, 20)),
    data.Pad(2, padding_mode="reflect"),
    data.Grayscale(3),
    data.RandomHorizontalFlip(),
    data.RandomVerticalFlip(),
    data.RandomCrop(12, 2),
    data.RandomResizedCrop((12, 14)),
    data.ColorJitter(0.4, 0.4, 0.4, 0.2),
    data.RandomRotation(40, "bilinear", fill=9),
    data.RandomAffine(9, (0.1, 0.2), (0.8, 1.2), 8, "bilinear"),
    data.RandomErasing(value="random"),
    data.GaussianBlur((3, 5)),
    data.RandAugment(interpolation="bilinear"),
    data.TrivialAugmentWide(interpolation="bilinear"),
    data.AutoAugment("cifar10", interpolation="bilinear"),
]


@pytest.mark.parametrize("transform", TRANSFORMS, ids=lambda t: type(t).__name__)
@pytest.mark.parametrize("dtype", [neura.uint8, neura.float32])
def test_transforms(transform, dtype):
    x = (neura.arange(2 * 3 * 16 * 18) * 7 % 251).to(neura.uint8).reshape(2, 3, 16, 18)
    x = data.functional.to_dtype(x, dtype, scale=True)
    for seed in range(12):
        neura.manual_seed(seed)
        want = transform(x)
        neura.manual_seed(seed)
        got = transform(x.to("cuda"))
        assert got.device.type == "cuda" and got.dtype is dtype
        far = (got.cpu().to(neura.float64) - want.to(neura.float64)).abs()
        if type(transform).__name__.endswith("Augment") or type(transform).__name__ == "AutoAugment":
            # A level that falls to the other side of a threshold, or of rounding, goes through the next change.
            assert (far > (2 if dtype is neura.uint8 else 1e-4)).to(neura.float32).mean().item() < 0.01
        else:
            assert far.max().item() <= (1 if dtype is neura.uint8 else 1e-4)
