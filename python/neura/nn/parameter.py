"""Parameters and buffers."""

from .._neura import Tensor, _disabled_torch_function_impl
from .._neura import nn as _nn
from .._neura.nn import Parameter
from .lazy import UninitializedBuffer, UninitializedParameter, is_lazy

__all__ = ["Parameter", "Buffer", "UninitializedParameter", "UninitializedBuffer", "is_lazy"]


class Buffer(Tensor):
    """A tensor that a module registers as a buffer when it is assigned. A persistent one is part of the state dict."""

    __torch_function__ = _disabled_torch_function_impl

    def __new__(cls, data=None, *, persistent=True):
        return Tensor.__new__(cls) if data is None else Tensor.__new__(cls, data)

    def __init__(self, data=None, *, persistent=True):
        self.persistent = persistent


_nn._set_buffer_type(Buffer)
