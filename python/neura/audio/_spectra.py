"""Spectrograms, and back."""

import math

from .. import _neura
from ..nn import Module
from . import functional as F


def _hann(length):
    return _neura.hann_window(length)


class _Framed(Module):
    """What transforms with short frames share: sizes and a window."""

    def __init__(self, n_fft, win_length, hop_length, pad, window_fn, wkwargs):
        super().__init__()
        self.n_fft = n_fft
        self.win_length = win_length if win_length is not None else n_fft
        self.hop_length = hop_length if hop_length is not None else self.win_length // 2
        self.pad = pad
        self.register_buffer("window", (window_fn or _hann)(self.win_length, **(wkwargs or {})))

    def extra_repr(self):
        return f"n_fft={self.n_fft}, win_length={self.win_length}, hop_length={self.hop_length}"


class Spectrogram(_Framed):
    """|stft|^power of signals: [..., time] -> [..., bins, frames], with n_fft // 2 + 1 bins where ``onesided``.

    ``power=None``: the complex transform. ``normalized``: True or "window", "frame_length". ``pad``: zeros on both
    sides. ``window_fn(win_length, **wkwargs)`` makes the window, by default Hann's. DTypeError, ValueError.

    >>> import neura
    >>> neura.audio.transforms.Spectrogram(n_fft=8)(neura.ones(2, 16)).shape
    neura.Size([2, 5, 5])
    """

    def __init__(
        self,
        n_fft=400,
        win_length=None,
        hop_length=None,
        pad=0,
        window_fn=None,
        power=2.0,
        normalized=False,
        wkwargs=None,
        center=True,
        pad_mode="reflect",
        onesided=True,
    ):
        super().__init__(n_fft, win_length, hop_length, pad, window_fn, wkwargs)
        self.power, self.normalized, self.center = power, normalized, center
        self.pad_mode, self.onesided = pad_mode, onesided

    def forward(self, waveform):
        return F.spectrogram(
            waveform,
            self.pad,
            self.window,
            self.n_fft,
            self.hop_length,
            self.win_length,
            self.power,
            self.normalized,
            self.center,
            self.pad_mode,
            self.onesided,
        )


class InverseSpectrogram(_Framed):
    """The signals of complex spectrograms, made by Spectrogram(power=None) with the same arguments.

    >>> import neura
    >>> x = neura.rand(1, 32)
    >>> z = neura.audio.transforms.Spectrogram(8, power=None)(x)
    >>> neura.audio.transforms.InverseSpectrogram(8)(z, length=32).allclose(x, atol=1e-6)
    True
    """

    def __init__(
        self,
        n_fft=400,
        win_length=None,
        hop_length=None,
        pad=0,
        window_fn=None,
        normalized=False,
        wkwargs=None,
        center=True,
        pad_mode="reflect",
        onesided=True,
    ):
        super().__init__(n_fft, win_length, hop_length, pad, window_fn, wkwargs)
        self.normalized, self.center, self.pad_mode, self.onesided = normalized, center, pad_mode, onesided

    def forward(self, spectrogram, length=None):
        return F.inverse_spectrogram(
            spectrogram,
            length,
            self.pad,
            self.window,
            self.n_fft,
            self.hop_length,
            self.win_length,
            self.normalized,
            self.center,
            self.pad_mode,
            self.onesided,
        )


class GriffinLim(_Framed):
    """Signals whose spectrograms are near those given, which have no phases: [..., bins, frames] -> [..., time].

    (Griffin and Lim, 1984; with momentum: Perraudin, Balazs and Sondergaard, 2013.)

    >>> import neura
    >>> loud = neura.audio.transforms.Spectrogram(8)(neura.ones(1, 16))
    >>> neura.audio.transforms.GriffinLim(8, n_iter=2)(loud).shape
    neura.Size([1, 16])
    """

    def __init__(
        self,
        n_fft=400,
        n_iter=32,
        win_length=None,
        hop_length=None,
        window_fn=None,
        power=2.0,
        wkwargs=None,
        momentum=0.99,
        length=None,
        rand_init=True,
    ):
        super().__init__(n_fft, win_length, hop_length, 0, window_fn, wkwargs)
        self.n_iter, self.power, self.momentum = n_iter, power, momentum
        self.length, self.rand_init = length, rand_init

    def forward(self, specgram):
        return F.griffinlim(
            specgram,
            self.window,
            self.n_fft,
            self.hop_length,
            self.win_length,
            self.power,
            self.n_iter,
            self.momentum,
            self.length,
            self.rand_init,
        )


class SpectralCentroid(_Framed):
    """The mean frequency of each frame in hertz, weighted by the magnitudes: [..., time] -> [..., frames].

    >>> import neura
    >>> neura.audio.transforms.SpectralCentroid(16000, n_fft=8)(neura.rand(1, 16)).shape
    neura.Size([1, 5])
    """

    def __init__(self, sample_rate, n_fft=400, win_length=None, hop_length=None, pad=0, window_fn=None, wkwargs=None):
        super().__init__(n_fft, win_length, hop_length, pad, window_fn, wkwargs)
        self.sample_rate = sample_rate

    def forward(self, waveform):
        return F.spectral_centroid(
            waveform, self.sample_rate, self.pad, self.window, self.n_fft, self.hop_length, self.win_length
        )


class TimeStretch(Module):
    """Complex spectrograms at another speed, of the same pitch: [..., n_freq, ceil(frames / rate)].

    >>> import neura
    >>> z = neura.audio.transforms.Spectrogram(8, power=None)(neura.rand(1, 32))
    >>> neura.audio.transforms.TimeStretch(n_freq=5, hop_length=4)(z, 2.0).shape
    neura.Size([1, 5, 5])
    """

    def __init__(self, hop_length=None, n_freq=201, fixed_rate=None):
        super().__init__()
        self.fixed_rate = fixed_rate
        hop = hop_length if hop_length is not None else n_freq - 1
        self.register_buffer("phase_advance", _neura.linspace(0, math.pi * hop, n_freq)[..., None])

    def forward(self, complex_specgrams, overriding_rate=None):
        rate = self.fixed_rate if overriding_rate is None else overriding_rate
        if rate is None:
            raise ValueError("TimeStretch: expected a rate, got none; pass overriding_rate or fixed_rate")
        return F.phase_vocoder(complex_specgrams, rate, self.phase_advance)
