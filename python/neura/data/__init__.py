"""Data sets that are read in C++, and files as tensors. Loaders and samplers are in neura.utils.data."""

from .files import decode_png, encode_png, parse_csv, read_csv, read_idx, read_png, read_text, write_idx, write_png
from .sets import CIFAR10, MNIST, FashionMNIST, ImageFolder, TextFolder
from .transforms import Compose, Normalize, RandomCrop, RandomHorizontalFlip, ToFloat

__all__ = [
    "CIFAR10",
    "Compose",
    "FashionMNIST",
    "ImageFolder",
    "MNIST",
    "Normalize",
    "RandomCrop",
    "RandomHorizontalFlip",
    "TextFolder",
    "ToFloat",
    "decode_png",
    "encode_png",
    "parse_csv",
    "read_csv",
    "read_idx",
    "read_png",
    "read_text",
    "write_idx",
    "write_png",
]
