#!/usr/bin/env bash
# Makes build/python, the environment in which the Python package is built and tested, and installs what is missing there.
# Without Python's venv or a package index it says so and ends with 77; the C++ build continues without the package.
set -uo pipefail
cd "$(dirname "$0")/.."
packages=(nanobind scikit-build-core numpy pytest mypy)
has_all() { build/python/bin/python -c 'import nanobind, scikit_build_core, numpy, pytest, mypy' 2>/dev/null; }
has_all && exit 0
skip() { echo "left out: the Python package: $1"; exit 77; }
command -v python3 >/dev/null || skip "no python3 on PATH"
[ -x build/python/bin/pip ] || python3 -m venv build/python >/dev/null 2>&1 || skip "python3 -m venv failed (apt-get install python3-venv)"
build/python/bin/pip install -q --disable-pip-version-check "${packages[@]}" || skip "pip could not install ${packages[*]}"
has_all || skip "${packages[*]} cannot be imported"
