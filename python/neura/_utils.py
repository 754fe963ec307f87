"""Small functions that programs take from torch._utils: lists of tensors as one flat tensor, and back."""

from . import _neura


def _flatten_dense_tensors(tensors):
    """The elements of all tensors, of one dtype, as one row."""
    return _neura.cat([t.reshape(-1) for t in tensors]) if tensors else _neura.empty(0)


def _unflatten_dense_tensors(flat, tensors):
    """The parts of a row as tensors of the sizes of these."""
    parts = flat.split([t.numel() for t in tensors])
    return tuple(part.view_as(t) for part, t in zip(parts, tensors))
