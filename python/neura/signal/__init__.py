"""Signals, under the names of torch.signal."""

from . import windows

__all__ = ["windows"]
