"""Random changes of colour and place; torchvision.transforms.v2's names. See neura.data.transforms."""

import enum

from .. import _neura
from . import functional as F

_data = _neura._data


def _around(value, middle, low=0.0):
    """A range: (low, high), or a number for either way around ``middle``."""
    if isinstance(value, (int, float)):
        if value < 0:
            raise ValueError(f"expected a number of 0 or above, or a range, got {value}")
        return (max(low, middle - value), float(middle + value))
    return tuple(float(v) for v in value)


class ColorJitter:
    """Brightness, contrast, saturation and hue in a random order, each by a random factor: from a range (low, high), or
    from max(0, 1 - x) to 1 + x; hue from a range within -0.5 to 0.5, or from -x to x."""

    def __init__(self, brightness=0, contrast=0, saturation=0, hue=0):
        self.brightness, self.contrast = _around(brightness, 1), _around(contrast, 1)
        self.saturation, self.hue = _around(saturation, 1), _around(hue, 0, -0.5)

    def __call__(self, image):
        return _data.color_jitter(image, self.brightness, self.contrast, self.saturation, self.hue)


class RandomRotation:
    """functional.rotate by a random angle: of a range (low, high), or from -degrees to degrees."""

    def __init__(self, degrees, interpolation="nearest", expand=False, center=None, fill=0):
        self.degrees, self.interpolation, self.expand = _around(degrees, 0, -1e9), interpolation, expand
        self.center, self.fill = None if center is None else tuple(center), F._fill(fill)

    def __call__(self, image):
        return _data.random_rotation(image, self.degrees, self.expand, self.interpolation, self.fill, self.center)


class RandomAffine:
    """functional.affine by a random angle of ``degrees``, at most ``translate`` (fractions of width and height) either
    way, a factor in ``scale``, and ``shear`` degrees: a number, (low, high) along x, or both along x and along y."""

    def __init__(self, degrees, translate=None, scale=None, shear=None, interpolation="nearest", fill=0, center=None):
        self.degrees, self.interpolation, self.fill = _around(degrees, 0, -1e9), interpolation, F._fill(fill)
        self.translate = None if translate is None else tuple(translate)
        self.scale = None if scale is None else tuple(scale)
        shear = None if shear is None else _around(shear, 0, -1e9)
        self.shear = shear if shear is None or len(shear) == 4 else shear + (0.0, 0.0)
        self.center = None if center is None else tuple(center)

    def __call__(self, image):
        return _data.random_affine(
            image,
            self.degrees,
            self.translate,
            self.scale,
            self.shear,
            self.interpolation,
            self.fill,
            self.center,
        )


class RandomErasing:
    """With probability p, fills a window of random area and aspect ratio with ``value``: a number, one per channel, or
    normal noise ("random" or None). (Zhong et al., Random erasing data augmentation, 2017.)"""

    def __init__(self, p=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=0.0):
        self.p, self.scale, self.ratio = p, tuple(scale), tuple(ratio)
        self.value = [] if value is None or value == "random" else F._fill(value)

    def __call__(self, image):
        return _data.random_erasing(image, self.p, self.scale, self.ratio, self.value)


class GaussianBlur:
    """functional.gaussian_blur by a random standard deviation of ``sigma``, a range or one number."""

    def __init__(self, kernel_size, sigma=(0.1, 2.0)):
        self.kernel_size, self.sigma = F._pair(kernel_size, "kernel_size"), F._pair(sigma, "sigma")

    def __call__(self, image):
        return _data.random_blur(image, self.kernel_size, self.sigma)


class RandAugment:
    """``num_ops`` random changes of one magnitude. (Cubuk et al., RandAugment, 2019.)"""

    def __init__(self, num_ops=2, magnitude=9, num_magnitude_bins=31, interpolation="nearest", fill=None):
        self.num_ops, self.magnitude, self.num_magnitude_bins = num_ops, magnitude, num_magnitude_bins
        self.interpolation, self.fill = interpolation, F._fill(fill)

    def __call__(self, image):
        bins = self.num_magnitude_bins
        return _data.rand_augment(image, self.num_ops, self.magnitude, bins, self.interpolation, self.fill)


class TrivialAugmentWide:
    """One random change of a random magnitude. (Müller and Hutter, TrivialAugment, 2021.)"""

    def __init__(self, num_magnitude_bins=31, interpolation="nearest", fill=None):
        self.num_magnitude_bins, self.interpolation, self.fill = num_magnitude_bins, interpolation, F._fill(fill)

    def __call__(self, image):
        return _data.trivial_augment(image, self.num_magnitude_bins, self.interpolation, self.fill)


class AutoAugmentPolicy(str, enum.Enum):
    """torchvision's names for the words that AutoAugment takes."""

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


class AutoAugment:
    """One of the pairs of changes of a learned policy: ``policy`` "imagenet", "cifar10" or "svhn". (Cubuk et
    al., AutoAugment, 2018.)"""

    def __init__(self, policy="imagenet", interpolation="nearest", fill=None):
        self.policy, self.interpolation, self.fill = policy, interpolation, F._fill(fill)

    def __call__(self, image):
        return _data.auto_augment(image, self.policy, self.interpolation, self.fill)


class _Mix:
    def __init__(self, *, alpha=1.0, num_classes=None):
        self.alpha, self.num_classes = float(alpha), num_classes

    def __call__(self, images, labels):
        return self._mix(images, labels, self.alpha, self.num_classes or 0)


class MixUp(_Mix):
    """Pictures [n, channels, height, width] and labels, each mixed with those before it in the batch; the share is
    drawn from Beta(alpha, alpha). Labels are classes [n], which become floats [n, num_classes], or such floats.
    Floating pictures only, DTypeError. (Zhang et al., mixup, 2017.)

    >>> import neura
    >>> x, y = neura.data.MixUp(num_classes=3)(neura.rand(2, 3, 4, 4), neura.tensor([0, 2]))
    >>> y.shape, round(y.sum().item(), 4)
    (neura.Size([2, 3]), 2.0)
    """

    _mix = staticmethod(_data.mix_up)


class CutMix(_Mix):
    """A random window of each picture comes from the one before it in the batch, and of its label the same share.
    Otherwise as MixUp. (Yun et al., CutMix, 2019.)"""

    _mix = staticmethod(_data.cut_mix)
