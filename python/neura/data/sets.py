"""Sets of pictures and of texts, each item with the number of its class."""

import os

from .. import _neura
from ..utils.data import Dataset


class _Pictures(Dataset):
    """Pictures in one tensor. ``images``: uint8 [n, channels, height, width]; ``labels``: int64 [n]; ``classes``: their
    names, where they are known. Items: ``(transform(image), target_transform(label))``, a tensor and an int."""

    def __init__(self, parts, transform, target_transform):
        self.images, self.labels, self.classes = parts
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


class MNIST(_Pictures):
    """Four idx files in the folder ``root``, with ".gz" or without: {train,t10k}-{images-idx3,labels-idx1}-ubyte.

    ``train``: the 60,000 pictures for training, or the 10,000 for testing. IoError where files are missing, FormatError
    where they are damaged or do not belong together.
    """

    def __init__(self, root, train=True, transform=None, target_transform=None):
        super().__init__(_neura._data.mnist(os.fspath(root), train), transform, target_transform)


class FashionMNIST(_Pictures):
    """Zalando's pictures of clothes, in files as those of MNIST; without ``root``, Debian's package
    dataset-fashion-mnist, and an IoError that says so where that is not installed."""

    def __init__(self, root="", train=True, transform=None, target_transform=None):
        super().__init__(_neura._data.fashion_mnist(os.fspath(root), train), transform, target_transform)


class CIFAR10(_Pictures):
    """CIFAR-10, the binary version: data_batch_1.bin to data_batch_5.bin or test_batch.bin in the folder ``root``.
    Pictures are uint8 [3, 32, 32]."""

    def __init__(self, root, train=True, transform=None, target_transform=None):
        super().__init__(_neura._data.cifar10(os.fspath(root), train), transform, target_transform)


class ImageFolder(Dataset):
    """root/CLASS/NAME.png: classes and pictures in the order of their names. Pictures are read when they are asked for:
    uint8 [channels, height, width], with as many channels as ``mode`` says (see read_png). ``samples`` are the pairs of
    path and class. IoError where there is no picture."""

    def __init__(self, root, transform=None, target_transform=None, mode="rgb"):
        self.samples, self.classes = _neura._data.image_folder(os.fspath(root))
        self.transform, self.target_transform, self.mode = transform, target_transform, mode

    def __getitem__(self, index):
        path, label = self.samples[index]
        image = _neura._data.read_png(path, self.mode)
        if self.transform is not None:
            image = self.transform(image)
        return image, label if self.target_transform is None else self.target_transform(label)

    def __len__(self):
        return len(self.samples)


class TextFolder(Dataset):
    """root/CLASS/NAME.txt, as the IMDB reviews have it: classes and texts in the order of their names. Texts, in UTF-8,
    are read when they are asked for; items are a str and the number of its class. With ``classes`` only theirs:
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
