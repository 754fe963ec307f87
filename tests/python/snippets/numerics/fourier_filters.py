"""Spectra of real signals: low-pass filter, convolution by products, shifts, a spectrogram."""


def run(torch):
    n = 32
    t = torch.arange(n) / n
    x = torch.sin(2 * torch.pi * 3 * t) + 0.3 * torch.cos(2 * torch.pi * 11 * t)
    f = torch.fft.rfft(x)
    low = torch.fft.irfft(torch.where(torch.fft.rfftfreq(n, 1 / n) < 6, f, 0), n)
    k = torch.tensor([0.25, 0.5, 0.25])
    circular = torch.fft.irfft(torch.fft.rfft(x) * torch.fft.rfft(k, n), n)
    image = x[:16].outer(x[16:])
    spectrum = torch.stft(x, 8, hop_length=4, window=torch.hann_window(8), return_complex=True)
    back = torch.istft(spectrum, 8, hop_length=4, window=torch.hann_window(8), length=n)
    return {
        "low": low,
        "peaks": f.abs().topk(2).indices,
        "circular": circular,
        "2d": torch.fft.fftshift(torch.fft.fft2(image)).abs(),
        "spectrum": spectrum,
        "back": (back - x).abs().max() < 1e-5,
        "freq": torch.fft.fftfreq(6, 0.5),
        "hilbert": torch.fft.ifft(torch.fft.fft(x) * (torch.fft.fftfreq(n) >= 0)).abs(),
        "dtype": str(f.dtype),
    }
