"""Short programs of PyTorch users, run with `import neura as torch`, give the answers that programs/make.py stored."""

import pathlib
import sys

import neura
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "programs"))
import program_runner as run  # noqa: E402

# |difference| <= absolute + |stored| * relative, by dtype; a Python float may come from a float32 tensor
TOLERANCES = {"float64": (1e-9, 1e-9), "float32": (1e-5, 1.3e-6), "float16": (1e-5, 1e-3), "bfloat16": (1e-5, 1.6e-2)}
TOLERANCES |= {"complex128": TOLERANCES["float64"], "complex64": TOLERANCES["float32"]}
NUMBER = (1e-8, 1e-5)
STORED = {topic: run.stored(topic) for topic in run.TOPICS}


@pytest.mark.parametrize("topic, name", [(topic, name) for topic in run.TOPICS for name in run.programs(topic)])
def test_program(topic, name):
    got, expected = run.answer(neura, topic, name), STORED[topic][name]
    assert got["values"].keys() == expected["values"].keys()
    assert got["arrays"].keys() == expected["arrays"].keys()
    for path, value in expected["values"].items():
        if isinstance(value, float):
            value = pytest.approx(value, abs=NUMBER[0], rel=NUMBER[1], nan_ok=True)
        assert got["values"][path] == value and isinstance(got["values"][path], bool) == isinstance(value, bool), path
    for path, array in expected["arrays"].items():
        mine = got["arrays"][path]
        assert (mine["dtype"], mine["sizes"]) == (array["dtype"], array["sizes"]), path
        absolute, relative = TOLERANCES.get(array["dtype"].split(".")[-1], (0, 0))
        assert mine["data"] == pytest.approx(array["data"], abs=absolute, rel=relative, nan_ok=True), path


def test_there_are_two_hundred():
    assert sum(len(answers) for answers in STORED.values()) >= 200
