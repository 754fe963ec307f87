"""Functions of sound, under the names of torchaudio.functional: signals [..., time], spectrograms [..., bins, frames].

They are made of other operations, so they have gradients and run on any device.

>>> import neura
>>> neura.audio.functional.resample(neura.ones(2, 300), 48000, 16000).shape
neura.Size([2, 100])
"""

from .._neura.audio import *  # noqa: F401,F403
