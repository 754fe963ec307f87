"""neura.audio against stored answers of torchaudio and librosa (make_audio.py), its files, its docstrings."""

import doctest
import importlib
import io
import json
import pathlib
import wave

import numpy as np
import pytest

import audio_cases
import neura

HERE = pathlib.Path(__file__).parent
STORED = json.loads((HERE / "audio.json").read_text(encoding="utf-8"))
TRANSFORMS = neura.audio.transforms


def tensor(x):
    return neura.tensor(np.asarray(x))


def check(got, stored, tolerance):
    """Within `tolerance` of the largest number of the answer."""
    assert list(got.shape) == stored["shape"]
    values = got.detach().numpy().ravel()[:: stored["step"]].astype(np.float64)
    assert np.abs(values - stored["values"]).max() <= tolerance * max(stored["largest"], 1e-3)


@pytest.mark.parametrize("name", audio_cases.CASES)
def test_answers_are_those_of_torchaudio(name):
    check(audio_cases.CASES[name](neura.audio, tensor), STORED["torchaudio"][name], 2e-6)


@pytest.mark.parametrize("dtype", [neura.float32, neura.float64], ids=str)
@pytest.mark.parametrize("scale", ["slaney", "htk"])
def test_mel_and_mfcc_are_those_of_librosa(scale, dtype):
    x, rate = tensor(audio_cases.signal()).to(dtype), audio_cases.RATE
    norm = "slaney" if scale == "slaney" else None
    options = {"n_fft": 256, "hop_length": 100, "n_mels": 20, "norm": norm, "mel_scale": scale}
    check(TRANSFORMS.MelSpectrogram(rate, **options).to(dtype)(x), STORED["librosa"]["mel_" + scale], 1e-5)
    mfcc = TRANSFORMS.MFCC(rate, 13, melkwargs=options).to(dtype)
    check(mfcc(x), STORED["librosa"]["mfcc_" + scale], 1e-5)


def test_features_have_gradients():
    x = tensor(audio_cases.pair()).requires_grad_()
    for transform in (TRANSFORMS.MFCC(8000, 5, melkwargs={"n_fft": 64, "n_mels": 10}), TRANSFORMS.Resample(3, 2)):
        (grad,) = neura.autograd.grad((transform.double()(x) ** 2).sum(), x)
        assert grad.shape == x.shape and grad.isfinite().all() and grad.abs().max() > 0


def test_masks_hide_stripes():
    neura.manual_seed(1)
    x = neura.ones(2, 1, 30, 40)
    for mask, dim in ((TRANSFORMS.FrequencyMasking(20), -1), (TRANSFORMS.TimeMasking(20), -2)):
        y = mask(x, 7.0)
        assert set(y.unique().tolist()) == {1.0, 7.0}
        assert (y == y.narrow(dim, 0, 1)).all() and (y[0] == y[1]).all()
    y = TRANSFORMS.TimeMasking(40, iid_masks=True, p=0.25)(neura.ones(50, 1, 3, 40))
    hidden = (y == 0)[:, 0, 0].sum(-1)
    assert 0 < hidden.max() <= 10 and hidden.unique().numel() > 3


@pytest.mark.parametrize("width, dtype", [(1, np.uint8), (2, np.int16), (4, np.int32)])
def test_files_of_the_standard_library(width, dtype, tmp_path):
    """What `wave` writes is read, and the other way round."""
    limits = np.iinfo(dtype)
    x = np.random.default_rng(0).integers(limits.min, limits.max, (50, 2), dtype=dtype, endpoint=True)
    path = tmp_path / "x.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(2), file.setsampwidth(width), file.setframerate(22050)
        file.writeframes(x.tobytes())
    y, rate = neura.audio.load(path, normalize=False, channels_first=False)
    assert rate == 22050 and (y.numpy() == x).all() and y.numpy().dtype == dtype
    neura.audio.save(path, y, rate, channels_first=False)
    with wave.open(str(path)) as file:
        assert file.readframes(50) == x.tobytes() and file.getnchannels() == 2 and file.getframerate() == 22050


@pytest.mark.parametrize(
    "encoding, bits, dtype", [("PCM_S", 24, "int32"), ("PCM_F", 64, "float64"), ("ULAW", 8, "int16")]
)
def test_encodings(encoding, bits, dtype):
    file, x = io.BytesIO(), neura.tensor([[0.5, -0.25, 0.125]])
    neura.audio.save(file, x, 8000, encoding=encoding, bits_per_sample=bits)
    assert neura.audio.info(file) == (8000, 3, 1, bits, encoding)
    assert neura.audio.load(file)[0].allclose(x, atol=0.02 if encoding == "ULAW" else 0)
    assert neura.audio.load(file, 1, 1)[0].shape == (1, 1)
    assert str(neura.audio.load(file, normalize=False)[0].dtype) == "neura." + dtype


def test_what_is_wrong_is_said(tmp_path):
    with pytest.raises(neura.errors.FormatError, match="expected a WAV file"):
        neura.audio.load(b"no sound at all")
    with pytest.raises(OSError):
        neura.audio.info(tmp_path / "none.wav")
    with pytest.raises(TypeError, match="load: expected a path, bytes or an open file, got int"):
        neura.audio.load(5)
    with pytest.raises(ValueError, match="save: expected PCM_U of 8 bits"):
        neura.audio.save(io.BytesIO(), neura.zeros(3), 8000, encoding="PCM_S", bits_per_sample=20)
    with pytest.raises(ValueError, match="MFCC: expected n_mfcc of at most n_mels, 10, got 13"):
        TRANSFORMS.MFCC(8000, 13, melkwargs={"n_fft": 64, "n_mels": 10})
    with pytest.raises(ValueError, match="expected normalized 'window' or 'frame_length'"):
        TRANSFORMS.Spectrogram(8, normalized="both")(neura.ones(20))
    with pytest.raises(ValueError, match="TimeStretch: expected a rate"):
        TRANSFORMS.TimeStretch(n_freq=3)(neura.zeros(3, 4, dtype=neura.complex64))
    for make in (
        lambda: TRANSFORMS.Fade(fade_shape="round"),
        lambda: TRANSFORMS.Vol(-1),
        lambda: TRANSFORMS.AmplitudeToDB("loudness"),
        lambda: TRANSFORMS.TimeMasking(3, p=2),
    ):
        with pytest.raises(ValueError, match=": expected "):
            make()


@pytest.mark.parametrize("name", ["", ".functional", ".files", "._spectra", "._features", "._waves", ".transforms"])
def test_docstrings_run(name):
    failed, tried = doctest.testmod(importlib.import_module("neura.audio" + name))
    assert tried and not failed
