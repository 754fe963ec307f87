"""Levels, codes, rates, masks."""

import math

from .. import _neura
from ..nn import Module
from . import functional as F


class AmplitudeToDB(Module):
    """Decibels of powers or, with ``stype="magnitude"``, magnitudes; with ``top_db`` none further below the largest.

    >>> import neura
    >>> neura.audio.transforms.AmplitudeToDB()(neura.tensor([[1.0, 100.0]]))
    tensor([[ 0., 20.]])
    """

    def __init__(self, stype="power", top_db=None):
        super().__init__()
        if stype not in ("power", "magnitude"):
            raise ValueError(f"AmplitudeToDB: expected stype 'power' or 'magnitude', got {stype!r}")
        if top_db is not None and top_db < 0:
            raise ValueError(f"AmplitudeToDB: expected top_db of at least 0, got {top_db}")
        self.stype, self.top_db = stype, top_db
        self.multiplier = 10.0 if stype == "power" else 20.0
        self.amin, self.ref_value = 1e-10, 1.0
        self.db_multiplier = math.log10(max(self.amin, self.ref_value))

    def forward(self, x):
        return F.amplitude_to_DB(x, self.multiplier, self.amin, self.db_multiplier, self.top_db)


class Resample(Module):
    """Signals at another rate: [..., time] -> [..., ceil(time new_freq / orig_freq)]. Arguments as resample.

    >>> import neura
    >>> neura.audio.transforms.Resample(44100, 16000)(neura.ones(1, 441)).shape
    neura.Size([1, 160])
    """

    def __init__(
        self,
        orig_freq=16000,
        new_freq=16000,
        resampling_method="sinc_interp_hann",
        lowpass_filter_width=6,
        rolloff=0.99,
        beta=None,
    ):
        super().__init__()
        self.orig_freq, self.new_freq, self.resampling_method = orig_freq, new_freq, resampling_method
        self.lowpass_filter_width, self.rolloff, self.beta = lowpass_filter_width, rolloff, beta

    def forward(self, waveform):
        return F.resample(
            waveform,
            self.orig_freq,
            self.new_freq,
            self.lowpass_filter_width,
            self.rolloff,
            self.resampling_method,
            self.beta,
        )


class MuLawEncoding(Module):
    """Signals in [-1, 1] as int64 codes from 0 to quantization_channels - 1.

    >>> import neura
    >>> neura.audio.transforms.MuLawEncoding()(neura.tensor([-1.0, 0.0, 1.0]))
    tensor([  0, 128, 255])
    """

    def __init__(self, quantization_channels=256):
        super().__init__()
        self.quantization_channels = quantization_channels

    def forward(self, x):
        return F.mu_law_encoding(x, self.quantization_channels)


class MuLawDecoding(Module):
    """The signal of codes of MuLawEncoding.

    >>> import neura
    >>> neura.audio.transforms.MuLawDecoding()(neura.tensor([0, 255]))
    tensor([-1.,  1.])
    """

    def __init__(self, quantization_channels=256):
        super().__init__()
        self.quantization_channels = quantization_channels

    def forward(self, x_mu):
        return F.mu_law_decoding(x_mu, self.quantization_channels)


class ComputeDeltas(Module):
    """Delta coefficients: slopes along time by regression over win_length frames, [..., time] -> [..., time].

    >>> import neura
    >>> neura.audio.transforms.ComputeDeltas(3)(neura.tensor([[0.0, 2.0, 4.0]]))
    tensor([[1., 2., 1.]])
    """

    def __init__(self, win_length=5, mode="replicate"):
        super().__init__()
        self.win_length, self.mode = win_length, mode

    def forward(self, specgram):
        return F.compute_deltas(specgram, self.win_length, self.mode)


class _Masking(Module):
    def __init__(self, mask_param, from_the_end, iid_masks, p):
        super().__init__()
        self.mask_param, self.iid_masks, self.p, self._from_the_end = mask_param, iid_masks, p, from_the_end

    def forward(self, specgram, mask_value=0.0):
        mask = F.mask_along_axis_iid if self.iid_masks else F.mask_along_axis
        return mask(specgram, self.mask_param, mask_value, specgram.dim() - self._from_the_end, self.p)


class FrequencyMasking(_Masking):
    """Fills a random band of frequencies, narrower than freq_mask_param, with mask_value (Park et al., 2019).

    [..., bins, frames]; ``iid_masks``: each spectrogram gets its own. (Park et al., 2019, SpecAugment.)

    >>> import neura
    >>> neura.audio.transforms.FrequencyMasking(4)(neura.ones(1, 8, 6)).shape
    neura.Size([1, 8, 6])
    """

    def __init__(self, freq_mask_param, iid_masks=False):
        super().__init__(freq_mask_param, 2, iid_masks, 1.0)


