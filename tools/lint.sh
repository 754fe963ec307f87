#!/usr/bin/env bash
# clang-tidy and flake8. tools/lint.sh            what differs from the branch main, or (on it) from the commit before
#                        tools/lint.sh --since REV   tools/lint.sh --all   tools/lint.sh FILES...
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build/release}
changed() { git diff --name-only --diff-filter=d "$1" -- '*.cpp' '*.py'; git ls-files --others --exclude-standard -- '*.cpp' '*.py'; }
case ${1:-} in
  --all) files=$(git ls-files '*.cpp' '*.py') ;;
  --since) files=$(changed "$2") ;;
  '')
    base=$(git merge-base HEAD main 2>/dev/null || echo HEAD)
    [ "$base" != "$(git rev-parse HEAD)" ] || base=$(git rev-parse -q --verify HEAD~1 || echo HEAD)
    files=$(changed "$base") ;;
  *) files=$(printf '%s\n' "$@") ;;
esac
[ -e "$build/compile_commands.json" ] || cmake --preset release >/dev/null

# clang-tidy gets the flags of GCC, less those that it does not know, and less GCC's precompiled headers.
mkdir -p "$build/lint"
sed -E 's/ -(fvect-cost-model=dynamic|fpch-preprocess|Winvalid-pch|include [^ ]*cmake_pch\.hxx)//g' "$build/compile_commands.json" >"$build/lint/compile_commands.json"
# Only files that this build compiles: the others have no flags. Kernel units are compiled once for each instruction set,
# which takes minutes and shows nothing new: their flags are cut down to the baseline.
cpp=()
python=()
for file in $(sort -u <<<"$files"); do
  case $file in
    tests/conformance/run.py | bench/bench.py) ;;
    *.py) python+=("$file") ;;
    *) if grep -q "\"file\": \"$PWD/$file\"" "$build/compile_commands.json"; then cpp+=("$file"); fi ;;
  esac
done
echo "lint: ${#cpp[@]} C++ and ${#python[@]} Python files"
status=0
if [ ${#python[@]} -gt 0 ]; then flake8 --max-line-length 120 --extend-ignore E203,W503 "${python[@]}" || status=1; fi
if [ ${#cpp[@]} -gt 0 ]; then
  tidy=$(command -v clang-tidy-14 || command -v clang-tidy)
  printf '%s\n' "${cpp[@]}" | xargs -P "${JOBS:-$(nproc)}" -n 4 "$tidy" -p "$build/lint" --quiet --extra-arg=-DHWY_COMPILE_ONLY_STATIC \
    --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-ignored-optimization-argument 2> >(grep -v 'warnings\? generated' >&2) || status=1
fi
exit $status
