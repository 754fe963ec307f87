"""Two hundred and more snippets of PyTorch training code give PyTorch's results; snippets/make.py stored those."""

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
COMPUTED_IN = {"modules/tied_weights:gradient": "float32"}  # and converted to a wider dtype afterwards

with numpy.load(collect.STORED) as file:
    STORED = {key: file[key] for key in file.files}
FACTS = json.loads(bytes(STORED.pop("")))
# Where ours is another answer on purpose, and why.
DIFFERENT = {"modules/pickled_net:shared": (True, "pickle keeps that two tensors share memory; PyTorch copies each")}


def mine(name, stored):
    return {key: value for key, value in stored.items() if key.startswith((name + ":", name + " "))}


@pytest.mark.parametrize("name", collect.names())
def test_snippet(name):
    arrays, values = collect.run(name, neura)
    stored = mine(name, FACTS["values"])
    assert values.keys() == stored.keys()
    for path, value in stored.items():
        value = DIFFERENT.get(path, (value,))[0]
        if isinstance(value, float):
            assert values[path] == pytest.approx(value, abs=NUMBER[0], rel=NUMBER[1], nan_ok=True), path
        else:
            assert values[path] == value and type(values[path]) is type(value), path
    stored = mine(name, STORED)
    assert arrays.keys() == stored.keys()
    for path, expected in stored.items():
        dtype, array = arrays[path]
        assert dtype == FACTS["dtypes"][path], path
        absolute, relative = TOLERANCES.get(COMPUTED_IN.get(path, dtype.split(".")[-1]), (0, 0))
        numpy.testing.assert_allclose(array, expected, atol=absolute, rtol=relative, err_msg=path)


def test_there_are_two_hundred():
    assert len(collect.names()) >= 200
