"""What the package reads of its module of C++ is there: by its sources alone, so also where no test runs them."""

import ast
import pathlib

import pytest

import neura.nn  # layers are bound when it is first imported
from neura import _neura

FOLDER = pathlib.Path(neura.__file__).parent
SOURCES = sorted(FOLDER.rglob("*.py"))


def aliases(tree):
    """The names under which a file imports the module, and nothing else."""
    names, others = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names if alias.name == "_neura"}
        elif isinstance(node, ast.Import):
            others |= {alias.asname for alias in node.names}
    return names - others


def chains(tree, names):
    """Of `_neura.a.b.c`, ["a", "b", "c"] and its line."""
    inner = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node not in inner:
            chain, value = [node.attr], node.value
            while isinstance(value, ast.Attribute):
                inner.add(value)
                chain.insert(0, value.attr)
                value = value.value
            if isinstance(value, ast.Name) and value.id in names and isinstance(node.ctx, ast.Load):
                yield chain, node.lineno


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_every_name_exists(source):
    tree = ast.parse(source.read_text())
    missing = []
    for chain, line in chains(tree, aliases(tree)):
        value = _neura
        for name in chain:
            if not hasattr(value, name):
                missing.append(f"line {line}: _neura.{'.'.join(chain)}")
                break
            value = getattr(value, name)
            if not isinstance(value, (type(_neura), type)):  # what a function or an object has is known when it runs
                break
    assert not missing


def test_the_reader_reads():
    tree = ast.parse("from . import _neura as _n\nx = _n.tensor([1]).sum()\ny = _n._data.Gone()\n")
    found = [chain for chain, _ in chains(tree, aliases(tree))]
    assert ["_data", "Gone"] in found and ["tensor"] in found
