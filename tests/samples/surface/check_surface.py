"""An entry of the list of public functions is a function, a method, in place, takes out=, is in the stubs, in help,
on the page, in the parity table, and among what the tests of forms call; tests/surface has been run by then."""

import ast
import importlib.util
import inspect
import os
import pathlib
import subprocess
import sys

import neura
import pytest

NAME = "squared_gap"
TREE = pathlib.Path(os.environ["NEURA_SAMPLE"])
SITE = pathlib.Path(neura.__file__).parents[1]


def tool(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def operands():
    return neura.tensor([1.0, 2.0, 5.0]), neura.tensor([3.0, 2.0, 1.0])


def test_function_method_in_place_and_out(operands):
    x, y = operands
    assert neura.squared_gap(x, y).tolist() == [4, 0, 16]
    assert x.squared_gap(y).tolist() == [4, 0, 16]
    assert neura.squared_gap(input=x, other=y).tolist() == [4, 0, 16]
    out = neura.empty(3)
    assert neura.squared_gap(x, y, out=out) is out and out.tolist() == [4, 0, 16]
    changed = x.clone()
    assert changed.squared_gap_(y) is changed and changed.tolist() == [4, 0, 16]


def test_it_has_a_gradient(operands):
    x = operands[0].requires_grad_()
    x.squared_gap(operands[1]).sum().backward()
    assert x.grad.tolist() == [-4, 0, 8]


def test_help_and_signature():
    for f in (neura.squared_gap, neura.Tensor.squared_gap):
        assert "The square of input - other" in inspect.getdoc(f)
    assert list(inspect.signature(neura.squared_gap).parameters)[:2] == ["input", "other"]
    assert NAME in neura.__all__ if hasattr(neura, "__all__") else NAME in dir(neura)


def test_wrong_arguments_are_refused_by_name(operands):
    with pytest.raises(TypeError, match=NAME):
        neura.squared_gap(operands[0])


def test_stubs():
    tree = ast.parse((SITE / "neura" / "__init__.pyi").read_text())
    assert any(isinstance(node, ast.FunctionDef) and node.name == NAME for node in tree.body)
    tensor = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Tensor")
    methods = {node.name for node in tensor.body if isinstance(node, ast.FunctionDef)}
    assert {NAME, NAME + "_"} <= methods


def test_page():
    lines = [line for line in (TREE / "docs" / "functions.md").read_text().splitlines() if NAME in line]
    assert len(lines) == 1 and "function, method, in place" in lines[0] and "The square of input - other" in lines[0]


def test_parity(monkeypatch):
    """As if PyTorch had that name: its line counts it among those that are there."""
    parity = tool(TREE / "tools" / "parity.py")
    before = parity.page()
    names = {space: [*found, NAME] if space == "torch" else found for space, found in parity.names().items()}
    monkeypatch.setattr(parity, "names", lambda: names)
    after = parity.page()

    def there(page):
        return next(int(line.split("|")[3]) for line in page.splitlines() if line.startswith("| `torch` |"))

    assert there(after) == there(before) + 1 and NAME not in after


def test_the_tests_of_forms_call_it():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", NAME]
    done = subprocess.run(
        [*command, str(TREE / "tests" / "python" / "forms_test.py")], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout and " skipped" not in done.stdout
