#!/usr/bin/env bash
# clang-tidy and flake8. tools/lint.sh            what differs from the branch main, or (on it) from the commit before
#                        tools/lint.sh --since REV   tools/lint.sh --all   tools/lint.sh FILES...
# --all takes headers as sources, too: what a source does not use of them is looked at as well. It takes an hour of a core
# or two. Kernels of CUDA are parsed as the host's part of them, if the build has them: tools/lint_cuda.h.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build/release}
kinds=('*.cpp' '*.cu' '*.py')
changed() { git diff --name-only --diff-filter=d "$1" -- "${kinds[@]}"; git ls-files --others --exclude-standard -- "${kinds[@]}"; }
case ${1:-} in
  --all) files=$(git ls-files "${kinds[@]}" '*.h') ;;
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
sed -E 's/ -(fvect-cost-model=dynamic|fpch-preprocess|Winvalid-pch|include [^ ]*cmake_pch\.hxx)//g' "$build/compile_commands.json" |
  python3 -c 'import json, sys; json.dump([e for e in json.load(sys.stdin) if not e["file"].endswith(".cu")], sys.stdout, indent=0)' \
    >"$build/lint/compile_commands.json"  # headers are taken as their neighbours are
# Only files that this build compiles: the others have no flags. Kernel units are compiled once for each instruction set,
# which takes minutes and shows nothing new: their flags are cut down to the baseline.
cpp=()
headers=()
cuda=()
python=()
built() { grep -q "\"file\": \"$PWD/$1\"" "$build/compile_commands.json"; }
for file in $(sort -u <<<"$files"); do
  case $file in
    tests/conformance/run.py | bench/bench.py) ;;
    *.py) python+=("$file") ;;
    tests/samples/*.h | tests/install/*.h | tools/lint_cuda.h) ;;
    neura/backend/cuda/*.h) if built neura/backend/cuda/copy.cu; then headers+=("$file"); fi ;;
    # One that may be included twice is a part of units, which show it.
    *.h) if grep -q '#pragma once' "$file"; then headers+=("$file"); fi ;;
    # Clang 14 does not parse CUB, nor a lambda over memory of a block where that memory is a variable.
    neura/backend/cuda/sort/sort_short.cu) ;;
    *.cu) if built "$file" && ! grep -q '<cub/' "$file"; then cuda+=("$file"); fi ;;
    *) if built "$file"; then cpp+=("$file"); fi ;;
  esac
done
echo "lint: ${#cpp[@]} C++, ${#headers[@]} headers, ${#cuda[@]} CUDA and ${#python[@]} Python files"
status=0
if [ ${#python[@]} -gt 0 ]; then flake8 --max-line-length 120 --extend-ignore E203,W503 "${python[@]}" || status=1; fi
tidy=$(command -v clang-tidy-14 || command -v clang-tidy)
each=(xargs -P "${JOBS:-$(nproc)}")
by_database=("$tidy" -p "$build/lint" --quiet --extra-arg=-DHWY_COMPILE_ONLY_STATIC --extra-arg=-Wno-unknown-warning-option
  --extra-arg=-Wno-ignored-optimization-argument)
quietly() { "$@" 2> >(grep -v 'warnings\? generated' >&2); }
if [ ${#cpp[@]} -gt 0 ]; then printf '%s\n' "${cpp[@]}" | quietly "${each[@]}" -n 4 "${by_database[@]}" || status=1; fi
if [ ${#headers[@]} -gt 0 ]; then  # what a header says by using-declarations is for others
  printf '%s\n' "${headers[@]}" | quietly "${each[@]}" -n 4 "${by_database[@]}" --extra-arg=-Wno-pragma-once-outside-header \
    --checks=-misc-unused-using-decls,-misc-unused-alias-decls || status=1
fi
if [ ${#cuda[@]} -gt 0 ]; then
  # A constant stream is a constant handle; names of shared memory repeat; a pragma before `for` shifts its indentation;
  # what assembly waits for is not seen.
  toolkit=$(grep -om1 -- '-isystem=[^ ]*/include' "$build/compile_commands.json")
  toolkit=${toolkit#*=}
  printf '%s\n' "${cuda[@]}" | quietly "${each[@]}" -I{} "$tidy" --quiet {} \
    --checks=-misc-misplaced-const,-readability-redundant-declaration,-readability-misleading-indentation,-bugprone-infinite-loop \
    -- -x cuda --cuda-host-only -nocudalib -nocudainc -Xclang -fcuda-allow-variadic-functions -std=c++20 -Wno-everything \
    -I. -I"$build" -isystem "$toolkit" -isystem "$toolkit/cccl" -include tools/lint_cuda.h || status=1
fi
exit $status
