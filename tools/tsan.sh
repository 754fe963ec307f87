#!/usr/bin/env bash
# Builds and runs the threaded tests under the thread sanitizer: every test of core and autograd, and of the other floors that
# start threads those whose name says Thread, Parallel, Worker or Concurrent. With --all every test of every floor, which takes
# hours.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "${1:-}" = --all ]; then tools/build.sh tsan; else tools/build.sh tsan test_core test_autograd; fi
export TSAN_OPTIONS="suppressions=$PWD/tools/tsan.supp ${TSAN_OPTIONS:-}"
# With address randomisation at its highest, the sanitizer of GCC 12 finds its shadow memory taken.
run=(setarch -R)
setarch -R true 2>/dev/null || run=()
if [ "${1:-}" = --all ]; then
  "${run[@]}" tools/test.sh build/tsan -L unit
  exit
fi
floors=(backend ops graph device data)
! grep -q '^SERVE|[A-Z]*|ON|' build/tsan/parts || floors+=(serve)
! grep -q '^C|[A-Z]*|ON|' build/tsan/parts || floors+=(capi)
cmake --build build/tsan -j "${JOBS:-$(nproc)}" --target "${floors[@]/#/test_}"
"${run[@]}" tools/test.sh build/tsan -R '^(core|autograd)$'
GTEST_FILTER='*Thread*:*Parallel*:*Worker*:*Concurrent*' \
  "${run[@]}" tools/test.sh build/tsan -R "^($(IFS='|'; echo "${floors[*]}"))$"
