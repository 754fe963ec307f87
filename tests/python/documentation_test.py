"""What the documentation shows runs, and the names it lists are there."""

import doctest
import importlib
import pathlib
import pkgutil
import re
import runpy

import neura
import pytest

ROOT = pathlib.Path(__file__).parents[2]
PAGES = [ROOT / "README.md"]
NAMES = "python tensors loop optimizers autograd distributions graph amp sparse profiler text training data images"
NAMES += " audio networks files pruning deployment web aids quantization onnx models hub"
PAGES += [ROOT / "docs" / f"{name}.md" for name in NAMES.split()]


GIVEN = {  # what the programs of a page find: the ONNX file that its first one reads
    "onnx.md": """
import neura
x, mask = neura.randn(2, 8), neura.ones(2, 4)
class Model(neura.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = neura.nn.Linear(8, 4)
    def forward(self, x, mask=None):
        return self.layer(x) if mask is None else self.layer(x) * mask
model = Model()
neura.onnx.export(neura.nn.Linear(8, 4), x, "net.onnx", input_names=["x"], output_names=["y"])
"""
}


def blocks(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_programs_on_pages_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert blocks(page)
    given = {"__name__": "__main__"}
    exec(GIVEN.get(page.name, ""), given)
    for program in blocks(page):
        exec(compile(program, str(page), "exec"), dict(given))


def resolve(name):
    value = neura
    for part in name.split(".")[1:]:
        if isinstance(value, type(neura)) and not hasattr(value, part):
            importlib.import_module(f"{value.__name__}.{part}")
        value = getattr(value, part)
    return value


def names(text):
    found = re.findall(r"`(neura(?:\.\w+)+)", text)
    return [name for name in dict.fromkeys(found) if not name.endswith(".")]


def test_names_on_the_page_are_there_and_those_called_missing_are_not():
    text = (ROOT / "docs" / "python.md").read_text()
    there, missing = text.split("### What is missing")
    assert len(names(there)) > 30
    for name in names(there):
        resolve(name)
    absent = re.findall(r"`(neura(?:\.\w+)+)`", missing)
    assert absent
    for name in absent:
        with pytest.raises((AttributeError, ImportError)):
            resolve(name)


@pytest.mark.parametrize(
    "module", [m.name for m in pkgutil.walk_packages(neura.__path__, "neura.") if not m.name.startswith("neura._neura")]
)
def test_examples_in_docstrings(module):
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:  # for those who have that package
        assert error.name.partition(".")[0] != "neura"
        pytest.skip(str(error))
    result = doctest.testmod(found, extraglobs={"neura": neura})
    assert result.failed == 0


SPACES = "nn.functional linalg fft special sparse audio.functional signal.windows"


def functions_with_examples():
    """By name: the public functions whose texts, of the tables and the list, have examples."""
    found = {}
    for space in ["neura", *(f"neura.{name}" for name in SPACES.split())]:
        module = importlib.import_module(space)
        for name in dir(module):
            f = getattr(module, name)
            if callable(f) and not isinstance(f, type) and ">>>" in (getattr(f, "__doc__", None) or ""):
                found[f"{space}.{name}"] = f
    return found


@pytest.mark.parametrize("name", functions_with_examples())
def test_examples_in_texts_of_functions(name):
    text = functions_with_examples()[name].__doc__
    example = doctest.DocTestParser().get_doctest(text, {"neura": neura}, name, None, 0)
    assert doctest.DocTestRunner(verbose=False).run(example).failed == 0


def test_many_functions_have_examples():
    assert len(functions_with_examples()) > 60


def test_typed_example_runs():
    program = runpy.run_path(str(pathlib.Path(__file__).parent / "typing_example.py"))
    assert program["arithmetic"]().shape == (2, 2) and program["train"](60) > 0.9