class TimeMasking(_Masking):
    """As FrequencyMasking, across time, and no wider than the share ``p`` of the frames.

    >>> import neura
    >>> neura.audio.transforms.TimeMasking(4, p=0.5)(neura.ones(1, 8, 6)).shape
    neura.Size([1, 8, 6])
    """

    def __init__(self, time_mask_param, iid_masks=False, p=1.0):
        if not 0 <= p <= 1:
            raise ValueError(f"TimeMasking: expected p from 0 to 1, got {p}")
        super().__init__(time_mask_param, 1, iid_masks, p)


_SHAPES = {  # of a rising edge, over x from 0 to 1
    "linear": lambda x: x,
    "exponential": lambda x: _neura.pow(2.0, x - 1) * x,
    "logarithmic": lambda x: _neura.log10(0.1 + x) + 1,
    "quarter_sine": lambda x: _neura.sin(x * (math.pi / 2)),
    "half_sine": lambda x: _neura.sin(x * math.pi - math.pi / 2) / 2 + 0.5,
}


class Fade(Module):
    """Signals that begin and end softly, over fade_in_len and fade_out_len samples: [..., time] -> [..., time].

    ``fade_shape``: "linear", "exponential", "logarithmic", "quarter_sine" or "half_sine".

    >>> import neura
    >>> neura.audio.transforms.Fade(3, 2)(neura.ones(6))
    tensor([0.0000, 0.5000, 1.0000, 1.0000, 1.0000, 0.0000])
    """

    def __init__(self, fade_in_len=0, fade_out_len=0, fade_shape="linear"):
        super().__init__()
        if fade_shape not in _SHAPES:
            raise ValueError(f"Fade: expected a fade_shape of {', '.join(_SHAPES)}, got {fade_shape!r}")
        self.fade_in_len, self.fade_out_len, self.fade_shape = fade_in_len, fade_out_len, fade_shape

    def forward(self, waveform):
        length = waveform.shape[-1]
        if max(self.fade_in_len, self.fade_out_len) > length:
            raise ValueError(
                f"Fade: expected a signal of at least {max(self.fade_in_len, self.fade_out_len)} samples, got {length}"
            )
        rise, fall = (self._edge(n, length, waveform) for n in (self.fade_in_len, self.fade_out_len))
        return waveform * rise * fall.flip(0)

    def _edge(self, n, length, like):
        made = {"dtype": like.dtype, "device": like.device}
        edge = _SHAPES[self.fade_shape](_neura.linspace(0, 1, n, **made))
        return _neura.cat([edge, _neura.ones(length - n, **made)]).clamp(0, 1)


class Vol(Module):
    """The signal louder, clamped to [-1, 1]; ``gain_type``: gain is an "amplitude", a ratio of "power", or in "db".

    >>> import neura
    >>> neura.audio.transforms.Vol(2.0)(neura.tensor([0.25, 0.75]))
    tensor([0.5000, 1.0000])
    """

    def __init__(self, gain, gain_type="amplitude"):
        super().__init__()
        if gain_type not in ("amplitude", "power", "db"):
            raise ValueError(f"Vol: expected gain_type 'amplitude', 'power' or 'db', got {gain_type!r}")
        if gain_type != "db" and gain < 0:
            raise ValueError(f"Vol: expected a gain of at least 0, got {gain}")
        self.gain, self.gain_type = gain, gain_type

    def forward(self, waveform):
        ratio = {"amplitude": lambda g: g, "power": math.sqrt, "db": lambda g: 10 ** (g / 20)}[self.gain_type]
        return (waveform * ratio(self.gain)).clamp(-1, 1)


class Preemphasis(Module):
    """x[t] - coeff x[t - 1], which lifts high frequencies.

    >>> import neura
    >>> neura.audio.transforms.Preemphasis(0.5)(neura.ones(3))
    tensor([1.0000, 0.5000, 0.5000])
    """

    def __init__(self, coeff=0.97):
        super().__init__()
        self.coeff = coeff

    def forward(self, waveform):
        return F.preemphasis(waveform, self.coeff)


class Deemphasis(Module):
    """The inverse of Preemphasis, clamped to [-1, 1].

    >>> import neura
    >>> neura.audio.transforms.Deemphasis(0.5)(neura.tensor([1.0, 0.0, 0.0]))
    tensor([1.0000, 0.5000, 0.2500])
    """

    def __init__(self, coeff=0.97):
        super().__init__()
        self.coeff = coeff

    def forward(self, waveform):
        return F.deemphasis(waveform, self.coeff)
