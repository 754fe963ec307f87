"""The observers of activations and weights."""

import collections

from .. import _neura
from ._parameters import per_channel_symmetric
from .fake_quantize import FakeQuantize
from .observer import HistogramObserver, MovingAverageMinMaxObserver, PerChannelMinMaxObserver

__all__ = ["QConfig", "get_default_qat_qconfig", "get_default_qconfig"]

QConfig = collections.namedtuple("QConfig", ["activation", "weight"])
QConfig.__doc__ = """What makes the FakeQuantize of a layer's input and that of its weight: two callables.

>>> import neura.quantization as q
>>> four_bits = q.FakeQuantize.with_args(observer=q.MinMaxObserver, quant_min=0, quant_max=15)
>>> config = q.get_default_qconfig()._replace(activation=four_bits)
>>> config.activation().quant_max
15
"""


def _weight(bits):
    half = 1 << (bits - 1)
    return FakeQuantize.with_args(
        observer=PerChannelMinMaxObserver,
        dtype=_neura.int8,
        qscheme=per_channel_symmetric,
        quant_min=-half,
        quant_max=half - 1,
    )


def get_default_qconfig(weight_bits=8):
    """For prepare: activations uint8 by HistogramObserver, weights int8 (or fewer bits), symmetric, per channel."""
    return QConfig(FakeQuantize.with_args(observer=HistogramObserver), _weight(weight_bits))


def get_default_qat_qconfig(weight_bits=8):
    """For prepare_qat: as get_default_qconfig, but activations by MovingAverageMinMaxObserver."""
    return QConfig(FakeQuantize.with_args(observer=MovingAverageMinMaxObserver), _weight(weight_bits))
