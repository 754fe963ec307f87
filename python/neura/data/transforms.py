"""Changes to pictures, [..., channels, height, width], on their way into a batch; computed in C++.

Random ones draw from the default generator, which in a loader's worker is the worker's own.
"""

from .. import _neura

_data = _neura._data


class Compose:
    """One after the other: Compose([ToFloat(), Normalize([0.5], [0.5])])."""

    def __init__(self, transforms):
        self.transforms = list(transforms)

    def __call__(self, image):
        for t in self.transforms:
            image = t(image)
        return image


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


class Normalize:
    """(image - mean) / std, with a number for each channel, or one for all. ValueError for a std of 0."""

    def __init__(self, mean, std):
        self.mean, self.std = [float(m) for m in mean], [float(s) for s in std]

    def __call__(self, image):
        return _data.normalize(image, self.mean, self.std)


class RandomHorizontalFlip:
    """Left becomes right with probability p."""

    def __init__(self, p=0.5):
        self.p = p

    def __call__(self, image):
        return _data.random_flip(image, self.p)


class RandomCrop:
    """A window of ``size``, (height, width) or one number for both, at a random place, after ``padding`` pixels of
    ``fill`` on every side. ShapeError where it does not fit."""

    def __init__(self, size, padding=0, fill=0.0):
        self.size = (size, size) if isinstance(size, int) else tuple(size)
        self.padding, self.fill = padding, float(fill)

    def __call__(self, image):
        return _data.random_crop(image, *self.size, self.padding, self.fill)
