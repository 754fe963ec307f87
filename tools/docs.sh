#!/usr/bin/env bash
# tools/docs.sh BUILD [--check]: writes the pages that come from the tables and the list of public functions, or says
# whether they are current.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?usage: tools/docs.sh BUILD [--check]}
for page in operations functions settings; do
  cmake --build "$build" --target "${page}_page" >/dev/null
  if [ "${2:-}" = --check ]; then
    "$build/bin/${page}_page" | diff "docs/$page.md" - || { echo "docs/$page.md is out of date; run: make docs"; exit 1; }
  else
    "$build/bin/${page}_page" >"docs/$page.md"
  fi
done
# A link to a file that is not there helps nobody.
python3 tools/check_links.py
