"""Ranges of numbers as scales and zero points."""

import math

from .. import _neura
from .._neura import errors

per_tensor_affine = "per_tensor_affine"
per_tensor_symmetric = "per_tensor_symmetric"
per_channel_affine = "per_channel_affine"
per_channel_symmetric = "per_channel_symmetric"
_SCHEMES = (per_tensor_affine, per_tensor_symmetric, per_channel_affine, per_channel_symmetric)

_LIMITS = {_neura.int8: (-128, 127), _neura.uint8: (0, 255)}


def check_range(op, dtype, qscheme, quant_min, quant_max):
    """The range of integers, after checks: what the dtype holds where no other is given."""
    if dtype not in _LIMITS:
        raise errors.DTypeError(f"{op}: expected dtype to be neura.int8 or neura.uint8, got {dtype}")
    if qscheme not in _SCHEMES:
        raise errors.ValueError(f"{op}: expected qscheme to be one of {', '.join(_SCHEMES)}, got {qscheme!r}")
    low, high = _LIMITS[dtype]
    quant_min = low if quant_min is None else quant_min
    quant_max = high if quant_max is None else quant_max
    if not low <= quant_min < quant_max <= high:
        raise errors.ValueError(
            f"{op}: expected quant_min below quant_max, both from {low} to {high}, got {quant_min} and {quant_max}"
        )
    return quant_min, quant_max


def check_finite(op, low, high):
    """ValueError unless the ends of a range, numbers, are finite: no grid holds NaN or infinity."""
    if not math.isfinite(high - low):
        raise errors.ValueError(
            f"{op}: expected finite numbers, got a range of {low} to {high}; look for what made them"
        )


def rows_quantized(rows, bits):
    """(int8 [n, width], scale [n]) of rows of weights: symmetric, with a scale for each row, in 8 or 4 bits."""
    limit = 2 ** (bits - 1)
    scale = (rows.abs().amax(1) / (limit - 0.5)).clamp(min=2.0**-23)
    zero = _neura.zeros_like(scale, dtype=_neura.int32)
    return _neura.quantize_affine(rows, scale, zero, -limit, limit - 1, axis=0), scale


def choose_parameters(low, high, symmetric, quant_min, quant_max, eps):
    """(scale float32, zero_point int32) for numbers from `low` to `high` [channels].

    0 is always within the range, and is met exactly. Symmetric: the zero point is the middle, or 0 of a signed range.
    """
    low, high = low.detach().float().clamp(max=0), high.detach().float().clamp(min=0)
    middle = (quant_min + quant_max + 1) // 2
    if symmetric:
        # the side that has more steps is not used to its end: the steps are alike on both
        scale = (_neura.maximum(-low, high) / ((quant_max - quant_min) / 2)).clamp(min=eps)
        return scale, _neura.full_like(scale, middle, dtype=_neura.int32)
    scale = ((high - low) / (quant_max - quant_min)).clamp(min=eps)
    zero = quant_min - (low / scale).round()
    return scale, zero.clamp(quant_min, quant_max).to(_neura.int32)
