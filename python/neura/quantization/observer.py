"""Observers: modules that return their input, record its range, and choose scales for it.

>>> import neura
>>> observer = neura.quantization.MinMaxObserver()
>>> x = observer(neura.tensor([-1.0, 0.0, 4.1]))
>>> scale, zero_point = observer.calculate_qparams()
>>> round(float(scale), 3), int(zero_point)
(0.02, 50)
"""

import functools

from .. import _neura
from .._neura import errors
from ..autograd.grad_mode import no_grad
from ..nn import Module
from ._parameters import check_finite, check_range, choose_parameters, per_channel_symmetric, per_tensor_affine

__all__ = [
    "HistogramObserver",
    "MinMaxObserver",
    "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver",
    "ObserverBase",
    "PerChannelMinMaxObserver",
    "PercentileObserver",
]

_EPS = 2.0**-23


class _Made(functools.partial):
    """A class with some of its arguments: call it to make one."""

    def with_args(self, **arguments):
        """The same with more arguments, or others."""
        return _Made(self, **arguments)


class ObserverBase(Module):
    """What observers have in common. forward(x) looks at x and returns it; calculate_qparams() chooses.

    Args:
        dtype (neura.dtype): of the integers: neura.uint8 or neura.int8.
        qscheme (str): per_tensor_affine, per_tensor_symmetric, per_channel_affine or per_channel_symmetric.
        quant_min, quant_max (int): the integers that are used; by default all that the dtype holds. 4 bits: 0 and 15.
        eps (float): the least scale.
    """

    ch_axis = None

    def __init__(self, dtype=_neura.uint8, qscheme=per_tensor_affine, quant_min=None, quant_max=None, eps=_EPS):
        super().__init__()
        self.quant_min, self.quant_max = check_range(type(self).__name__, dtype, qscheme, quant_min, quant_max)
        self.dtype, self.qscheme, self.eps = dtype, qscheme, eps
        self.register_buffer("min_val", _neura.tensor(float("inf")))
        self.register_buffer("max_val", _neura.tensor(float("-inf")))

    @classmethod
    def with_args(cls, **arguments):
        """The class with these arguments: call it to make one.

        >>> import neura
        >>> make = neura.quantization.MinMaxObserver.with_args(dtype=neura.int8)
        >>> make().quant_min
        -128
        """
        return _Made(cls, **arguments)

    @property
    def symmetric(self):
        """True if the scheme is symmetric: the zero point is the middle of the range."""
        return self.qscheme.endswith("symmetric")

    def extremes(self, x):
        """(least, largest) of x, as the observer sees it."""
        return _neura.aminmax(x)

    def finite_extremes(self, x):
        """extremes(x). ValueError where they are not finite."""
        low, high = self.extremes(x)
        check_finite(type(self).__name__, float(low.amin()), float(high.amax()))
        return low, high

    def forward(self, x):
        """Looks at x, and returns it as it is."""
        if x.numel():
            with no_grad():
                self.observe(x.detach().float())
        return x

    def observe(self, x):
        """Takes x [..] into account. Subclasses say how."""
        raise NotImplementedError(f"{type(self).__name__}.observe: not written")

    def reset_min_max_vals(self):
        """Forgets what was seen."""
        self.min_val = _neura.tensor(float("inf"), device=self.min_val.device)
        self.max_val = _neura.tensor(float("-inf"), device=self.max_val.device)

    def chosen_range(self):
        """(low, high) that the integers are to cover."""
        return self.min_val, self.max_val

    def calculate_qparams(self):
        """(scale float32, zero_point int32), of one element or [channels]. RuntimeError before anything was seen."""
        if self.min_val.numel() and bool((self.min_val > self.max_val).any()):
            raise RuntimeError(
                f"{type(self).__name__}: expected to have seen numbers, got none; run the model on data first"
            )
        low, high = self.chosen_range()
        scale, zero = choose_parameters(low, high, self.symmetric, self.quant_min, self.quant_max, self.eps)
        return scale.reshape(-1), zero.reshape(-1)

    def extra_repr(self):
        """The range that was seen."""
        if self.min_val.numel() == 1:
            return f"min_val={float(self.min_val):.6g}, max_val={float(self.max_val):.6g}"
        return f"channels={self.min_val.numel()}"


