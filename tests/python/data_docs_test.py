"""The examples in the docstrings about data and pictures run."""

import doctest
import importlib

import pytest

MODULES = "utils.data.collate utils.data.sampler data.files data.transforms data.functional data.augment data.sets"


@pytest.mark.parametrize("name", MODULES.split())
def test_docstrings_run(name):
    failed, tried = doctest.testmod(importlib.import_module("neura." + name))
    assert tried and not failed
