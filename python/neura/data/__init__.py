"""Data sets that are read in C++, and files as tensors. Loaders and samplers are in neura.utils.data."""

from .files import decode_png, encode_png, parse_csv, read_csv, read_idx, read_png, write_idx, write_png
from .sets import CIFAR10, MNIST, FashionMNIST, ImageFolder

__all__ = [
    "CIFAR10",
    "FashionMNIST",
    "ImageFolder",
    "MNIST",
    "decode_png",
    "encode_png",
    "parse_csv",
    "read_csv",
    "read_idx",
    "read_png",
    "write_idx",
    "write_png",
]
