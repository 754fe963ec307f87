"""Transforms of sound as modules, under the names of torchaudio.transforms; their constants are buffers.

>>> import neura
>>> chain = neura.nn.Sequential(
...     neura.audio.transforms.MelSpectrogram(16000, n_mels=64), neura.audio.transforms.AmplitudeToDB()
... )
>>> chain(neura.zeros(1, 16000)).shape
neura.Size([1, 64, 81])
"""

from ._features import LFCC, MFCC, MelScale, MelSpectrogram
from ._spectra import GriffinLim, InverseSpectrogram, SpectralCentroid, Spectrogram, TimeStretch
from ._waves import (
    AmplitudeToDB,
    ComputeDeltas,
    Deemphasis,
    Fade,
    FrequencyMasking,
    MuLawDecoding,
    MuLawEncoding,
    Preemphasis,
    Resample,
    TimeMasking,
    Vol,
)

__all__ = [
    "AmplitudeToDB",
    "ComputeDeltas",
    "Deemphasis",
    "Fade",
    "FrequencyMasking",
    "GriffinLim",
    "InverseSpectrogram",
    "LFCC",
    "MFCC",
    "MelScale",
    "MelSpectrogram",
    "MuLawDecoding",
    "MuLawEncoding",
    "Preemphasis",
    "Resample",
    "SpectralCentroid",
    "Spectrogram",
    "TimeMasking",
    "TimeStretch",
    "Vol",
]
