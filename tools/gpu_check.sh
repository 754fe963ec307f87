#!/usr/bin/env bash
# tools/gpu_check.sh [PART]...: everything about CUDA that wants a device; without arguments all parts, each of which fits
# into ten minutes:
#   build        what the others need, into GPU_BUILD (build/cuda); CMAKE_ARGS is passed to CMake
#   tests        every row and operation against the CPU, with derivatives; streams, memory, graphs, errors
#   python       what the package does on a device: neura.cuda, scopes, streams, graphs
#   examples     the programs of examples/ that are about devices
#   conformance  PyTorch's stored cases with --device cuda
#   sanitizer    memcheck, racecheck and synccheck on a sample of each family of kernels; memcheck on the tests of memory,
#                copies and streams; and whether the allocator leaves anything. SANITIZERS names some of them alone
#   soak         allocates, switches streams, runs out of memory, meets bad indices: SOAK_SECONDS (300) of it
#   architectures  for which the library has kernels, and some of them from its PTX, as a later device would
#   bench        bench/cuda_bench.cpp against PyTorch; and, where BENCH names bench/bench.py, its cases from Python, PyTorch
#                eager and compiled; and bench/cudnn_forward.py
# Results go to the folder GPU_RESULTS (build/gpu). PYTHON runs Neura's package, TORCH_PYTHON (python3) PyTorch.
set -uo pipefail
cd "$(dirname "$0")/.."
results=${GPU_RESULTS:-build/gpu}
out=${GPU_BUILD:-build/cuda}
mkdir -p "$results"
failed=()
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(build tests python examples conformance sanitizer architectures soak bench)
jobs=$(($(nproc) < 8 ? $(nproc) : 8))
export NEURA_CUDNN_ALLOW_TF32=0 NEURA_MATMUL_ALLOW_TF32=0  # float32 is compared as float32

