#!/usr/bin/env bash
# The Python package under the thread sanitizer: the library and the module are built with it in build/tsan-python, and the tests
# of threads run in a Python that has the sanitizer's run time preloaded. Python itself is not instrumented; the sanitizer sees
# its lock, and no report had to be suppressed.
#
#     tools/tsan_python.sh [pytest arguments]    by default the tests of threads
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/tsan-python
tools/setup.sh
tools/python.sh
cmake --preset tsan -B $build -DNEURA_PYTHON=ON -DNEURA_TESTS=OFF -DNEURA_CLI=OFF -DNEURA_EXAMPLES=OFF
cmake --build $build -j "${JOBS:-$(nproc)}" --target neura_python
tests=("$@")
if [ $# -eq 0 ]; then
  tests=(tests/python/{threads,module_training,data_workers,data_loader,ownership,autograd_graph,module_call,module_gc}_test.py)
  tests+=(-k "thread or Thread or network or left or stream or batches or hook or lock or objects")
fi
# With address randomisation at its highest, the sanitizer of GCC 12 finds its shadow memory taken.
run=(setarch -R)
setarch -R true 2>/dev/null || run=()
rm -f $build/race.*
runtime=$("${CXX:-c++}" -print-file-name=libtsan.so)
status=0
env LD_PRELOAD="$runtime" PYTHONPATH=$build/site PYTHONDONTWRITEBYTECODE=1 \
  TSAN_OPTIONS="log_path=$PWD/$build/race exitcode=66 die_after_fork=0" \
  "${run[@]}" build/python/bin/python -m pytest -q -p no:cacheprovider "${tests[@]}" || status=$?
if compgen -G "$build/race.*" >/dev/null; then
  cat $build/race.*
  status=1
fi
exit $status
