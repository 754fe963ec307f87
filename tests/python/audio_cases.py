"""Calls that torchaudio and neura.audio answer alike: make_audio.py stores the answers of the one, audio_test.py
compares those of the other. `a` is the module, `t` makes a tensor of NumPy's numbers."""

import numpy as np

RATE = 8000


def signal(length=1200):
    """Two tones and a rough part, float64."""
    i = np.arange(length)
    tones = 0.5 * np.sin(2 * np.pi * 440 * i / RATE) + 0.3 * np.sin(2 * np.pi * 1234.5 * i / RATE + 1)
    return tones + 0.2 * ((37 * i * i % 101) / 101 - 0.5)


def pair():
    return np.stack([signal(300), signal(500)[200:] * 0.5])


def hann(n):
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / n)


def framed(n=64, hop=16):
    return n, hop, n


def advance(bins, hop):
    return np.linspace(0, np.pi * hop, bins)[:, None]


def complex_spectrum(a, t):
    return a.functional.spectrogram(t(pair()), 0, t(hann(64)), *framed(), None, False)


A, B, C = [1.0, -1.2, 0.5, -0.1], [0.3, 0.2, -0.1, 0.05], [2.0, 0.5, 0.4, 0.0]

CASES = {
    "spectrogram": lambda a, t: a.functional.spectrogram(t(pair()), 5, t(hann(64)), *framed(), 2.0, False),
    "spectrogram_magnitude": lambda a, t: a.functional.spectrogram(
        t(pair()), 0, t(hann(40)), 64, 16, 40, 1.0, "window", False
    ),
    "spectrogram_cube": lambda a, t: a.functional.spectrogram(
        t(signal(200)), 0, t(hann(64)), *framed(), 3.0, "frame_length", True, "constant", False
    ),
    "spectrogram_normalized": lambda a, t: a.functional.spectrogram(t(pair()), 0, t(hann(64)), *framed(), 2.0, True),
    "inverse_spectrogram": lambda a, t: a.functional.inverse_spectrogram(
        a.functional.spectrogram(t(pair()), 7, t(hann(64)), *framed(), None, True),
        300,
        7,
        t(hann(64)),
        *framed(),
        True,
    ),
    "griffinlim": lambda a, t: a.functional.griffinlim(
        a.functional.spectrogram(t(pair()), 0, t(hann(64)), *framed(), 2.0, False),
        t(hann(64)),
        *framed(),
        2.0,
        3,
        0.9,
        None,
        False,
    ),
    "phase_vocoder": lambda a, t: abs(a.functional.phase_vocoder(complex_spectrum(a, t), 1.3, t(advance(33, 16)))),
    "phase_vocoder_slow": lambda a, t: a.functional.phase_vocoder(
        complex_spectrum(a, t), 0.75, t(advance(33, 16))
    ).real,
    "spectral_centroid": lambda a, t: a.functional.spectral_centroid(t(pair()), RATE, 0, t(hann(64)), *framed()),
    "melscale_fbanks": lambda a, t: a.functional.melscale_fbanks(33, 0.0, 4000.0, 10, RATE),
    "melscale_fbanks_slaney": lambda a, t: a.functional.melscale_fbanks(
        33, 100.0, 3800.0, 10, RATE, "slaney", "slaney"
    ),
    "linear_fbanks": lambda a, t: a.functional.linear_fbanks(33, 0.0, 4000.0, 10, RATE),
    "create_dct": lambda a, t: a.functional.create_dct(5, 8, "ortho"),
    "create_dct_plain": lambda a, t: a.functional.create_dct(5, 8, None),
    "amplitude_to_DB": lambda a, t: a.functional.amplitude_to_DB(
        abs(t(pair().reshape(2, 3, 10, 10))), 20.0, 1e-10, 0.5, 30.0
    ),
    "DB_to_amplitude": lambda a, t: a.functional.DB_to_amplitude(t(pair()) * 20, 2.0, 0.5),
    "compute_deltas": lambda a, t: a.functional.compute_deltas(t(pair().reshape(2, 10, 30)), 7),
    "mu_law_encoding": lambda a, t: a.functional.mu_law_encoding(t(pair()), 256),
    "mu_law_decoding": lambda a, t: a.functional.mu_law_decoding(t(np.arange(256)), 256),
    "resample_down": lambda a, t: a.functional.resample(t(pair()), 441, 160),
    "resample_up": lambda a, t: a.functional.resample(t(pair()), 8000, 12000, 10, 0.9),
    "resample_kaiser": lambda a, t: a.functional.resample(
        t(pair()), 3, 2, 16, 0.95, resampling_method="sinc_interp_kaiser", beta=9.0
    ),
    "resample_kaiser_default": lambda a, t: a.functional.resample(
        t(pair()), 2, 3, resampling_method="sinc_interp_kaiser"
    ),
    "lfilter": lambda a, t: a.functional.lfilter(t(pair()), t(A), t(B), False),
    "lfilter_clamped": lambda a, t: a.functional.lfilter(t(pair()) * 3, t(A), t(B)),
    "lfilter_each": lambda a, t: a.functional.lfilter(t(pair()), t([A, C]), t([B, A]), False),
    "lfilter_all": lambda a, t: a.functional.lfilter(t(pair()), t([A, A, C]), t([B, C, A]), False, batching=False),
    "filtfilt": lambda a, t: a.functional.filtfilt(t(pair()), t(A), t(B), False),
    "biquad": lambda a, t: a.functional.biquad(t(pair()), 0.4, 0.2, 0.9, 1.0, 0.2, 0.6),
    "lowpass_biquad": lambda a, t: a.functional.lowpass_biquad(t(pair()), RATE, 900.0),
    "highpass_biquad": lambda a, t: a.functional.highpass_biquad(t(pair()), RATE, 900.0, 0.9),
    "bandpass_biquad": lambda a, t: a.functional.bandpass_biquad(t(pair()), RATE, 900.0, 0.707, True),
    "bandreject_biquad": lambda a, t: a.functional.bandreject_biquad(t(pair()), RATE, 900.0),
    "allpass_biquad": lambda a, t: a.functional.allpass_biquad(t(pair()), RATE, 900.0),
    "equalizer_biquad": lambda a, t: a.functional.equalizer_biquad(t(pair()), RATE, 900.0, -6.0),
    "bass_biquad": lambda a, t: a.functional.bass_biquad(t(pair()) / 4, RATE, 5.0),
    "treble_biquad": lambda a, t: a.functional.treble_biquad(t(pair()) / 4, RATE, 5.0),
    "preemphasis": lambda a, t: a.functional.preemphasis(t(pair())),
    "deemphasis": lambda a, t: a.functional.deemphasis(t(pair()) / 10, 0.9),
    "gain": lambda a, t: a.functional.gain(t(pair()), 3.0),
    "fftconvolve": lambda a, t: a.functional.fftconvolve(t(pair()), t(pair()[:, :9])),
    "fftconvolve_same": lambda a, t: a.functional.fftconvolve(t(pair()), t(pair()[:, :9]), "same"),
    "fftconvolve_valid": lambda a, t: a.functional.fftconvolve(t(pair()[:, :9]), t(pair()), "valid"),
    "add_noise": lambda a, t: a.functional.add_noise(
        t(pair()), t(pair()[::-1].copy()), t([5.0, -3.0]), t(np.array([300, 200]))
    ),
    "MelSpectrogram": lambda a, t: a.transforms.MelSpectrogram(RATE, 64, hop_length=16, n_mels=10).double()(t(pair())),
    "MFCC": lambda a, t: a.transforms.MFCC(RATE, 5, melkwargs={"n_fft": 64, "hop_length": 16, "n_mels": 10}).double()(
        t(pair())
    ),
    "MFCC_log": lambda a, t: a.transforms.MFCC(
        RATE, 5, log_mels=True, norm=None, melkwargs={"n_fft": 64, "n_mels": 10, "norm": "slaney"}
    ).double()(t(pair())),
    "LFCC": lambda a, t: a.transforms.LFCC(RATE, 12, n_lfcc=5, speckwargs={"n_fft": 64}).double()(t(pair())),
    "TimeStretch": lambda a, t: abs(a.transforms.TimeStretch(16, 33).double()(complex_spectrum(a, t), 0.75)),
    "Vol": lambda a, t: a.transforms.Vol(3.0, "power")(t(pair())),
    "SpectralCentroid": lambda a, t: a.transforms.SpectralCentroid(RATE, 64).double()(t(pair())),
}
for shape in ("linear", "exponential", "logarithmic", "quarter_sine", "half_sine"):
    CASES["Fade_" + shape] = lambda a, t, shape=shape: a.transforms.Fade(50, 120, shape)(t(pair()))
