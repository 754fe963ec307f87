"""Models of ONNX files on a device: weights go there, sizes and small constants stay and are brought as needed."""

import pathlib

import neura
import pytest

if not neura.cuda.is_available():
    pytest.skip("no device", allow_module_level=True)

DATA = pathlib.Path(__file__).parents[2] / "python" / "data" / "onnx"


@pytest.mark.parametrize("name", ["linear", "sizes", "top", "branch"])
def test_a_model_computes_on_the_device_what_it_does_on_the_cpu(name):
    model = neura.onnx.load(DATA / f"{name}.onnx")
    x = {
        "linear": [neura.linspace(-1, 1, 18).reshape(3, 6)],
        "sizes": [neura.arange(12.0).reshape(2, 2, 3)],
        "top": [neura.tensor([1.0, 3, 2])],
        "branch": [neura.tensor(True), neura.tensor([-1.0, 2.0])],
    }[name]
    expected = model(*x)
    model.to("cuda")
    got = model(*[v.to("cuda") for v in x])
    for e, g in zip(*[(v if isinstance(v, tuple) else (v,)) for v in (expected, got)]):
        assert g.device.type == "cuda" and neura.allclose(g.cpu(), e)


def test_a_model_is_trained_on_the_device():
    model = neura.onnx.load(DATA / "linear.onnx").to("cuda")
    model(neura.ones(1, 6).to("cuda")).sum().backward()
    (weight,) = model.parameters()
    assert weight.grad.device.type == "cuda" and weight.grad.abs().sum().item() > 0
