#!/usr/bin/env bash
# tools/docs.sh BUILD [--check]: writes the pages that come from the tables, or says whether they are current.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?usage: tools/docs.sh BUILD [--check]}
cmake --build "$build" --target operations_page >/dev/null
if [ "${2:-}" = --check ]; then
  "$build/bin/operations_page" | diff docs/operations.md - || { echo "docs/operations.md is out of date; run: make docs"; exit 1; }
else
  "$build/bin/operations_page" >docs/operations.md
fi
# A link to a file that is not there helps nobody.
python3 tools/check_links.py
