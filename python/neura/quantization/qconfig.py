"""The observers of activations and weights."""

import collections

from .. import _arguments, _neura
from .._neura import errors
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


def _bits(op, weight_bits):
    """The names of PyTorch's back ends all mean 8 bits."""
    if isinstance(weight_bits, str) and weight_bits in ("x86", "fbgemm", "qnnpack", "onednn"):
        return 8
    bits = _arguments.integer(op, "weight_bits", weight_bits)
    if not 1 <= bits <= 8:
        raise errors.ValueError(f"{op}: expected from 1 to 8 weight_bits, which int8 holds, got {bits}")
    return bits


def get_default_qconfig(weight_bits=8, version=0):
    """For prepare: activations uint8 by HistogramObserver, weights int8 (or fewer bits), symmetric, per channel.

    weight_bits: also the name of a back end of PyTorch, such as "x86" or "fbgemm", which means 8. version: no effect.
    """
    return QConfig(
        FakeQuantize.with_args(observer=HistogramObserver), _weight(_bits("get_default_qconfig", weight_bits))
    )


def get_default_qat_qconfig(weight_bits=8, version=1):
    """For prepare_qat: as get_default_qconfig, but activations by MovingAverageMinMaxObserver."""
    weight = _weight(_bits("get_default_qat_qconfig", weight_bits))
    return QConfig(FakeQuantize.with_args(observer=MovingAverageMinMaxObserver), weight)
