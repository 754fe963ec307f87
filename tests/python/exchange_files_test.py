"""Weights from PyTorch and back, where PyTorch is not installed: a file that it wrote, and a reader that knows no more
than the format of safetensors."""

import json
import pathlib

import neura
import numpy as np
from neura import nn

DATA = pathlib.Path(__file__).parent / "data"


def read_safetensors(path):
    """As https://huggingface.co/docs/safetensors describes it: a size, a header of JSON, the numbers."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header.pop("__metadata__", None)
    types = {"F32": "<f4", "F64": "<f8", "I64": "<i8"}
    arrays, ends = {}, [0]
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        arrays[name] = np.frombuffer(data[start + begin : start + end], types[entry["dtype"]]).reshape(entry["shape"])
        ends += [begin, end]
    assert max(ends) == len(data) - start, "bytes that belong to no tensor"
    return arrays


def forward(w, x):
    """The network of model.pt in NumPy."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, w["0.weight"].shape[2:], axis=(2, 3))
    y = np.einsum("nchwij,ocij->nohw", windows, w["0.weight"]) + w["0.bias"][:, None, None]
    mean, var, scale, bias = (w["1." + k][:, None, None] for k in ("running_mean", "running_var", "weight", "bias"))
    y = np.maximum((y - mean) / np.sqrt(var + 1e-5) * scale + bias, 0).reshape(len(x), -1)
    y = y @ w["4.weight"].T + w["4.bias"]
    y = (y - y.mean(1, keepdims=True)) / np.sqrt(y.var(1, keepdims=True) + 1e-5)
    return y * w["5.weight"] + w["5.bias"]


def network(w):
    out, channels, *kernel = w["0.weight"].shape
    classes, features = w["4.weight"].shape
    return nn.Sequential(
        *(nn.Conv2d(channels, out, tuple(kernel), padding=1), nn.BatchNorm2d(out), nn.ReLU(), nn.Flatten()),
        *(nn.Linear(features, classes), nn.LayerNorm(classes)),
    ).eval()


def test_weights_of_torch_give_its_outputs_and_go_back_to_a_reader_of_the_format(tmp_path):
    theirs = neura.load(DATA / "model.pt")
    net = network(theirs["model"])
    assert not any(net.load_state_dict(theirs["model"]))
    assert neura.allclose(net(theirs["input"]), theirs["output"], atol=1e-5)
    for name, save in {"a": neura.save, "b": lambda s, path: neura.safetensors.save_file(s, path)}.items():
        save(net.state_dict(), tmp_path / f"{name}.safetensors")
        back = read_safetensors(tmp_path / f"{name}.safetensors")
        assert set(back) == set(theirs["model"])
        for key, tensor in theirs["model"].items():
            assert back[key].tobytes() == tensor.numpy().tobytes() and back[key].shape == tuple(tensor.shape), key
        assert np.allclose(forward(back, theirs["input"].numpy()), theirs["output"].numpy(), atol=1e-5)
    other = network(theirs["model"])
    assert not any(other.load_state_dict(neura.load(tmp_path / "a.safetensors")))
    assert neura.equal(other(theirs["input"]), net(theirs["input"]))
