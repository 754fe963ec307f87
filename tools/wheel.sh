#!/usr/bin/env bash
# tools/wheel.sh [OUT]: builds the wheel as pip does, installs it into a new environment, and looks at it there: what it carries,
# what it needs, what importing it loads, and whether the README's Python program and mypy are content with it.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:-build/dist}")
python=$PWD/build/python/bin/python
[ -x "$python" ] || { echo "wheel: no build/python; run tools/python.sh first"; exit 1; }
rm -rf "$out"
mkdir -p "$out"
# The same flags as in the build tree, so that ccache knows what it compiled there.
export SKBUILD_CMAKE_DEFINE=NEURA_WERROR=ON CXX=${CXX:-c++}
PATH="$(dirname "$python"):$PATH" "$python" -m pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation -w "$out" .
"$python" -m venv "$out/environment"
"$out/environment/bin/pip" install -q --disable-pip-version-check --no-index --no-deps "$out"/*.whl
"$python" tools/check_wheel.py "$out"/*.whl "$out/environment/bin/python"
