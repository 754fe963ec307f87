"""What networks are made of: at present the functions, first values, clipping."""

from . import functional, init, utils

__all__ = ["functional", "init", "utils"]
