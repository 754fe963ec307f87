"""Nested tensors, which are not there: every name raises NotImplementedError with what to do instead."""

from ._neura import errors


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(f"module 'neura.nested' has no attribute {name!r}")
    raise errors.NotImplementedError(
        f"nested.{name}: nested tensors are not there; pad with nn.utils.rnn.pad_sequence, or keep a list of tensors"
    )
