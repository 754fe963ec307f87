#!/usr/bin/env bash
# tools/test.sh BUILD [ctest arguments...]: runs the tests of a build folder and counts them, with the reason of each skip.
# GTEST_FILTER narrows down what runs within a program.
set -uo pipefail
cd "$(dirname "$0")/.."
build=${1:?usage: tools/test.sh BUILD [ctest arguments...]}
shift
rm -rf "$build/tests/results"
mkdir -p "$build/tests/results"
ctest --test-dir "$build" --output-junit tests/results/ctest.junit --output-on-failure --test-output-size-passed 200000 --no-tests=error -j "${JOBS:-$(nproc)}" "$@"
status=$?
python3 tools/test_report.py "$build/tests/results" || status=1
exit $status