build() {
  # shellcheck disable=SC2086
  cmake -B "$out" -G Ninja -DCMAKE_BUILD_TYPE=Release -DNEURA_CUDA=ON ${CMAKE_ARGS:-} >"$results/cmake.log" 2>&1 || return 1
  cmake --build "$out" >"$results/build.log" 2>&1
}
shard() { GTEST_TOTAL_SHARDS=$jobs GTEST_SHARD_INDEX=$1 "$out/bin/tests/cuda" --gtest_brief=1 >"$results/tests.$1.log" 2>&1; }
tests() {
  local pids=() bad=0 i
  for ((i = 0; i < jobs; ++i)); do shard "$i" & pids+=($!); done
  for i in "${pids[@]}"; do wait "$i" || bad=1; done
  cat "$results"/tests.*.log >"$results/tests.log" && rm "$results"/tests.*.log
  grep -hE '^\[  FAILED  \] .*\(' "$results/tests.log" | sort
  awk '/^\[  PASSED  \]/ { p += $4 } /^\[  SKIPPED \] [0-9]+ test/ { s += $4 } /^\[  FAILED  \] .*ms\)$/ { ++f }
    /^contract:/ { c += $2 }
    END { printf "%d tests passed, %d skipped, %d failed; %d cases were compared with the CPU\n", p, s, f, c }' "$results/tests.log"
  grep -hE '^(overlap|priority):' "$results/tests.log"  # what was measured
  grep -A1 -hE 'Skipped$' "$results/tests.log" | grep -vE '^--|Skipped$' | sort | uniq -c  # and why
  return "$bad"
}
python() {
  # Defaults are tested too. What hangs shows its stacks after a minute, and is ended after five.
  env -u NEURA_CUDNN_ALLOW_TF32 -u NEURA_MATMUL_ALLOW_TF32 PYTHONPATH="$out/site" timeout -k 10 300 \
    "${PYTHON:-build/python/bin/python}" -m pytest -q -p no:cacheprovider -o faulthandler_timeout=60 -rs --tb=short \
    tests/python/cuda_test.py tests/device/python 2>&1 | tee "$results/python.log"
  [ "${PIPESTATUS[0]}" -eq 0 ] && ! grep -q 'no CUDA device' "$results/python.log"
}
examples() {
  local name bad=0
  for name in cuda_basics_example gpu_operations_example basic_mlp_gpu_async; do
    if timeout -k 10 120 "$out/bin/examples/$name" --quick >"$results/$name.log" 2>&1 && ! grep -q '^nothing to show' "$results/$name.log"
    then echo "$name: $(tail -1 "$results/$name.log")"
    else
      bad=1
      echo "$name: FAILED" && tail -5 "$results/$name.log"
    fi
  done
  return "$bad"
}
conformance() {
  NEURA_CUDA_LAUNCH_BLOCKING=1 "${PYTHON:-build/python/bin/python}" tools/conformance.py "$out/site" --device cuda --jobs "$(nproc)" 2>&1 | tee "$results/conformance.log"
  return "${PIPESTATUS[0]}"
}
checked() {  # checked NAME FILTER OPTION...: some tests under compute-sanitizer, in shards
  local name=$1 filter=$2 bad=0 i pids=()
  for ((i = 0; i < jobs; ++i)); do
    GTEST_TOTAL_SHARDS=$jobs GTEST_SHARD_INDEX=$i compute-sanitizer "${@:3}" --error-exitcode 9 "$out/bin/tests/cuda" \
      --gtest_brief=1 --gtest_filter="${SANITIZE:-$filter}" >"$results/$name.$i.log" 2>&1 & pids+=($!)
  done
  for i in "${pids[@]}"; do wait "$i" || bad=1; done
  cat "$results/$name".*.log >"$results/$name.log" && rm "$results/$name".*.log
  awk -v name="$name" '/ERROR SUMMARY/ { e += $4 } /RACECHECK SUMMARY/ { e += $4 } /^\[  PASSED  \]/ { p += $4 }
    END { printf "%s: %d errors in %d tests\n", name, e, p }' "$results/$name.log"
  return "$bad"
}
sanitizer() {
  # Every operation and both its derivatives, on small operands: device code is a hundred times slower here.
  local kernels='*ResultsAndDerivativesAreTheCpus*:CudaDevice.Copies*:CudaReductions.*:CudaProducts.*' bad=0 tool
  # Those of memory ask for what there is not, and see that it is refused: the status of a call is no finding there.
  local memory='CudaMemory.*:CudaCopies.*:CudaStreams.*:CudaDevice.Copies*:CudaDevice.Memory*'
  # Handles of cuBLAS and the place of wrong indices live as long as the process, on purpose: tests without either.
  local leaks='CudaMemory.*:CudaCopies.Of*:CudaDevice.CopiesOfEverySize*:CudaDevice.Memory*'
  for tool in ${SANITIZERS:-memcheck racecheck synccheck memory leaks}; do
    case $tool in
      memory) NEURA_SANITIZER=1 checked memory "$memory" --tool memcheck --report-api-errors no || bad=1 ;;
      leaks)
        NEURA_SANITIZER=leaks checked leaks "$leaks" --tool memcheck --report-api-errors no --leak-check full || bad=1
        awk '/LEAK SUMMARY/ { ++n; l += $4 } END { printf "leaks: %d bytes, %d processes looked\n", l, n; exit !n || l }' \
          "$results/leaks.log" || bad=1 ;;
      *) NEURA_SANITIZER=1 checked "$tool" "$kernels" --tool "$tool" || bad=1 ;;
    esac
  done
  return "$bad"
}
soak() {
  NEURA_SOAK_SECONDS=${SOAK_SECONDS:-300} "$out/bin/tests/cuda" --gtest_brief=1 --gtest_filter='CudaSoak.*' 2>&1 | tee "$results/soak.log"
  return "${PIPESTATUS[0]}"
}
architectures() {  # the driver translates the PTX again, once for each file of kernels; cuBLAS has none, so no products
  if command -v cuobjdump >/dev/null; then
    cuobjdump --list-elf --list-ptx "$out/lib/libneura_cuda.so" | grep -oE 'sm_[0-9]+[a-z]?\.(cubin|ptx)' | sort | uniq -c
  fi
  CUDA_FORCE_PTX_JIT=1 CUDA_CACHE_DISABLE=1 NEURA_CUDNN=0 "$out/bin/tests/cuda" --gtest_brief=1 \
    --gtest_filter="${PTX_TESTS:-CudaReductions.*:CudaDevice.CopiesConvertAndKeepStrides:CudaDevice.PrintsAndGivesItems}" 2>&1 |
    tee "$results/ptx.log"
  [ "${PIPESTATUS[0]}" -eq 0 ] && grep -q '^\[  PASSED  \] [1-9]' "$results/ptx.log" && ! grep -q 'SKIPPED' "$results/ptx.log"
}
bench() {
  local torch=${TORCH_PYTHON:-python3}
  "$out/bin/neura_cuda_bench" --benchmark_format=json --benchmark_min_time=0.2 >"$results/cuda.json" 2>/dev/null || return 1
  $torch bench/cuda_torch.py "$results/cuda.json" >"$results/cuda.md" && cat "$results/cuda.md" || return 1
  PYTHONPATH=$out/site ${PYTHON:-build/python/bin/python} bench/cudnn_forward.py >"$results/cudnn.md" && cat "$results/cudnn.md" || return 1
  [ -n "${BENCH:-}" ] || return 0
  unset NEURA_CUDNN_ALLOW_TF32 NEURA_MATMUL_ALLOW_TF32
  PYTHONPATH=$out/site ${PYTHON:-build/python/bin/python} "$BENCH" --backend neura --device cuda --json "$results/neura.json" >"$results/neura.log" 2>&1
  $torch "$BENCH" --backend torch --device cuda --json "$results/torch.json" >"$results/torch.log" 2>&1
  rm -f "$results/compiled.json"
  $torch bench/compiled.py "$BENCH" "$results/compiled.json"
  local peers=("$results/torch.json")
  [ ! -e "$results/compiled.json" ] || peers+=("$results/compiled.json")
  $torch "$BENCH" --compare "$results/neura.json" "${peers[@]}" | tee "$results/compare.txt"
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
