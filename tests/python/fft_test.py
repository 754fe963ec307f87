"""neura.fft against NumPy, whose functions have the same names; short frames against transforms of each frame."""

import neura
import numpy as np
import pytest

RNG = np.random.default_rng(3)
REAL = RNG.standard_normal((3, 4, 6))
COMPLEX = REAL + 1j * RNG.standard_normal((3, 4, 6))


def close(got, want):
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-10, atol=1e-12)
    return True


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_one_dimension(name, norm):
    x = REAL if name in ("rfft", "ihfft") else COMPLEX
    ours, theirs = getattr(neura.fft, name), getattr(np.fft, name)
    for n in (None, 1, 5, 6, 9):
        for axis in (-1, 0, 1):
            assert close(ours(neura.tensor(x), n, axis, norm), theirs(x, n, axis, norm))


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_several_dimensions(name, norm):
    x = REAL if name == "rfft" else COMPLEX
    for s, axes in ((None, (0, 2)), ((2, 7), (1, 0)), (None, (-1, -2)), ((5, 3), (-2, -1))):
        want = getattr(np.fft, name + "n")(x, s, axes, norm)
        assert close(getattr(neura.fft, name + "n")(neura.tensor(x), s, axes, norm), want)
        assert close(getattr(neura.fft, name + "2")(neura.tensor(x), s=s, dim=axes, norm=norm), want)
    assert close(getattr(neura.fft, name + "n")(neura.tensor(x), norm=norm), getattr(np.fft, name + "n")(x, norm=norm))


@pytest.mark.parametrize("n", [2, 3, 17, 64, 77, 101, 1000, 1024, 2017, 1 << 14])
def test_lengths(n):
    x = RNG.standard_normal((2, n)) + 1j * RNG.standard_normal((2, n))
    assert close(neura.fft.fft(neura.tensor(x)) / n, np.fft.fft(x) / n)
    assert close(neura.fft.irfft(neura.tensor(x), n), np.fft.irfft(x, n))
    single = neura.fft.fft(neura.tensor(x.astype(np.complex64))).numpy()
    assert single.dtype == np.complex64 and np.abs(single - np.fft.fft(x)).max() < 4e-7 * np.abs(np.fft.fft(x)).max()


def test_frequencies_and_shifts():
    for n in (1, 4, 5):
        assert close(neura.fft.fftfreq(n, 0.25, dtype=neura.float64), np.fft.fftfreq(n, 0.25))
        assert close(neura.fft.rfftfreq(n, d=2, dtype=neura.float64), np.fft.rfftfreq(n, 2))
        assert close(neura.fft.fftshift(neura.tensor(REAL), 1), np.fft.fftshift(REAL, 1))
        assert close(neura.fft.ifftshift(neura.tensor(REAL), (0, 2)), np.fft.ifftshift(REAL, (0, 2)))
    assert neura.fft.fftfreq(4).dtype == neura.float32 and neura.fft.fftfreq(3, requires_grad=True).requires_grad
    assert close(neura.fft.fftshift(neura.tensor(REAL)), np.fft.fftshift(REAL))


def test_out():
    x = neura.tensor(COMPLEX)
    out = neura.empty(0, dtype=neura.complex128)
    assert neura.fft.fft(x, out=out) is out and close(out, np.fft.fft(COMPLEX))
    assert neura.fft.rfftn(x.real, out=out) is out and out.shape == (3, 4, 4)
    numbers = neura.empty(0)
    assert neura.fft.fftfreq(4, out=numbers) is numbers and numbers.shape == (4,)
    with pytest.raises(neura.errors.DTypeError):
        neura.fft.fft2(x, out=neura.empty(0))


def test_mistakes_are_torchs():
    for wrong, error in (
        (lambda: neura.fft.fft(neura.ones(3), norm="both"), RuntimeError),
        (lambda: neura.fft.fft(neura.ones(3), 0), RuntimeError),
        (lambda: neura.fft.fft(neura.ones(3), dim=1), IndexError),
        (lambda: neura.fft.rfft(neura.ones(3, dtype=neura.complex64)), RuntimeError),
        (lambda: neura.fft.fftn(neura.ones(3, 3), dim=(0, 0)), RuntimeError),
        (lambda: neura.fft.fft(neura.ones(3, dtype=neura.bfloat16)), RuntimeError),
        (lambda: neura.fft.fft([1.0, 2.0]), TypeError),
        (lambda: neura.stft(neura.ones(9), 4), RuntimeError),
    ):
        with pytest.raises(error):
            wrong()


def test_gradients():
    x = neura.tensor(REAL[0], requires_grad=True)
    power = (neura.fft.rfft2(x, norm="ortho").abs() ** 2).sum()  # Parseval, but each pair of bins is seen once
    power.backward()
    assert neura.autograd.gradcheck(lambda t: neura.fft.hfft(neura.fft.ihfft(t), 5).sum(0), (x,))
    assert neura.autograd.gradgradcheck(lambda t: neura.fft.irfft(neura.fft.rfft(t) ** 2), (x,))


def test_short_frames():
    x = RNG.standard_normal((2, 50))
    window = neura.hann_window(12, dtype=neura.float64)
    t = neura.tensor(x)
    y = t.stft(12, 4, window=window, center=False, return_complex=True)
    frames = np.stack([x[:, i : i + 12] * window.numpy() for i in range(0, 39, 4)], axis=-1)
    assert close(y, np.fft.rfft(frames, axis=1))
    assert close(neura.view_as_complex(neura.stft(t, 12, 4, None, window, False, return_complex=False)), y.numpy())
    for normalized in (False, True):
        spectrum = neura.stft(t, 12, window=window, normalized=normalized, return_complex=True)
        back = spectrum.istft(12, window=window, normalized=normalized, length=50)
        assert close(back, x)