class MinMaxObserver(ObserverBase):
    """The least and the largest number ever seen. Arguments: ObserverBase's."""

    def observe(self, x):
        """Takes x into account."""
        low, high = self.finite_extremes(x)
        if self.min_val.shape == low.shape:
            low, high = _neura.minimum(low, self.min_val), _neura.maximum(high, self.max_val)
        self.min_val, self.max_val = low, high


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Exponential moving averages of the extremes of each x; averaging_constant is the weight of a new one."""

    def __init__(self, averaging_constant=0.01, **arguments):
        super().__init__(**arguments)
        self.averaging_constant = averaging_constant

    def observe(self, x):
        """Takes x into account."""
        low, high = self.finite_extremes(x)
        if self.min_val.shape == low.shape and bool((self.min_val <= self.max_val).all()):
            low = self.min_val + self.averaging_constant * (low - self.min_val)
            high = self.max_val + self.averaging_constant * (high - self.max_val)
        self.min_val, self.max_val = low, high


class PerChannelMinMaxObserver(MinMaxObserver):
    """MinMaxObserver with a range for each place along the axis ch_axis."""

    def __init__(self, ch_axis=0, dtype=_neura.int8, qscheme=per_channel_symmetric, **arguments):
        super().__init__(dtype=dtype, qscheme=qscheme, **arguments)
        self.ch_axis = ch_axis

    def extremes(self, x):
        """(least, largest) of each channel."""
        rows = x.movedim(self.ch_axis, 0).flatten(1) if x.dim() > 1 else x.reshape(-1, 1)
        return _neura.aminmax(rows, dim=1)

    def _load_from_state_dict(self, state_dict, prefix, *rest):
        for name in ("min_val", "max_val"):  # as many channels as the file has
            if prefix + name in state_dict:
                setattr(self, name, _neura.empty_like(state_dict[prefix + name], device=self.min_val.device))
        super()._load_from_state_dict(state_dict, prefix, *rest)


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver, MovingAverageMinMaxObserver):
    """MovingAverageMinMaxObserver with a range for each place along the axis ch_axis."""

    def __init__(self, averaging_constant=0.01, ch_axis=0, **arguments):
        super().__init__(ch_axis=ch_axis, **arguments)
        self.averaging_constant = averaging_constant

    observe = MovingAverageMinMaxObserver.observe


class HistogramObserver(ObserverBase):
    """Counts numbers in `bins` bins, and chooses the range whose rounding errs least, as the mean of squares says.

    Few numbers far outside then do not make the steps of all others coarse: they are cut off.

    Args:
        bins (int): of the histogram; it grows with what is seen, and counts are moved to the wider bins.
        **arguments: ObserverBase's, per tensor.
    """

    _CANDIDATES = 128

    def __init__(self, bins=2048, **arguments):
        super().__init__(**arguments)
        if self.qscheme.startswith("per_channel"):
            raise errors.ValueError(f"{type(self).__name__}: expected a qscheme per tensor, got {self.qscheme!r}")
        self.bins = bins
        self.register_buffer("histogram", _neura.zeros(bins))

    def reset_min_max_vals(self):
        """Forgets what was seen."""
        super().reset_min_max_vals()
        self.histogram.zero_()

    def observe(self, x):
        """Takes x into account."""
        low, high = (float(v) for v in _neura.aminmax(x))
        check_finite(type(self).__name__, low, high)
        before = float(self.min_val), float(self.max_val)
        seen = before[0] <= before[1]
        low, high = (min(low, before[0]), max(high, before[1])) if seen else (low, high)
        if seen and (low, high) != before:
            self.histogram = self._moved(before, (low, high))
        self.histogram += _neura.histc(x.reshape(-1), self.bins, low, high if high > low else low + 1.0)
        self.min_val.fill_(low)
        self.max_val.fill_(high)

    def _centers(self, low, high):
        width = (high - low if high > low else 1.0) / self.bins
        return low + width * (_neura.arange(self.bins, device=self.histogram.device) + 0.5)

    def _moved(self, old, new):
        place = (self._centers(*old) - new[0]) / (new[1] - new[0]) * self.bins
        place = place.floor().clamp(0, self.bins - 1).long()
        return _neura.zeros_like(self.histogram).index_add(0, place, self.histogram)

    def _error(self, low, high):
        """The mean square of what rounding to a range makes of the bins, for each pair of ends [candidates]."""
        scale, zero = choose_parameters(low, high, self.symmetric, self.quant_min, self.quant_max, self.eps)
        x = self._centers(float(self.min_val), float(self.max_val))
        scale, zero = scale.unsqueeze(1), zero.unsqueeze(1)
        q = ((x / scale).round() + zero).clamp(self.quant_min, self.quant_max)
        return (((q - zero) * scale - x).square() * self.histogram).sum(1)

    def chosen_range(self):
        """The ends, each moved inwards as long as the error falls: first the upper one, then the lower one, twice."""
        low, high = self.min_val.clamp(max=0), self.max_val.clamp(min=0)
        part = (_neura.arange(self._CANDIDATES, device=low.device) + 1) / self._CANDIDATES
        if self.symmetric:
            ends = _neura.maximum(-low, high) * part
            best = ends[self._error(-ends, ends).argmin()]
            return -best, best
        widest = low, high
        for _ in range(2):
            ends = widest[1] * part
            high = ends[self._error(low.expand_as(ends), ends).argmin()]
            ends = widest[0] * part
            low = ends[self._error(ends, high.expand_as(ends)).argmin()]
        return low, high


class PercentileObserver(HistogramObserver):
    """The range that holds `percentile` percent of the numbers, the rest being cut off on both sides alike.

    Args:
        percentile (float): above 50, at most 100.
        **arguments: HistogramObserver's.
    """

    def __init__(self, percentile=99.99, **arguments):
        super().__init__(**arguments)
        if not 50 < percentile <= 100:
            raise errors.ValueError(f"PercentileObserver: expected percentile above 50, at most 100, got {percentile}")
        self.percentile = percentile

    def chosen_range(self):
        """The middle of the histogram, to the next whole bin outwards."""
        share = self.histogram.double().cumsum(0)
        share = share / share[-1]
        outside = (1 - self.percentile / 100) / 2
        low, high = float(self.min_val), float(self.max_val)
        width = (high - low) / self.bins
        first = int((share <= outside).sum())
        last = int((share < 1 - outside).sum())
        last = min(last, self.bins - 1)
        ends = low + first * width, min(high, low + (last + 1) * width)
        return tuple(_neura.tensor(v, device=self.min_val.device) for v in ends)
