"""What networks are made of: at present the functions."""

from . import functional

__all__ = ["functional"]
