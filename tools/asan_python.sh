#!/usr/bin/env bash
# The Python package under the address and undefined-behaviour sanitizers: the library and the module are built with them in
# build/asan-python, and the Python tests run in a Python that has the sanitizers' run time preloaded. What Python itself keeps
# until the end is no leak of ours: leaks are looked for by the C++ tests.
#
#     tools/asan_python.sh [pytest arguments]    by default all of tests/python
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/asan-python
tools/setup.sh
tools/python.sh
cmake --preset asan -B $build -DNEURA_PYTHON=ON -DNEURA_TESTS=OFF -DNEURA_CLI=OFF -DNEURA_EXAMPLES=OFF
cmake --build $build -j "${JOBS:-$(nproc)}" --target neura_python
rm -f $build/report.*
file() { "${CXX:-c++}" -print-file-name="$1"; }
status=0  # the C++ library is preloaded, too: the sanitizer looks for the throwing of exceptions when it starts
env LD_PRELOAD="$(file libasan.so) $(file libubsan.so) $(file libstdc++.so)" PYTHONPATH=$build/site PYTHONDONTWRITEBYTECODE=1 \
  PYTHONMALLOC=malloc ASAN_OPTIONS="detect_leaks=0 allocator_may_return_null=1 log_path=$PWD/$build/report" \
  UBSAN_OPTIONS="print_stacktrace=1 log_path=$PWD/$build/report" \
  build/python/bin/python -m pytest -q -p no:cacheprovider "${@:-tests/python}" || status=$?
if compgen -G "$build/report.*" >/dev/null; then
  cat $build/report.*
  status=1
fi
exit $status
