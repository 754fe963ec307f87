"""What importing the package loads, and that what loads later is there all the same."""

import os
import subprocess
import sys

import neura
import pytest


def run(program):
    """What a fresh interpreter prints."""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def loaded_by(program):
    """The modules that a program loads beyond those that Python's own start loads."""
    both = f"import sys; before = set(sys.modules); {program}; print(*sorted(set(sys.modules) - before))"
    return {name for name in run(both) if not name.startswith("neura._neura")}


def test_a_bare_import_loads_nothing_that_it_does_not_need():
    mine = {"neura", "neura.errors"} | {f"neura._{name}" for name in "formats lazy methods signatures words".split()}
    assert loaded_by("import neura; neura.ones(2) + 1; neura.float32") - mine <= {"math", "atexit", "gc"}


def test_nn_loads_what_modules_need_and_no_more():
    theirs = {name for name in loaded_by("import neura.nn; neura.nn.Linear(1, 1)") if not name.startswith("neura")}
    heavy = (
        "numpy inspect typing dataclasses threading contextlib copy re ast enum json logging tempfile pickle".split()
    )
    assert not theirs & set(heavy)


@pytest.mark.parametrize(
    "program",
    [
        "import neura; print(neura.nn.Linear.__name__)",
        "from neura import nn; print(nn.Linear.__name__)",
        "import neura.nn as nn; print(nn.Linear.__name__)",
        "from neura.nn import Linear; print(Linear.__name__)",
        "from neura import *; print(nn.Linear.__name__)",
        "import neura; getattr(neura.nn.functional, 'linear'); print(neura.nn.Linear.__name__)",
        "import neura.optim.lr_scheduler; import neura; print(neura.nn.Linear.__name__)",
        "import neura, pickle; m = pickle.loads(pickle.dumps(neura.nn.Linear(1, 1))); print(type(m).__name__)",
    ],
)
def test_every_way_to_reach_a_layer(program):
    assert run(program) == ["Linear"]


def test_the_parts_load_by_themselves():
    names = (
        "autograd data fft func linalg masked nn optim random safetensors serialization signal special utils".split()
    )
    names += ["utils.data", "nn.functional", "nn.init", "nn.utils", "nn.utils.parametrize", "autograd.graph"]
    for name in names:
        assert run(f"import neura; print(neura.{name}.__name__)") == [f"neura.{name}"]
        assert run(f"import neura.{name}; print(neura.{name}.__name__)") == [f"neura.{name}"]


def test_functions_that_come_from_a_part():
    assert neura.no_grad is neura.autograd.no_grad
    assert neura.save is neura.serialization.save
    assert callable(neura.autograd.gradcheck) and callable(neura.finfo)
    assert neura.nn.LazyConv2d is neura.nn.lazy_layers.LazyConv2d
    program = (
        "from neura.autograd.gradcheck import gradcheck; import neura; print(neura.autograd.gradcheck is gradcheck)"
    )
    assert run(program) == ["True"]


def test_what_is_not_there_is_an_attribute_error():
    for package in (neura, neura.nn, neura.utils, neura.autograd, neura.nn.utils):
        with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'nowhere'"):
            package.nowhere


def test_what_loads_later_is_listed():
    assert {"nn", "optim", "no_grad", "load", "data", "softmax"} <= set(run("import neura; print(*dir(neura))"))
    assert {"Linear", "functional", "utils", "LazyConv3d"} <= set(run("import neura; print(*dir(neura.nn))"))
    assert {"nn", "softmax"} <= set(neura.__all__) and not [name for name in neura.__all__ if name[0] == "_"]


def test_two_threads_may_ask_at_once():
    program = (
        "import neura, threading\n"
        "found = []\n"
        "threads = [threading.Thread(target=lambda: found.append(neura.nn.Linear)) for _ in range(8)]\n"
        "for t in threads: t.start()\n"
        "for t in threads: t.join()\n"
        "print(len(found), len(set(found)))"
    )
    assert run(program) == ["8", "1"]
