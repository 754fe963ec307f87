"""Complex numbers: waves, rotation of pairs as in rotary embeddings, spectra by hand."""

import math


def run(torch):
    n = 8
    k = torch.arange(n, dtype=torch.float64)
    signal = torch.cos(2 * math.pi * k / n) + 0.5 * torch.sin(4 * math.pi * k / n)
    basis = torch.exp(-2j * math.pi * k[:, None] * k[None, :] / n)
    spectrum = basis @ signal.to(torch.complex128)
    pairs = torch.view_as_complex(torch.stack([signal[0::2], signal[1::2]], -1))
    turned = pairs * torch.polar(torch.ones(4, dtype=torch.float64), 0.1 * torch.arange(4, dtype=torch.float64))
    return {
        "magnitude": spectrum.abs(),
        "real": spectrum.real,
        "back": (basis.conj().T @ spectrum).real / n - signal,
        "rotary": torch.view_as_real(turned).flatten(),
        "angle": turned.angle(),
        "dtype": str(torch.view_as_real(turned).dtype),
        "energy": (spectrum * spectrum.conj()).sum().real,
    }
