"""Changes to pictures, [..., channels, height, width], on their way into a batch; torchvision.transforms.v2's names.

Random ones draw their parameters first, once per call also for a batch, from the default generator (in a loader's
worker, that worker's), and then apply the functions of neura.data.functional.
"""

import enum

from .. import _neura
from . import functional as F

_data = _neura._data


class InterpolationMode(str, enum.Enum):
    """torchvision's names for the words that ``interpolation`` takes."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"


class Compose:
    """Transforms as one: each gets what the one before it returned.

    >>> import neura
    >>> from neura.data import Compose, Normalize, ToDtype
    >>> change = Compose([ToDtype(neura.float32, scale=True), Normalize([0.5], [0.5])])
    >>> change(neura.tensor([[[0, 255]]], dtype=neura.uint8))
    tensor([[[-1.,  1.]]])
    """

    def __init__(self, transforms):
        self.transforms = list(transforms)

    def __call__(self, image):
        for t in self.transforms:
            image = t(image)
        return image


class Lambda:
    """``lambd(picture)`` as a transform."""

    def __init__(self, lambd):
        if not callable(lambd):
            raise TypeError(f"Lambda: expected a function, got {type(lambd).__name__}")
        self.lambd = lambd

    def __call__(self, image):
        return self.lambd(image)


class OneHot:
    """Of a label, an int, a vector of ``num_classes`` numbers that is 1 in its place: a target_transform. ValueError
    outside of the classes.

    >>> import neura
    >>> neura.data.OneHot(3)(1)
    tensor([0., 1., 0.])
    """

    def __init__(self, num_classes):
        self.num_classes = num_classes

    def __call__(self, label):
        if not 0 <= label < self.num_classes:
            raise ValueError(f"OneHot: expected a label in [0, {self.num_classes}), got {label}")
        y = _neura.zeros(self.num_classes)
        y[label] = 1
        return y


class ToFloat:
    """To a floating dtype; integers are divided by their largest value, so that uint8 becomes 0 to 1.

    >>> import neura
    >>> neura.data.ToFloat()(neura.tensor([0, 255], dtype=neura.uint8))
    tensor([0., 1.])
    """

    def __init__(self, dtype=_neura.float32):
        self.dtype = dtype

    def __call__(self, image):
        return _data.to_float(image, self.dtype)


class ToDtype:
    """functional.to_dtype: to ``dtype``, with ``scale`` from the one's largest level to the other's."""

    def __init__(self, dtype, scale=False):
        self.dtype, self.scale = dtype, scale

    def __call__(self, image):
        return F.to_dtype(image, self.dtype, self.scale)


class Normalize:
    """(image - mean) / std, with a number for each channel, or one for all. ValueError for a std of 0."""

    def __init__(self, mean, std):
        self.mean, self.std = [float(m) for m in mean], [float(s) for s in std]

    def __call__(self, image):
        return _data.normalize(image, self.mean, self.std)


class Resize:
    """functional.resize: to ``size``, (height, width); one number is for the shorter side."""

    def __init__(self, size, interpolation="bilinear", max_size=None, antialias=True):
        self.size, self.interpolation, self.max_size, self.antialias = size, interpolation, max_size, antialias

    def __call__(self, image):
        return F.resize(image, self.size, self.interpolation, self.max_size, self.antialias)


class CenterCrop:
    """functional.center_crop: the middle, (height, width) or one number for both."""

    def __init__(self, size):
        self.size = F._pair(size)

    def __call__(self, image):
        return F.center_crop(image, self.size)


class Pad:
    """Pads by functional.pad, which says what ``padding``, ``fill`` and ``padding_mode`` are."""

    def __init__(self, padding, fill=0, padding_mode="constant"):
        self.padding, self.fill, self.padding_mode = F._sides(padding), fill, padding_mode

    def __call__(self, image):
        return F.pad(image, self.padding, self.fill, self.padding_mode)


class Grayscale:
    """Greyscale as functional.rgb_to_grayscale gives it, of ``num_output_channels``, 1 or 3."""

    def __init__(self, num_output_channels=1):
        self.num_output_channels = num_output_channels

    def __call__(self, image):
        return F.rgb_to_grayscale(image, self.num_output_channels)


class RandomHorizontalFlip:
    """Mirrors left and right with probability ``p``, decided once per call."""

    def __init__(self, p=0.5):
        self.p = p

    def __call__(self, image):
        return _data.random_flip(image, self.p)


class RandomVerticalFlip:
    """Mirrors top and bottom with probability ``p``, decided once per call."""

    def __init__(self, p=0.5):
        self.p = p

    def __call__(self, image):
        return _data.random_vertical_flip(image, self.p)


class RandomGrayscale:
    """Greyscale, of the same number of channels, with probability p."""

    def __init__(self, p=0.1):
        self.p = p

    def __call__(self, image):
        return _data.random_grayscale(image, self.p)


class RandomCrop:
    """A window of ``size``, (height, width) or one number for both, at a random place, after ``padding`` pixels of
    ``fill`` on every side; ``padding`` and ``padding_mode`` as in functional.pad. ShapeError where it does not fit;
    with ``pad_if_needed`` a picture that is too small is padded, instead."""

    def __init__(self, size, padding=0, fill=0.0, *, pad_if_needed=False, padding_mode="constant"):
        self.size = (size, size) if isinstance(size, int) else tuple(size)
        self.padding, self.fill = F._sides(padding or 0), float(fill)
        self.pad_if_needed, self.padding_mode = pad_if_needed, padding_mode

    def __call__(self, image):
        if any(self.padding):
            image = F.pad(image, self.padding, self.fill, self.padding_mode)
        if self.pad_if_needed:
            high, wide = (max(0, wanted - there) for wanted, there in zip(self.size, image.shape[-2:]))
            if high or wide:
                image = F.pad(image, (wide, high), self.fill, self.padding_mode)
        return _data.random_crop(image, *self.size, 0, self.fill)


class RandomResizedCrop:
    """A part of a random area (``scale``, of the picture's) and shape (``ratio``, width over height), resized to
    ``size``; the middle where ten tries find none that fits."""

    def __init__(self, size, scale=(0.08, 1.0), ratio=(3 / 4, 4 / 3), interpolation="bilinear", antialias=True):
        if not antialias:
            raise NotImplementedError("RandomResizedCrop: expected antialias=True, got False")
        self.size, self.scale, self.ratio, self.interpolation = F._pair(size), tuple(scale), tuple(ratio), interpolation

    def __call__(self, image):
        return _data.random_resized_crop(image, *self.size, self.scale, self.ratio, self.interpolation)


class RandomApply:
    """All of ``transforms``, one after the other, with probability p."""

    def __init__(self, transforms, p=0.5):
        self.transforms, self.p = list(transforms), p

    def __call__(self, image):
        if _neura.rand(1).item() < self.p:
            for t in self.transforms:
                image = t(image)
        return image


class RandomChoice:
    """One of ``transforms``; ``p``: how likely each is, in proportion."""

    def __init__(self, transforms, p=None):
        self.transforms = list(transforms)
        self.p = [1.0] * len(self.transforms) if p is None else [float(x) for x in p]
        if len(self.p) != len(self.transforms) or not self.transforms:
            raise ValueError(f"RandomChoice: expected a p for each transform, got {len(self.p)}")

    def __call__(self, image):
        left = _neura.rand(1).item() * sum(self.p)
        for t, p in zip(self.transforms, self.p):
            left -= p
            if left < 0:
                break
        return t(image)
