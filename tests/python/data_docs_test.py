"""The examples in the page about data and in the docstrings run."""

import doctest
import importlib
import pathlib
import re

import pytest

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "data.md"


def test_the_page_runs():
    programs = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert programs
    for program in programs:
        exec(compile(program, str(PAGE), "exec"), {"__name__": "page"})


@pytest.mark.parametrize("name", ["utils.data.collate", "utils.data.sampler", "data.files", "data.transforms"])
def test_docstrings_run(name):
    failed, tried = doctest.testmod(importlib.import_module("neura." + name))
    assert tried and not failed
