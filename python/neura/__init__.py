"""Neura: tensors, gradients and networks, with PyTorch's names and answers."""

import math as _math
import sys as _sys

from . import _neura
from ._neura import *  # noqa: F401,F403
from ._neura import Tensor, device, dtype, errors  # noqa: F401
from . import _signatures  # noqa: F401
from .autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled  # noqa: F401
from ._formats import channels_last, channels_last_3d, contiguous_format, preserve_format  # noqa: F401
from ._formats import layout, memory_format, strided  # noqa: F401
from ._limits import finfo, iinfo  # noqa: F401
from . import autograd, func, linalg, masked, nn, optim, safetensors, signal, special  # noqa: F401
from . import random, utils  # noqa: F401
from .serialization import load, save  # noqa: F401

for _name, _value in list(globals().items()):  # of the extension module: their public names are elsewhere
    if (
        getattr(_value, "__name__", "").startswith("neura._neura.")
        and type(_value) is type(_math)
        and _value is not errors
    ):
        del globals()[_name]
del _name, _value

__version__ = "0.1.0"
bool = _neura.bool
pi, e, inf, nan = _math.pi, _math.e, _math.inf, _math.nan
newaxis = None
_sys.modules[__name__ + ".errors"] = errors  # where pickle looks for them


def is_tensor(obj):
    """Is this object a neura.Tensor?"""
    return isinstance(obj, Tensor)


native_layer_norm = _neura.functional.native_layer_norm
native_batch_norm = _neura.functional.native_batch_norm
constant_pad_nd = _neura.functional.constant_pad_nd


def __getattr__(name):
    if name == "data":  # loaded when first needed
        from importlib import import_module

        return import_module(__name__ + ".data")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
