"""Sound: files, functions and transforms, under the names of torchaudio.

>>> import io, neura
>>> tone = neura.sin(neura.arange(8000) * (2 * neura.pi * 440 / 8000))[None]
>>> file = io.BytesIO()
>>> neura.audio.save(file, tone, 8000, encoding="PCM_S", bits_per_sample=16)
>>> waveform, rate = neura.audio.load(file)
>>> neura.audio.transforms.MelSpectrogram(rate, n_fft=256, n_mels=40)(waveform).shape
neura.Size([1, 40, 63])
"""

from . import functional, transforms
from .files import AudioMetaData, info, load, save

__all__ = ["AudioMetaData", "functional", "info", "load", "save", "transforms"]
