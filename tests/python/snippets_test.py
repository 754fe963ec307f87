"""Two hundred snippets of PyTorch training code give PyTorch's results; snippets/make.py stored those."""

import json
import pathlib
import sys

import neura
import numpy
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "snippets"))
import collect  # noqa: E402

# |difference| <= absolute + |stored| * relative, by dtype; a Python float may come from a float32 tensor
TOLERANCES = {
    "float64": (1e-9, 1e-9),
    "complex128": (1e-9, 1e-9),
    "float32": (1e-5, 1.3e-6),
    "complex64": (1e-5, 1.3e-6),
}
TOLERANCES |= {"float16": (1e-5, 1e-3), "bfloat16": (1e-5, 1.6e-2)}
NUMBER = (1e-8, 1e-5)

with numpy.load(collect.STORED) as file:
    STORED = {key: file[key] for key in file.files}
FACTS = json.loads(bytes(STORED.pop("")))
WAITING = set((collect.FOLDER / "waiting.txt").read_text().split())  # for parts of the package that are to come


def cases():
    later = pytest.mark.xfail(reason="not yet as in PyTorch", strict=True)
    return [pytest.param(name, marks=later if name in WAITING else ()) for name in collect.names()]


def mine(name, stored):
    return {key: value for key, value in stored.items() if key.startswith((name + ":", name + " "))}


@pytest.mark.parametrize("name", cases())
def test_snippet(name):
    arrays, values = collect.run(name, neura)
    stored = mine(name, FACTS["values"])
    assert values.keys() == stored.keys()
    for path, value in stored.items():
        if isinstance(value, float):
            assert values[path] == pytest.approx(value, abs=NUMBER[0], rel=NUMBER[1], nan_ok=True), path
        else:
            assert values[path] == value and type(values[path]) is type(value), path
    stored = mine(name, STORED)
    assert arrays.keys() == stored.keys()
    for path, expected in stored.items():
        dtype, array = arrays[path]
        assert dtype == FACTS["dtypes"][path], path
        absolute, relative = TOLERANCES.get(dtype.split(".")[-1], (0, 0))
        numpy.testing.assert_allclose(array, expected, atol=absolute, rtol=relative, err_msg=path)


def test_there_are_two_hundred():
    assert len(collect.names()) >= 200
