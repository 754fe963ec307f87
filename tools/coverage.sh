#!/usr/bin/env bash
# Builds so that every line counts, runs the C++ tests, and says which lines and which errors they execute.
#   tools/coverage.sh [arguments of tools/coverage.py, such as --write docs/coverage.md or --check]
set -euo pipefail
cd "$(dirname "$0")/.."
tools/build.sh coverage tests
find build/coverage -name '*.gcda' -delete
tools/test.sh build/coverage -L unit
tools/coverage.py build/coverage "$@"
