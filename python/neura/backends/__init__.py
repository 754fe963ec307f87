"""Switches of the libraries that compute on devices."""

from . import cuda, cudnn

__all__ = ["cuda", "cudnn"]
