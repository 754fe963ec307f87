"""Fourier transforms as users write them: filters, spectra, shifts, lengths, norms."""

import math

from program_helpers import raised, values


def low_pass(torch):
    n = 32
    t = torch.arange(n, dtype=torch.float64) / n
    signal = torch.sin(2 * math.pi * 3 * t) + 0.5 * torch.sin(2 * math.pi * 11 * t)
    spectrum = torch.fft.rfft(signal)
    spectrum[6:] = 0
    return torch.fft.irfft(spectrum, n=n), torch.fft.rfftfreq(n, 1 / n)[:5], spectrum.abs().argmax()


def convolution_theorem(torch):
    a, b = values(torch, 5), values(torch, 4)
    n = 8
    product = torch.fft.irfft(torch.fft.rfft(a, n) * torch.fft.rfft(b, n), n)
    direct = torch.nn.functional.conv1d(a.view(1, 1, -1), b.flip(0).view(1, 1, -1), padding=3).view(-1)
    return product, torch.allclose(product, direct)


def shifted_frequencies(torch):
    f = torch.fft.fftfreq(6, d=0.5)
    x = torch.arange(12).view(3, 4)
    shifted = torch.fft.fftshift(x)
    return (
        f,
        torch.fft.fftshift(f),
        torch.fft.ifftshift(torch.fft.fftshift(f)),
        shifted,
        torch.fft.ifftshift(shifted, dim=1),
    )


def norms(torch):
    x = values(torch, 6)
    return {n: (torch.fft.fft(x, norm=n), torch.fft.ifft(x, norm=n)) for n in ("forward", "backward", "ortho")}


def lengths(torch):
    x = values(torch, 6)
    return (
        torch.fft.fft(x, n=4),
        torch.fft.fft(x, n=9),
        torch.fft.irfft(torch.fft.rfft(x)[:3]),
        torch.fft.rfft(x, n=5).shape,
    )


def two_dimensions(torch):
    x = values(torch, 4, 6)
    half = torch.fft.rfft2(x)
    power = torch.fft.fft2(x).abs().square().mean()
    return half, torch.fft.irfft2(half, s=x.shape), power, torch.fft.fft2(x, s=(2, 3)), torch.fft.fftn(x, dim=0)


def autocorrelation(torch):
    x = values(torch, 16)
    x = x - x.mean()
    spectrum = torch.fft.rfft(x, n=32)
    r = torch.fft.irfft(spectrum * spectrum.conj())[:8]
    return r / r[0], torch.stack([(x[: 16 - k] * x[k:]).sum() for k in range(8)]) / r[0]


def hermitian(torch):
    x = values(torch, 5)
    h = torch.fft.ihfft(x)
    return h, torch.fft.hfft(h, n=5), torch.fft.hfft(torch.complex(x, x * 0), n=8)


def short_time(torch):
    x = values(torch, 64)
    window = torch.hann_window(16, dtype=x.dtype)
    s = torch.stft(x, 16, hop_length=4, window=window, return_complex=True)
    back = torch.istft(s, 16, hop_length=4, window=window, length=64)
    return s.shape, s[:, 3].abs(), torch.allclose(back, x), s.dtype == torch.complex128


def spectral_gradient(torch):
    x = values(torch, 8).requires_grad_()
    energy = torch.fft.rfft(x).abs().square().sum()
    energy.backward()
    return energy.detach(), x.grad, torch.autograd.gradcheck(lambda t: torch.view_as_real(torch.fft.fft(t)), (x,))


def derivative_of_a_wave(torch):
    n = 16
    t = torch.arange(n, dtype=torch.float64) * 2 * math.pi / n
    k = torch.fft.fftfreq(n, 1 / n, dtype=torch.float64)
    slope = torch.fft.ifft(1j * k * torch.fft.fft(torch.sin(3 * t))).real
    return slope, torch.allclose(slope, 3 * torch.cos(3 * t))


def dtypes_of_transforms(torch):
    kinds = [torch.int64, torch.bool, torch.float32, torch.float64, torch.complex64]
    made = [str(torch.fft.fft(torch.ones(4).to(k)).dtype) for k in kinds]
    return (
        made,
        str(torch.fft.irfft(torch.ones(3, dtype=torch.complex64)).dtype),
        torch.fft.rfft(torch.tensor([1, 0, 1])),
    )


def transform_errors(torch):
    return {
        "complex": raised(lambda: torch.fft.rfft(torch.ones(3, dtype=torch.complex64))),
        "length": raised(lambda: torch.fft.fft(torch.ones(3), n=0)),
        "norm": raised(lambda: torch.fft.fft(torch.ones(3), norm="other")),
        "dim": raised(lambda: torch.fft.fft(torch.ones(3), dim=2), IndexError),
        "twice": raised(lambda: torch.fft.fft2(torch.ones(3, 3), dim=(0, 0))),
    }


def windows(torch):
    kinds = ["hann_window", "hamming_window", "blackman_window", "bartlett_window"]
    made = {k: (getattr(torch, k)(5), getattr(torch, k)(4, periodic=False)) for k in kinds}
    return made, torch.kaiser_window(4, beta=8.0, periodic=False), torch.hann_window(1), torch.hann_window(0).shape
