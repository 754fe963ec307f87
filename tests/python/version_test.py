"""One version: whatever names it says the same."""

import pathlib
import re

import neura

ROOT = pathlib.Path(__file__).parents[2]


def test_every_place_names_the_same_version():
    places = {
        "CMakeLists.txt": [r"project\(neura VERSION ([\d.]+)"],
        "neura/core/version.h": [r'kVersion = "(.*?)"'],
        "pyproject.toml": [r'\nversion = "(.*?)"', r'\ncuda = \["neura-cuda13==(.*?)"'],
        "python/cuda/pyproject.toml": [r'\nversion = "(.*?)"', r'"neura==(.*?)"'],
    }
    for file, patterns in places.items():
        for pattern in patterns:
            assert re.findall(pattern, (ROOT / file).read_text()) == [neura.__version__], (file, pattern)
