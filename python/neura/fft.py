"""Discrete Fourier transforms, under the names of torch.fft.

>>> import neura
>>> neura.fft.rfft(neura.tensor([1.0, 2.0, 3.0, 4.0])).real
tensor([10., -2., -2.])
>>> neura.fft.irfft(neura.fft.rfft(neura.ones(5)), 5)
tensor([1., 1., 1., 1., 1.])
"""

from ._neura.fft import *  # noqa: F401,F403
