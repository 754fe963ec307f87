"""Neura: tensors, gradients and networks, with PyTorch's names and answers."""

import math as _math
import sys as _sys

from . import _lazy, _neura
from ._neura import *  # noqa: F401,F403
from ._neura import Tensor, device, dtype, errors  # noqa: F401
from . import _signatures  # noqa: F401
from ._formats import channels_last, channels_last_3d, contiguous_format, preserve_format  # noqa: F401
from ._formats import layout, memory_format, strided  # noqa: F401

for _name, _value in list(globals().items()):  # of the extension module: their public names are elsewhere
    if type(_value) is type(_math) and _value.__name__.startswith("neura._neura.") and _value is not errors:
        del globals()[_name]
del _name, _value

__version__ = "0.1.0"
bool = _neura.bool
pi, e, inf, nan = _math.pi, _math.e, _math.inf, _math.nan
newaxis = None
_sys.modules[__name__ + ".errors"] = errors  # where pickle looks for them

native_layer_norm = _neura.functional.native_layer_norm
native_batch_norm = _neura.functional.native_batch_norm
constant_pad_nd = _neura.functional.constant_pad_nd
for _name in (
    "_chunk_cat _native_batch_norm_legit _safe_softmax _segment_reduce _softmax_backward_data _unsafe_masked_index "
    "_unsafe_masked_index_put_accumulate"
).split():
    globals()[_name] = getattr(_neura, _name)
del _name

__getattr__, __dir__ = _lazy.names(
    __name__,
    {
        "_legacy": "BFloat16Tensor BoolTensor ByteTensor CharTensor ComplexDoubleTensor ComplexFloatTensor "
        "DoubleTensor FloatTensor HalfTensor IntTensor LongTensor ShortTensor",
        "_limits": "finfo iinfo",
        "_tensor_str": "",
        "accelerator": "",
        "autograd": "",
        "autograd.grad_mode": "enable_grad inference_mode no_grad set_grad_enabled",
        "backends": "",
        "cuda": "",
        "data": "",
        "func": "",
        "linalg": "",
        "masked": "",
        "nn": "",
        "optim": "",
        "random": "",
        "safetensors": "",
        "serialization": "load save",
        "signal": "",
        "special": "",
        "testing": "",
        "utils": "",
    },
)


def is_tensor(obj):
    """Is this object a neura.Tensor?"""
    return isinstance(obj, Tensor)
