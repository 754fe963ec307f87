"""PyTorch's name for what stands in neura.quantization: neura.ao.quantization is the same module."""

import sys

from .. import quantization

sys.modules[__name__ + ".quantization"] = quantization

__all__ = ["quantization"]
