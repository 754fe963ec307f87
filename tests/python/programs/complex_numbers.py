"""Complex tensors as users write them: parts that are assigned, dtypes of parts, spectra that are filtered."""

import math

from program_helpers import raised, values


def signal(torch, *sizes):
    return torch.complex(values(torch, *sizes), values(torch, *sizes).flip(0))


def parts_are_assigned(torch):
    z = signal(torch, 4)
    z.real = 0
    z.imag = torch.arange(4.0)
    z.real += 2
    z[1].imag = -1
    z[2:].real *= z[2:].imag
    z.imag[0] = 7
    return z, z.real, z.imag.stride()


def parts_of_a_matrix(torch):
    z = torch.zeros(2, 3, dtype=torch.complex64)
    z.real = torch.arange(3)
    z.imag = torch.tensor([[1.0], [2.0]])
    z.T.real = -1.5
    return z, raised(lambda: setattr(z, "real", torch.ones(4)))


def parts_and_gradients(torch):
    w = signal(torch, 3).requires_grad_()
    y = w * 2
    y.imag = torch.tensor([3.0, 0.0, 1.0], dtype=torch.float64)
    y.abs().sum().backward()
    return w.grad, y, raised(lambda: setattr(w, "real", 1.0))


def parts_of_real_tensors(torch):
    x = torch.zeros(2)
    x.real = 4
    return x, raised(lambda: setattr(x, "imag", 1)), raised(lambda: x.imag), x.real.data_ptr() == x.data_ptr()


def dtypes_of_parts(torch):
    kinds = [torch.float32, torch.float64, torch.bfloat16, torch.complex64, torch.complex128, torch.int64, torch.bool]
    made = [str(k.to_real()).split(".")[-1] for k in kinds]
    wide = [str(k.to_complex()).split(".")[-1] for k in kinds[:5]]
    return made, wide, raised(lambda: torch.int32.to_complex()), raised(lambda: torch.bool.to_complex())


def numbers_of_python(torch):
    z = torch.tensor([3 + 4j, -1j])
    return (
        [complex(v) for v in z][0] == 3 + 4j,
        z.tolist()[1] == -1j,
        z[0].item().imag,
        abs(z),
        z * 1j,
        2 - z,
        1 / z,
        z**2,
        z == 3 + 4j,
        raised(lambda: float(z[0])),
        raised(lambda: z < z),
        raised(lambda: z.max()),
        raised(lambda: z.sort()),
        raised(lambda: z // 1),
        f"{z[0]:.1f}",
    )


def phase_vocoder(torch):
    z = signal(torch, 3, 5)
    magnitude, phase = z.abs(), z.angle()
    turned = torch.polar(magnitude, phase + math.pi / 2)
    step = torch.diff(phase, dim=1)
    wrapped = torch.remainder(step + math.pi, 2 * math.pi) - math.pi
    return turned, torch.allclose(turned, z * 1j), wrapped, torch.view_as_real(z).norm(dim=-1)


def hermitian_matrix(torch):
    a = signal(torch, 3, 3)
    h = a + a.mH
    w, v = torch.linalg.eigh(h)
    rebuilt = v @ torch.diag_embed(w.to(v.dtype)) @ v.H
    return w, torch.allclose(rebuilt, h), (v.H @ v).real.diagonal(), h.diagonal().imag, torch.linalg.det(h)


def quantum_gate(torch):
    x = torch.tensor([[0, 1], [1, 0]], dtype=torch.complex128)
    theta = torch.tensor(0.4, dtype=torch.float64, requires_grad=True)
    gate = torch.matrix_exp(-1j * theta / 2 * x)
    state = gate @ torch.tensor([1, 0], dtype=torch.complex128)
    probability = state.abs().square()
    probability[1].backward()
    return gate, probability, theta.grad, torch.kron(x, x).real, torch.vdot(state, state)


def spectrum_is_filtered(torch):
    x = values(torch, 16)
    s = torch.fft.rfft(x)
    s.imag[3:] = 0
    s.real = torch.where(s.real.abs() > 0.5, s.real, torch.zeros(()))
    s[0] = 0
    return torch.fft.irfft(s), s.count_nonzero(), torch.view_as_complex(torch.view_as_real(s).clone()).equal(s)


def conjugates(torch):
    z = signal(torch, 2, 2)
    return (
        z.conj().imag + 0,
        (z * z.conj()).imag.abs().max() < 1e-15,
        z.mH,
        torch.einsum("ij,kj->ik", z, z.conj()),
        z.adjoint().conj().equal(z.mT),
        torch.linalg.vecdot(z, z),
        z.sgn(),
        z.isreal(),
        z.real.is_complex(),
    )
