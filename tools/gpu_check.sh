#!/usr/bin/env bash
# tools/gpu_check.sh [build|tests|sanitizer|bench]...: everything about CUDA that wants a device; without arguments all parts.
# Results go to the folder GPU_RESULTS, or build/gpu. CMAKE_ARGS is passed to CMake. Each part fits into ten minutes.
set -uo pipefail
cd "$(dirname "$0")/.."
results=${GPU_RESULTS:-build/gpu}
mkdir -p "$results"
failed=()
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(build tests sanitizer bench)

build() {
  # shellcheck disable=SC2086
  cmake -B build/cuda -G Ninja -DCMAKE_BUILD_TYPE=Release -DNEURA_CUDA=ON -DNEURA_PYTHON=OFF -DNEURA_EXAMPLES=OFF \
    -DNEURA_CLI=OFF -DNEURA_DATA=OFF -DNEURA_IO=OFF ${CMAKE_ARGS:-} >"$results/cmake.log" 2>&1 || return 1
  cmake --build build/cuda --target neura neura_cuda test_cuda neura_cuda_bench >"$results/build.log" 2>&1
}
tests() { build/cuda/bin/tests/cuda --gtest_brief=1 2>&1 | tee "$results/tests.log"; return "${PIPESTATUS[0]}"; }
sanitizer() {  # a sample: device code under these tools is a hundred times slower
  for tool in memcheck racecheck synccheck; do
    compute-sanitizer --tool $tool --error-exitcode 9 build/cuda/bin/tests/cuda --gtest_brief=1 \
      --gtest_filter='CudaDevice.Copies*:CudaReductions.*:CudaProducts.*' >"$results/$tool.log" 2>&1 || return 1
    tail -1 "$results/$tool.log"
  done
}
bench() {
  build/cuda/bin/neura_cuda_bench --benchmark_format=json --benchmark_min_time=0.2 >"$results/cuda.json" 2>/dev/null || return 1
  python3 bench/cuda_torch.py "$results/cuda.json" >"$results/cuda.md" && cat "$results/cuda.md"
}

for part in "${parts[@]}"; do
  start=$SECONDS
  if "$part"; then echo "--- $part: ok, $((SECONDS - start)) s"
  else
    echo "--- $part: FAILED, $((SECONDS - start)) s"
    failed+=("$part")
  fi
done
[ ${#failed[@]} -eq 0 ]
