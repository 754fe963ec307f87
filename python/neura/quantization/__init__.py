"""Quantised models, which compute with integers: smaller, and faster on processors that multiply bytes.

prepare, run on data, convert; or prepare_qat, train, convert; or quantize_dynamic and quantize_weights, without data.
Under PyTorch's name too: neura.ao.quantization.

>>> import neura
>>> model = neura.nn.Sequential(neura.nn.Linear(4, 4), neura.nn.ReLU()).eval()
>>> prepared = neura.quantization.prepare(model)
>>> _ = prepared(neura.rand(100, 4))
>>> neura.quantization.convert(prepared)[0].weight.dtype
neura.int8
"""

from ._layers import Conv2d, DynamicLinear, Linear, WeightOnlyLinear
from ._parameters import per_channel_affine, per_channel_symmetric, per_tensor_affine, per_tensor_symmetric
from ._prepared import freeze_bn_stats
from .checkpoints import load_quantized
from .fake_quantize import FakeQuantize, disable_fake_quant, disable_observer, enable_fake_quant, enable_observer
from .observer import (
    HistogramObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    ObserverBase,
    PerChannelMinMaxObserver,
    PercentileObserver,
)
from .qconfig import QConfig, get_default_qat_qconfig, get_default_qconfig
from .quantize import convert, convert_qat, fuse_modules, prepare, prepare_qat, quantize_dynamic, quantize_weights

__all__ = [
    "Conv2d",
    "DynamicLinear",
    "FakeQuantize",
    "HistogramObserver",
    "Linear",
    "MinMaxObserver",
    "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver",
    "ObserverBase",
    "PerChannelMinMaxObserver",
    "PercentileObserver",
    "QConfig",
    "WeightOnlyLinear",
    "convert",
    "convert_qat",
    "disable_fake_quant",
    "disable_observer",
    "enable_fake_quant",
    "enable_observer",
    "freeze_bn_stats",
    "fuse_modules",
    "get_default_qat_qconfig",
    "get_default_qconfig",
    "load_quantized",
    "per_channel_affine",
    "per_channel_symmetric",
    "per_tensor_affine",
    "per_tensor_symmetric",
    "prepare",
    "prepare_qat",
    "quantize_dynamic",
    "quantize_weights",
]
