"""Memory formats and layouts, under torch's names."""

from ._neura import Tensor


class memory_format:
    """The order of the dimensions in memory, such as neura.channels_last."""

    def __init__(self, name):
        self._name = name

    def __repr__(self):
        return f"neura.{self._name}"

    def __reduce__(self):
        return self._name


class layout(memory_format):
    """How elements are stored: all of them (strided), or some, with their indices."""


contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
channels_last, channels_last_3d = memory_format("channels_last"), memory_format("channels_last_3d")
_layouts = [layout(name) for name in "strided sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc".split()]
strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc = _layouts
for _value in (contiguous_format, preserve_format, channels_last, channels_last_3d, *_layouts):
    _value.__module__ = type(_value).__module__ = "neura"
Tensor.layout = property(lambda self: _layouts[self._layout()], doc="How the elements are stored: neura.strided, ...")
