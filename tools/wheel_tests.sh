#!/usr/bin/env bash
# tools/wheel_tests.sh PYTHON...: builds the wheel of each of these Pythons, as tools/wheel.sh --all does, and runs the Python
# tests with what it installs, in an environment of its own. With GPU=1 those that need a device, too, where neura-cuda13 is in
# build/dist.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { echo "usage: tools/wheel_tests.sh PYTHON..."; exit 2; }
quiet=(-q --disable-pip-version-check)
tools/wheel.sh --all "$@"
for python; do
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  home=build/wheels/$version/dist/environment
  "$home/bin/pip" install "${quiet[@]}" numpy pytest
  tests=(tests/python)
  if [ "${GPU:-0}" != 0 ]; then
    "$home/bin/pip" install "${quiet[@]}" build/dist/neura_cuda13-*.whl
    tests+=(tests/device/python)
  fi
  echo "the Python tests with the wheel of Python $version"
  PYTHONDONTWRITEBYTECODE=1 "$home/bin/python" -m pytest -q -p no:cacheprovider -rs "${tests[@]}"
done
