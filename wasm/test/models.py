#!/usr/bin/env python3
"""Small models of many kinds, with what they answer natively, for the tests of the package for browsers.

    models.py FOLDER            writes them into the folder (wasm/test/data), with cases.json
    models.py FOLDER --check    runs those of the folder, and compares with cases.json: fails above 1e-5
"""

import base64
import json
import pathlib
import sys

import neura
import numpy as np
from neura import nn


class Last(nn.Module):
    """The first result of a module."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


class Mixed(nn.Module):
    """Two inputs, two outputs, integers and truths."""

    def forward(self, x, i):
        rows = neura.index_select(x, 0, i)
        return (rows > 0).to(neura.int64).sum(1), neura.where(rows > 0, rows, -rows).cumsum(1)


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1),
        nn.MaxPool2d(2),
        nn.BatchNorm2d(6),
        nn.ReLU(),
        nn.Conv2d(6, 8, 3, stride=2, groups=2),
        nn.SiLU(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(8, 10),
        nn.Softmax(1),
    )


def transformer():
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, activation="gelu")
    return nn.Sequential(nn.Embedding(11, 16), nn.TransformerEncoder(layer, 2))


def decoder():
    return nn.Sequential(nn.ConvTranspose2d(3, 4, 3, stride=2), nn.GroupNorm(2, 4), nn.AdaptiveAvgPool2d(2))


def lines():
    return nn.Sequential(nn.LayerNorm(12), nn.Linear(12, 9), nn.Tanh(), nn.Linear(9, 4), nn.LogSoftmax(-1))


class Bytes(nn.Module):
    """Pictures as files hold them."""

    def forward(self, x):
        return neura.sub(x.to(neura.float32) / 255, 0.5).mean(dim=(2, 3)), x.to(neura.float32).amax(dim=3).argmax(dim=2)


# name, model, inputs, whether the small module runs it. The pages' programs run `eight`.
CASES = [
    ("cnn", cnn, lambda: [neura.randn(2, 1, 16, 16)], True),
    ("lines", lines, lambda: [neura.randn(3, 5, 12)], True),
    ("bytes", Bytes, lambda: [neura.randint(0, 256, (1, 3, 8, 9), dtype=neura.uint8)], True),
    ("eight", lambda: nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2)), lambda: [neura.randn(1, 8)], True),
    ("transformer", transformer, lambda: [neura.arange(6).reshape(2, 3)], False),
    ("lstm", lambda: Last(nn.LSTM(6, 9, num_layers=2, bidirectional=True)), lambda: [neura.randn(4, 2, 6)], False),
    ("gru", lambda: Last(nn.GRU(6, 9)), lambda: [neura.randn(4, 2, 6)], False),
    ("decoder", decoder, lambda: [neura.randn(2, 3, 4, 4)], False),
    ("mixed", Mixed, lambda: [neura.randn(5, 4), neura.tensor([4, 0, 0])], False),
]


def stored(name, array):
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"name": name, "dtype": str(array.dtype), "shape": list(array.shape), "data": data}


def read(port):
    return np.frombuffer(base64.b64decode(port["data"]), port["dtype"]).reshape(port["shape"])


def answers(path, inputs):
    results = neura.graph.load(path, mmap=False)(*inputs)
    return [r.numpy() for r in (results if isinstance(results, (list, tuple)) else [results])]


def write(folder):
    cases = []
    for name, make, sample, small in CASES:
        neura.manual_seed(7)
        model, inputs = make().eval(), sample()
        names = ["input"] if name == "eight" else [f"x{i}" for i in range(len(inputs))]
        outs = ["output"] if name == "eight" else []
        program = neura.graph.export(model, tuple(inputs), names, outs, metadata={"made for": "tests"})
        program.save(folder / f"{name}.neura")
        results = answers(folder / f"{name}.neura", inputs)
        outputs = [stored(n, r) for n, r in zip(program.output_names, results)]
        cases.append(
            {
                "name": name,
                "small": small,
                "inputs": [stored(n, x.numpy()) for n, x in zip(names, inputs)],
                "outputs": outputs,
            }
        )
    (folder / "cases.json").write_text(json.dumps(cases, indent=1) + "\n")
    print(f"{len(cases)} models in {folder}")


def check(folder):
    worst = 0.0
    for case in json.loads((folder / "cases.json").read_text()):
        inputs = [neura.from_numpy(read(p).copy()) for p in case["inputs"]]
        for port, got in zip(case["outputs"], answers(folder / f"{case['name']}.neura", inputs)):
            want = read(port)
            assert got.shape == want.shape and got.dtype == want.dtype, (case["name"], got.shape, got.dtype)
            worst = max(worst, float(np.abs(got.astype(float) - want.astype(float)).max()))
            assert worst <= 1e-5, f"{case['name']}: {worst} from the stored answer"
    print(f"native answers are the stored ones, within {worst:.1e}")


if __name__ == "__main__":
    path = pathlib.Path(sys.argv[1])
    path.mkdir(parents=True, exist_ok=True)
    check(path) if "--check" in sys.argv else write(path)
