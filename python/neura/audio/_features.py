"""Features of hearing: mel spectrograms and cepstra."""

from .. import _neura
from ..nn import Module
from . import functional as F
from ._spectra import Spectrogram
from ._waves import AmplitudeToDB


def _times(matrix, specgram):
    """[a, b] times [..., a, frames] -> [..., b, frames]."""
    return _neura.matmul(matrix.mT, specgram)


class MelScale(Module):
    """Spectrograms over mel filters: [..., n_stft, frames] -> [..., n_mels, frames].

    ``f_max``: by default half the rate. ``norm``, ``mel_scale``: as melscale_fbanks. ValueError.

    >>> import neura
    >>> neura.audio.transforms.MelScale(40, 16000, n_stft=201)(neura.rand(2, 201, 7)).shape
    neura.Size([2, 40, 7])
    """

    def __init__(self, n_mels=128, sample_rate=16000, f_min=0.0, f_max=None, n_stft=201, norm=None, mel_scale="htk"):
        super().__init__()
        self.n_mels, self.sample_rate, self.f_min = n_mels, sample_rate, f_min
        self.f_max = f_max if f_max is not None else float(sample_rate // 2)
        self.norm, self.mel_scale = norm, mel_scale
        fb = F.melscale_fbanks(n_stft, self.f_min, self.f_max, n_mels, sample_rate, norm, mel_scale)
        self.register_buffer("fb", fb)

    def forward(self, specgram):
        return _times(self.fb, specgram)


class MelSpectrogram(Module):
    """Spectrogram, then MelScale: [..., time] -> [..., n_mels, frames].

    >>> import neura
    >>> neura.audio.transforms.MelSpectrogram(16000, n_mels=40)(neura.rand(16000)).shape
    neura.Size([40, 81])
    """

    def __init__(
        self,
        sample_rate=16000,
        n_fft=400,
        win_length=None,
        hop_length=None,
        f_min=0.0,
        f_max=None,
        pad=0,
        n_mels=128,
        window_fn=None,
        power=2.0,
        normalized=False,
        wkwargs=None,
        center=True,
        pad_mode="reflect",
        onesided=None,
        norm=None,
        mel_scale="htk",
    ):
        super().__init__()
        self.sample_rate, self.n_fft, self.n_mels, self.power = sample_rate, n_fft, n_mels, power
        self.spectrogram = Spectrogram(
            n_fft, win_length, hop_length, pad, window_fn, power, normalized, wkwargs, center, pad_mode
        )
        self.win_length, self.hop_length = self.spectrogram.win_length, self.spectrogram.hop_length
        self.mel_scale = MelScale(n_mels, sample_rate, f_min, f_max, n_fft // 2 + 1, norm, mel_scale)

    def forward(self, waveform):
        return self.mel_scale(self.spectrogram(waveform))


class MFCC(Module):
    """Mel-frequency cepstral coefficients: [..., time] -> [..., n_mfcc, frames].

    Of a mel spectrogram (``melkwargs``: arguments of MelSpectrogram) in decibels, at most 80 below its largest, or,
    with ``log_mels``, of its logarithm. ValueError where n_mfcc is above n_mels. (Davis and Mermelstein, 1980.)

    >>> import neura
    >>> neura.audio.transforms.MFCC(16000, 13, melkwargs={"n_mels": 40})(neura.rand(1, 16000)).shape
    neura.Size([1, 13, 81])
    """

    def __init__(self, sample_rate=16000, n_mfcc=40, dct_type=2, norm="ortho", log_mels=False, melkwargs=None):
        super().__init__()
        if dct_type != 2:
            raise ValueError(f"MFCC: expected dct_type 2, got {dct_type}")
        self.sample_rate, self.n_mfcc, self.dct_type = sample_rate, n_mfcc, dct_type
        self.norm, self.log_mels, self.top_db = norm, log_mels, 80.0
        self.amplitude_to_DB = AmplitudeToDB("power", self.top_db)
        self.MelSpectrogram = MelSpectrogram(sample_rate, **(melkwargs or {}))
        n_mels = self.MelSpectrogram.n_mels
        if n_mfcc > n_mels:
            raise ValueError(f"MFCC: expected n_mfcc of at most n_mels, {n_mels}, got {n_mfcc}")
        self.register_buffer("dct_mat", F.create_dct(n_mfcc, n_mels, norm))

    def forward(self, waveform):
        mel = self.MelSpectrogram(waveform)
        return _times(self.dct_mat, _neura.log(mel + 1e-6) if self.log_mels else self.amplitude_to_DB(mel))


class LFCC(Module):
    """Cepstral coefficients of filters that are evenly apart in hertz: [..., time] -> [..., n_lfcc, frames].

    As MFCC; ``speckwargs``: arguments of Spectrogram.

    >>> import neura
    >>> neura.audio.transforms.LFCC(16000, n_filter=40, n_lfcc=13)(neura.rand(1, 16000)).shape
    neura.Size([1, 13, 81])
    """

    def __init__(
        self,
        sample_rate=16000,
        n_filter=128,
        f_min=0.0,
        f_max=None,
        n_lfcc=40,
        dct_type=2,
        norm="ortho",
        log_lf=False,
        speckwargs=None,
    ):
        super().__init__()
        if dct_type != 2:
            raise ValueError(f"LFCC: expected dct_type 2, got {dct_type}")
        if n_lfcc > n_filter:
            raise ValueError(f"LFCC: expected n_lfcc of at most n_filter, {n_filter}, got {n_lfcc}")
        self.sample_rate, self.n_filter, self.n_lfcc, self.dct_type = sample_rate, n_filter, n_lfcc, dct_type
        self.f_min, self.f_max = f_min, f_max if f_max is not None else float(sample_rate // 2)
        self.norm, self.log_lf, self.top_db = norm, log_lf, 80.0
        self.amplitude_to_DB = AmplitudeToDB("power", self.top_db)
        self.Spectrogram = Spectrogram(**(speckwargs or {}))
        bins = self.Spectrogram.n_fft // 2 + 1
        self.register_buffer("filter_mat", F.linear_fbanks(bins, f_min, self.f_max, n_filter, sample_rate))
        self.register_buffer("dct_mat", F.create_dct(n_lfcc, n_filter, norm))

    def forward(self, waveform):
        x = _times(self.filter_mat, self.Spectrogram(waveform))
        return _times(self.dct_mat, _neura.log(x + 1e-6) if self.log_lf else self.amplitude_to_DB(x))
