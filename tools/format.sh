#!/usr/bin/env bash
# tools/format.sh [--check]: clang-format (version 14, whose answers differ from others') over C++, black over Python.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t cpp < <(git ls-files --cached --others --exclude-standard '*.h' '*.cpp' '*.cu' '*.cuh')
mapfile -t python < <(git ls-files --cached --others --exclude-standard '*.py' ':!tests/conformance/run.py' ':!bench/bench.py')
clang_format=$(command -v clang-format-14 || command -v clang-format)
if [ "${1:-}" = --check ]; then
  "$clang_format" --dry-run --Werror "${cpp[@]}"
  black -q -l 120 --check --diff "${python[@]}"
else
  "$clang_format" -i "${cpp[@]}"
  black -q -l 120 "${python[@]}"
fi
