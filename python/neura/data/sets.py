"""Sets of pictures and of texts, each item with the number of its class."""

import os
from functools import partial

from .. import _neura
from ..utils.data import Dataset
from .transforms import (
    CenterCrop,
    Compose,
    Normalize,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    ToDtype,
    ToFloat,
)


class _Pictures(Dataset):
    """Pictures in one tensor. ``images``: uint8 [n, channels, height, width]; ``labels``: int64 [n]; ``classes``: their
    names, where they are known. Items: ``(transform(image), target_transform(label))``, a tensor and an int."""

    def __init_subclass__(cls, name=None, **kwargs):
        super().__init_subclass__(**kwargs)
        if name:
            read, cls.__doc__ = _neura._data.picture_sets[name]
            cls._read = staticmethod(read)

    def __init__(self, root, train=True, transform=None, target_transform=None):
        self.images, self.labels, self.classes = self._read(os.fspath(root), train)
        self.transform, self.target_transform = transform, target_transform

    def __getitem__(self, index):
        image, label = self.images[index], self.labels[index].item()
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            label = self.target_transform(label)
        return image, label

    def __len__(self):
        return self.labels.size(0)

    @property
    def _collated(self):
        """Whole batches in C++, where no transform has to see each item."""
        if self.transform is None and self.target_transform is None:
            return self._gathered
        return None

    def _gathered(self, indices):
        return list(_neura._data.gather([self.images, self.labels], indices))


class FashionMNIST(_Pictures, name="FashionMNIST"):
    def __init__(self, root="", train=True, transform=None, target_transform=None):
        super().__init__(root, train, transform, target_transform)


def _classes():
    """Every set of pictures that C++ reads (bindings/loading.cpp), by name; their texts come from there as well."""
    made = {"FashionMNIST": FashionMNIST}
    for name in _neura._data.picture_sets:
        if name not in made:
            made[name] = type(name, (_Pictures,), {"__module__": __name__}, name=name)
    return made


_CLASSES = _classes()
globals().update(_CLASSES)


def _first_step(steps):
    """What an ImagePipeline is told of the sizes, and how many steps that is; None where it cannot do it."""
    first = steps[0]
    if type(first) is RandomResizedCrop and first.interpolation == "bilinear":
        return {"size": first.size, "random_crop": True, "scale": first.scale, "ratio": first.ratio}, 1
    if type(first) is not Resize or first.interpolation != "bilinear" or not first.antialias or first.max_size:
        return None
    size = (first.size,) if isinstance(first.size, int) else tuple(first.size)
    if len(size) == 2:
        return {"size": size}, 1
    cut = steps[1] if len(steps) > 1 else None
    if type(cut) is CenterCrop and max(cut.size) <= size[0]:
        return {"size": cut.size, "resize": size[0]}, 2
    return None


def _pipeline(transform, scaled_decoding):
    """The pipeline in C++ that does what the first of these transforms do, with the same random numbers, and the
    transforms after those; None for other transforms."""
    steps = list(transform.transforms) if type(transform) is Compose else [transform]
    found = _first_step(steps) if steps else None
    if found is None:
        return None, steps
    known, n = found
    flip, dtype, mean, std = 0.0, _neura.uint8, [], []
    if n < len(steps) and type(steps[n]) is RandomHorizontalFlip and steps[n].p > 0:
        flip, n = steps[n].p, n + 1
    if n < len(steps) and (
        (type(steps[n]) is ToFloat and steps[n].dtype is _neura.float32)
        or (type(steps[n]) is ToDtype and steps[n].dtype is _neura.float32 and steps[n].scale)
    ):
        dtype, n = _neura.float32, n + 1
        if n < len(steps) and type(steps[n]) is Normalize:
            mean, std, n = steps[n].mean, steps[n].std, n + 1
    pipeline = _neura._data.ImagePipeline(
        *known["size"],
        known.get("random_crop", False),
        known.get("scale", (0.08, 1.0)),
        known.get("ratio", (3 / 4, 4 / 3)),
        known.get("resize", 0),
        flip,
        dtype,
        mean,
        std,
        scaled_decoding,
    )
    return pipeline, steps[n:]


class ImageFolder(Dataset):
    """root/CLASS/NAME with the endings .jpg, .jpeg, .png, .bmp, .ppm, .pgm and .pbm: classes and pictures in the order
    of their names. Pictures are read on demand: uint8 [channels, height, width], with as many channels as ``mode``
    says (see read_image). ``samples`` are the pairs of path and class. IoError where there is no picture.

    Where ``transform`` begins with RandomResizedCrop, with Resize and CenterCrop, or with Resize to two sizes, and goes
    on with RandomHorizontalFlip, ToDtype(float32, scale=True) and Normalize, or fewer of these, they are done in one go
    in C++, and no more of a JPEG is decoded than is used: results are the same within one level of 255. Loaders then
    ask for whole batches, by threads. ``scaled_decoding`` decodes large JPEGs at 1/2, 1/4 or 1/8 of their size: faster,
    and near.

    >>> import neura
    >>> from neura.data import Compose, ImageFolder, Normalize, RandomHorizontalFlip, RandomResizedCrop, ToDtype
    >>> change = Compose([
    ...     RandomResizedCrop(224),
    ...     RandomHorizontalFlip(),
    ...     ToDtype(neura.float32, scale=True),
    ...     Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    ... ])
    >>> train = ImageFolder("pictures/train", change)  # doctest: +SKIP
    """

    def __init__(self, root, transform=None, target_transform=None, mode="rgb", scaled_decoding=False):
        self.samples, self.classes = _neura._data.image_folder(os.fspath(root))
        self.transform, self.target_transform, self.mode = transform, target_transform, mode
        self.scaled_decoding = scaled_decoding

    def _steps(self):
        if self.transform is None:
            return None, []
        return _pipeline(self.transform, self.scaled_decoding) if self.mode == "rgb" else (None, [self.transform])

    def __getitem__(self, index):
        path, label = self.samples[index]
        pipeline, steps = self._steps()
        image = pipeline.batch([path])[0] if pipeline else _neura._data.read_image(path, self.mode, False)
        for step in steps:
            image = step(image)
        return image, label if self.target_transform is None else self.target_transform(label)

    def __len__(self):
        return len(self.samples)

    @property
    def _collated(self):
        """Whole batches in C++, where a pipeline does all."""
        pipeline, steps = self._steps()
        return partial(self._batch, pipeline) if pipeline and not steps and self.target_transform is None else None

    def _batch(self, pipeline, indices):
        samples = [self.samples[i] for i in indices]
        return [pipeline.batch([path for path, _ in samples]), _neura.tensor([label for _, label in samples])]


class TextFolder(Dataset):
    """root/CLASS/NAME.txt, as the IMDB reviews have it: classes and texts in the order of their names. Texts, in UTF-8,
    are read on demand; items are a str and the number of its class. With ``classes`` only theirs:
    ``TextFolder("aclImdb/train", ["neg", "pos"])``. IoError where there is no text, FormatError for other bytes."""

    def __init__(self, root, classes=(), transform=None, target_transform=None):
        self.samples, self.classes = _neura._data.text_folder(os.fspath(root), list(classes))
        self.transform, self.target_transform = transform, target_transform

    def __getitem__(self, index):
        path, label = self.samples[index]
        text = _neura._data.read_text(path)
        if self.transform is not None:
            text = self.transform(text)
        return text, label if self.target_transform is None else self.target_transform(label)

    def __len__(self):
        return len(self.samples)
