"""Orders of a tensor in memory, and layouts, under torch's names."""

from ._neura import Tensor


class memory_format:
    """How the dimensions lie in memory."""

    def __init__(self, name):
        self._name = name

    def __repr__(self):
        return f"neura.{self._name}"

    def __reduce__(self):
        return self._name


class layout(memory_format):
    """How elements are stored; all of them are, so far."""


contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
channels_last, channels_last_3d = memory_format("channels_last"), memory_format("channels_last_3d")
strided = layout("strided")
for _value in (contiguous_format, preserve_format, channels_last, channels_last_3d, strided):
    _value.__module__ = type(_value).__module__ = "neura"
Tensor.layout = property(lambda self: strided, doc="How the elements are stored: neura.strided.")
