"""The memory format of convolutions' weights."""

from ..._neura import nn as _nn

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module, memory_format, dim):
    for layer in module.modules():
        weight = getattr(layer, "weight", None)
        if type(layer).__name__.startswith("Conv") and weight is not None and weight.dim() == dim:
            _nn._set_data(weight, weight.detach().contiguous(memory_format=memory_format))
    return module


def convert_conv2d_weight_memory_format(module, memory_format):
    """Puts the weights of all 2-d convolutions into this format, such as neura.channels_last; returns the module."""
    return _convert(module, memory_format, 4)


def convert_conv3d_weight_memory_format(module, memory_format):
    """Puts the weights of all 3-d convolutions into this format, such as neura.channels_last_3d; returns the module."""
    return _convert(module, memory_format, 5)
