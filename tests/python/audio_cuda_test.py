"""Sound on CUDA: answers and gradients are those of the cpu, within rounding of float64."""

import numpy as np
import pytest

import audio_cases
import neura

pytestmark = pytest.mark.skipif(not neura.cuda.is_available(), reason="no CUDA device")


@pytest.mark.parametrize("name", audio_cases.CASES)
def test_answers_are_those_of_the_cpu(name):
    want = audio_cases.CASES[name](neura.audio, lambda x: neura.tensor(np.asarray(x)))
    with neura.device("cuda"):  # of the buffers of transforms
        got = audio_cases.CASES[name](neura.audio, lambda x: neura.tensor(np.asarray(x), device="cuda"))
    assert got.device.type == "cuda"
    neura.testing.assert_close(got.cpu(), want, rtol=1e-6, atol=1e-6)


def test_gradients_are_those_of_the_cpu():
    transform = neura.audio.transforms.MFCC(8000, 5, melkwargs={"n_fft": 64, "n_mels": 10}).double()
    grads = []
    for device in ("cpu", "cuda"):
        x = neura.tensor(audio_cases.pair(), device=device, requires_grad=True)
        grads += neura.autograd.grad((transform.to(device)(x) ** 2).sum(), x)
    neura.testing.assert_close(grads[1].cpu(), grads[0], rtol=1e-6, atol=1e-6 * grads[0].abs().max().item())
