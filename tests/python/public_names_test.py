"""Every public name has a docstring and a signature, and the stubs know it."""

import importlib.util
import inspect
import pathlib
import pydoc

import neura
import pytest

ROOT = pathlib.Path(__file__).parents[2]


def load_stubs():
    spec = importlib.util.spec_from_file_location("stubs", ROOT / "tools" / "stubs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


stubs = load_stubs()


def described(function):
    """Does it say more than its signature?"""
    if hasattr(function, "__nb_signature__"):
        return any(overload[1] for overload in function.__nb_signature__)
    return bool((inspect.getdoc(function) or "").strip())


def functions_of(cls):
    for name in dir(cls):
        home = next((base for base in cls.__mro__ if name in vars(base)), type)  # an enum lists its class's own
        if not name.startswith("_") and home.__module__ != "builtins":
            value = inspect.getattr_static(cls, name)
            if callable(value) or isinstance(value, (staticmethod, classmethod)):
                yield name, getattr(cls, name)


def public():
    """(name, object) of all functions, classes and methods, each object once."""
    seen = set()
    for module_name, module in stubs.public_modules(neura).items():
        for name in stubs.public_names(module):
            value = getattr(module, name)
            if isinstance(value, type) and value.__module__.partition(".")[0] != "neura":
                continue
            entries = [(f"{module_name}.{name}", value)]
            if isinstance(value, type):
                entries += [(f"{module_name}.{name}.{key}", f) for key, f in functions_of(value)]
            for full, entry in entries:
                if callable(entry) and id(entry) not in seen:
                    seen.add(id(entry))
                    yield full, entry


ALL = list(public())


def test_there_are_many():
    assert len(ALL) > 800


def test_each_module_says_what_it_is():
    assert [name for name, module in stubs.public_modules(neura).items() if not module.__doc__] == []


def test_each_name_is_described():
    assert [name for name, value in ALL if not described(value)] == []


def signature(value):
    try:
        return inspect.signature(value)
    except (ValueError, TypeError):
        return None


def test_each_function_has_a_signature():
    missing = [name for name, value in ALL if not isinstance(value, type) and signature(value) is None]
    assert missing == []


def test_signatures_and_help_of_functions_from_cpp():
    assert str(inspect.signature(neura.softmax)).startswith("(input: 'neura.Tensor', dim: 'int', dtype: ")
    assert str(inspect.signature(neura.leaky_relu)) == "(input, negative_slope=0.01, *, out=None)"
    assert list(inspect.signature(neura.ones(2).softmax).parameters) == ["dim", "dtype", "out"]
    assert list(inspect.signature(neura.ones(2).exp).parameters) == ["out"]
    text = pydoc.plain(pydoc.render_doc(neura.softmax))
    assert "softmax(input: " in text and "exp(x) / sum(exp(x))" in text
    text = pydoc.plain(pydoc.render_doc(neura.exp))
    assert "exp(input, *, out=None)" in text
    assert "relu" in pydoc.plain(pydoc.render_doc(neura.Tensor))


def test_a_function_as_an_attribute_of_a_class_does_not_become_a_method():
    class Uses:
        activation, other = neura.relu, neura.softmax

    assert Uses().activation(neura.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]
    assert Uses().other is neura.softmax


def test_completion():
    assert {"softmax", "nn", "autograd", "float32", "Tensor"} <= set(dir(neura))
    assert {"backward", "softmax", "relu_", "shape"} <= set(dir(neura.ones(1)))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    import subprocess
    import sys

    out = tmp_path_factory.mktemp("stubs")
    site = pathlib.Path(neura.__file__).parents[1]
    subprocess.run([sys.executable, ROOT / "tools" / "stubs.py", site, out], check=True)
    return out


def test_stubs_are_python_and_know_every_name(written):
    import ast

    for module_name, module in stubs.public_modules(neura).items():
        folder = written.joinpath(*module_name.split("."))
        path = folder / "__init__.pyi" if hasattr(module, "__path__") else folder.with_suffix(".pyi")
        names = set()
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                names.add(node.name)
            elif isinstance(node, ast.AnnAssign):
                names.add(node.target.id)
            elif isinstance(node, ast.ImportFrom):
                names |= {alias.asname or alias.name for alias in node.names}
        missing = set(stubs.public_names(module)) - names
        assert not missing, (module_name, missing)


def test_a_typed_program_passes_mypy(written):
    import subprocess
    import sys

    pytest.importorskip("mypy", reason="mypy is not installed: tools/python.sh installs it")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", written / "cache", "typing_example.py"]
    run = subprocess.run(
        command, cwd=pathlib.Path(__file__).parent, env={"MYPYPATH": str(written)}, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr
    wrong = written / "wrong.py"
    wrong.write_text("import neura\nx: int = neura.ones(2).relu()\nneura.softmax(3, 'no')\n")
    run = subprocess.run(command[:-1] + [wrong], env={"MYPYPATH": str(written)}, capture_output=True, text=True)
    assert "[assignment]" in run.stdout and "[arg-type]" in run.stdout, run.stdout
