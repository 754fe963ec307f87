"""Deterministic image operations on [..., channels, height, width], by torchvision.transforms.v2.functional's names.

Computed in C++ by operations: on every device, and of batches. Integers stay integers of 0 to their largest; floats are
taken as 0 to 1. All raise ShapeError for what is no picture, ValueError for arguments out of their range.
"""

from .. import _neura

_data = _neura._data


def _pair(value, what="size"):
    """(height, width) of one number or two."""
    if isinstance(value, (int, float)):
        return (value, value)
    value = tuple(value)
    if len(value) == 1:
        return value * 2
    if len(value) != 2:
        raise ValueError(f"{what}: expected one number or two, got {len(value)}")
    return value


def _fill(fill):
    """The fill value outside of a picture, as a list; None is 0."""
    if fill is None:
        return []
    return [float(fill)] if isinstance(fill, (int, float)) else [float(f) for f in fill]


def _sides(padding):
    """(left, top, right, bottom) of one number, (x, y), or all four."""
    if isinstance(padding, int):
        return (padding,) * 4
    padding = tuple(padding)
    if len(padding) not in (1, 2, 4):
        raise ValueError(f"pad: expected 1, 2 or 4 numbers of padding, got {len(padding)}")
    return padding if len(padding) == 4 else padding * (4 // len(padding))


def resize(image, size, interpolation="bilinear", max_size=None, antialias=True):
    """Resized to ``size``, (height, width); one number is for the shorter side, ``max_size`` then bounds the longer.

    ``interpolation``: "bilinear", "bicubic" (both average over what shrinks, with ``antialias``), "nearest" or
    "nearest-exact".

    >>> import neura
    >>> neura.data.functional.resize(neura.zeros(3, 40, 60), 20).shape
    neura.Size([3, 20, 30])
    """
    size = (size,) if isinstance(size, int) else tuple(size)
    if len(size) == 1:
        return _data.resize_shorter(image, size[0], interpolation, max_size or 0, bool(antialias))
    if max_size is not None:
        raise ValueError("resize: expected max_size only where size is one number")
    return _data.resize(image, *_pair(size), interpolation, bool(antialias))


def crop(image, top, left, height, width):
    """A window [..., channels, height, width] whose first pixel is at row top, column left; outside of the picture 0.

    >>> import neura
    >>> neura.data.functional.crop(neura.ones(1, 2, 2), 1, 1, 1, 2)
    tensor([[[1., 0.]]])
    """
    return _data.crop(image, top, left, height, width)


def center_crop(image, output_size):
    """The middle, (height, width) or one number for both; pixels outside of the picture are 0.

    >>> import neura
    >>> neura.data.functional.center_crop(neura.zeros(3, 40, 60), 20).shape
    neura.Size([3, 20, 20])
    """
    return _data.center_crop(image, *_pair(output_size))


def resized_crop(image, top, left, height, width, size, interpolation="bilinear", antialias=True):
    """The window as crop gives it, resized to ``size``, (height, width); ``interpolation``, ``antialias``: see resize.

    >>> import neura
    >>> neura.data.functional.resized_crop(neura.zeros(3, 40, 60), 0, 0, 20, 20, (8, 8)).shape
    neura.Size([3, 8, 8])
    """
    return resize(crop(image, top, left, height, width), size, interpolation, antialias=antialias)


def horizontal_flip(image):
    """Mirrors left and right: the last dimension reversed.

    >>> import neura
    >>> neura.data.functional.horizontal_flip(neura.tensor([[[1, 2]]]))
    tensor([[[2, 1]]])
    """
    return image.flip(-1)


def vertical_flip(image):
    """Mirrors top and bottom: the dimension before the last reversed.

    >>> import neura
    >>> neura.data.functional.vertical_flip(neura.tensor([[[1], [2]]]))
    tensor([[[2],
             [1]]])
    """
    return image.flip(-2)


def pad(image, padding, fill=0, padding_mode="constant"):
    """``padding``: one number, (x, y), or (left, top, right, bottom); ``padding_mode``: "constant", "edge" or
    "reflect"."""
    return _data.pad_image(image, _sides(padding), float(fill or 0), padding_mode)


def affine(image, angle, translate, scale, shear, interpolation="nearest", fill=None, center=None):
    """Sheared by ``shear`` degrees, one number along x or (x, y), turned clockwise by ``angle`` degrees, scaled around
    ``center`` (x, y), and moved by ``translate`` (x, y) pixels. ``interpolation``: "nearest" or "bilinear"."""
    shear = (shear, 0.0) if isinstance(shear, (int, float)) else _pair(shear, "shear")
    return _data.affine(
        image,
        angle,
        tuple(translate),
        scale,
        shear,
        interpolation,
        _fill(fill),
        None if center is None else tuple(center),
    )


def rotate(image, angle, interpolation="nearest", expand=False, center=None, fill=None):
    """Turned counter-clockwise by ``angle`` degrees around ``center`` (x, y); with ``expand`` the result holds all of
    the picture.

    >>> import neura
    >>> neura.data.functional.rotate(neura.tensor([[[1, 2], [3, 4]]], dtype=neura.uint8), 90)
    tensor([[[2, 4],
             [1, 3]]], dtype=neura.uint8)
    """
    center = None if center is None else tuple(center)
    return _data.rotate(image, angle, expand, interpolation, _fill(fill), center)


def erase(image, i, j, h, w, v, inplace=False):
    """``v``, a tensor that broadcasts to [channels, h, w], in the place of the window at (i, j). ``inplace``: refused,
    NotImplementedError."""
    if inplace:
        raise NotImplementedError("erase: expected inplace=False, got True; use the result")
    return _data.erase(image, i, j, h, w, v)


def gaussian_blur(image, kernel_size, sigma=None):
    """Blurred; ``kernel_size`` odd, ``sigma`` above 0, one number or (x, y); without sigma it follows from the size."""
    kernel = _pair(kernel_size, "kernel_size")
    sigma = [k * 0.15 + 0.35 for k in kernel] if sigma is None else _pair(sigma, "sigma")
    return _data.gaussian_blur(image, kernel, tuple(sigma))


def rgb_to_grayscale(image, num_output_channels=1):
    """[..., 3, height, width] -> the luma 0.2989 r + 0.587 g + 0.114 b, as 1 or 3 equal channels.

    >>> import neura
    >>> neura.data.functional.rgb_to_grayscale(neura.ones(3, 2, 2)).shape
    neura.Size([1, 2, 2])
    """
    return _data.rgb_to_grayscale(image, num_output_channels)


def adjust_brightness(image, brightness_factor):
    """Multiplied by ``brightness_factor``, at least 0, and clamped: 0 is black, 1 the picture itself.

    >>> import neura
    >>> neura.data.functional.adjust_brightness(neura.tensor([[[0.2]]]), 2.0)
    tensor([[[0.4000]]])
    """
    return _data.adjust_brightness(image, brightness_factor)


def adjust_contrast(image, contrast_factor):
    """Mixed with its mean grey: ``contrast_factor`` 0 is grey, 1 the picture itself, above 1 more contrast.

    >>> import neura
    >>> neura.data.functional.adjust_contrast(neura.tensor([[[0.2, 0.4]]]), 0.0)
    tensor([[[0.3000, 0.3000]]])
    """
    return _data.adjust_contrast(image, contrast_factor)


def adjust_saturation(image, saturation_factor):
    """Mixed with its greyscale: ``saturation_factor`` 0 is grey, 1 the picture itself, above 1 more colour."""
    return _data.adjust_saturation(image, saturation_factor)


def adjust_hue(image, hue_factor):
    """Rotates the hue of 3 channels by ``hue_factor`` of the colour circle, -0.5 to 0.5; 0 is the picture itself."""
    return _data.adjust_hue(image, hue_factor)


def adjust_gamma(image, gamma, gain=1):
    """gain * image ** gamma, of levels from 0 to 1, clamped: ``gamma`` above 1 darkens, below 1 brightens.

    >>> import neura
    >>> neura.data.functional.adjust_gamma(neura.tensor([[[0.5]]]), 2.0)
    tensor([[[0.2500]]])
    """
    return _data.adjust_gamma(image, gamma, gain)


def adjust_sharpness(image, sharpness_factor):
    """Mixed with a blurred copy: ``sharpness_factor`` 0 is blurred, 1 the picture itself, 2 sharpened."""
    return _data.adjust_sharpness(image, sharpness_factor)


def invert(image):
    """Inverts the levels: the largest minus each, 255 - x of uint8, 1 - x of floats.

    >>> import neura
    >>> neura.data.functional.invert(neura.tensor([[[0.25]]]))
    tensor([[[0.7500]]])
    """
    return _data.invert(image)


def posterize(image, bits):
    """Keeps the highest ``bits`` of 8, and sets the others to 0.

    >>> import neura
    >>> neura.data.functional.posterize(neura.tensor([[[255]]], dtype=neura.uint8), 2)
    tensor([[[192]]], dtype=neura.uint8)
    """
    return _data.posterize(image, bits)


def solarize(image, threshold):
    """Inverts the pixels of at least ``threshold``.

    >>> import neura
    >>> neura.data.functional.solarize(neura.tensor([[[0.25, 0.75]]]), 0.5)
    tensor([[[0.2500, 0.2500]]])
    """
    return _data.solarize(image, threshold)


def autocontrast(image):
    """Stretches each channel to levels from 0 to the largest.

    >>> import neura
    >>> neura.data.functional.autocontrast(neura.tensor([[[0.25, 0.75]]]))
    tensor([[[0., 1.]]])
    """
    return _data.autocontrast(image)


def equalize(image):
    """uint8: the levels of each channel about equally often. DTypeError for others."""
    return _data.equalize(image)


def normalize(image, mean, std):
    """(image - mean) / std, with a number for each channel, or one for all. DTypeError for integers.

    >>> import neura
    >>> neura.data.functional.normalize(neura.ones(1, 1, 1), [0.5], [0.25])
    tensor([[[2.]]])
    """
    return _data.normalize(image, [float(m) for m in mean], [float(s) for s in std])


def to_dtype(image, dtype=_neura.float32, scale=False):
    """To another dtype; ``scale``: from the one's largest level to the other's.

    >>> import neura
    >>> neura.data.functional.to_dtype(neura.tensor([[[255]]], dtype=neura.uint8), scale=True)
    tensor([[[1.]]])
    """
    return _data.to_dtype(image, dtype, scale)
