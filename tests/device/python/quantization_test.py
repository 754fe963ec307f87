"""Quantization on a device: calibration, conversion, training with the rounding. On that for tests, and on CUDA."""

import copy
import pathlib
import sys

import neura
import pytest
from neura import nn, quantization as q

if not neura.cuda.is_available():
    pytest.skip("no device", allow_module_level=True)

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python"))
from quantization_models import network, pictures, train  # noqa: E402

CUDA = neura.device("cuda:0")


@pytest.fixture(scope="module")
def trained():
    model = network()
    train(model, 60)
    return model.eval()


def calibrated(model, device):
    prepared = q.prepare(copy.deepcopy(model).to(device))
    with neura.no_grad():
        prepared(pictures(64)[0].to(device))
    return prepared


def tensors(module):
    return {name: t for name, t in module.state_dict().items() if isinstance(t, neura.Tensor)}


def test_calibration_finds_there_what_it_finds_here(trained):
    here, there = tensors(calibrated(trained, "cpu")), tensors(calibrated(trained, CUDA))
    assert here.keys() == there.keys() and any("min" in name or "scale" in name for name in here)
    for name, want in here.items():
        assert there[name].device == CUDA, name
        assert neura.allclose(there[name].cpu().double(), want.double(), rtol=1e-5, atol=1e-6), name


def test_converted_models_answer_there_as_here(trained):
    here = q.convert(calibrated(trained, "cpu"))
    there = q.convert(calibrated(trained, CUDA))
    assert all(t.device == CUDA for t in tensors(there).values())
    x, _ = pictures(50, 3)
    want, got = here(x), there(x.to(CUDA))
    assert got.device == CUDA
    # A sum that falls on the other side of a half is one step of the next layer's grid.
    assert (got.cpu() - want).abs().max() < 0.05 * want.abs().max()
    assert (got.cpu().argmax(1) == want.argmax(1)).float().mean() > 0.95
    moved = here.to(CUDA)
    assert neura.allclose(moved(x.to(CUDA)), got, atol=0.05 * want.abs().max().item())


@pytest.mark.parametrize(
    "make", [q.quantize_dynamic, lambda m: q.quantize_weights(m, bits=4)], ids=["dynamic", "4 bits"]
)
def test_weights_alone(trained, make):
    x, _ = pictures(20, 4)
    want, there = make(copy.deepcopy(trained))(x), make(copy.deepcopy(trained).to(CUDA))
    got = there(x.to(CUDA))
    assert got.device == CUDA and neura.allclose(got.cpu(), want, rtol=1e-3, atol=1e-3)


def test_training_with_the_rounding_stays_there():
    model = q.prepare_qat(network(), q.get_default_qat_qconfig(weight_bits=4)).to(CUDA)
    optimizer = neura.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for step in range(30):
        x, kinds = (t.to(CUDA) for t in pictures(64, step))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), kinds)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2
    assert all(t.device == CUDA for t in tensors(model).values())
    assert all(p.grad is not None and p.grad.device == CUDA for p in model.parameters())
