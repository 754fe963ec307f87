#!/usr/bin/env bash
# Builds the library and tests for WebAssembly by Emscripten and runs them in node, on Debian: tools/wasm.sh. Where no package
# index has the tools, it says so and ends with 77. GTEST_FILTER chooses other tests than the selection.
set -euo pipefail
cd "$(dirname "$0")/.."
left_out() { echo "left out: $1"; exit 77; }

tools_here() { command -v em++ >/dev/null && command -v node >/dev/null && [ -e /usr/src/googletest/googletest ]; }
tools_here || timeout 600 tools/setup.sh --also emscripten googletest || true
tools_here || left_out "no package index offers emscripten, node and googletest"

mkdir -p build
cmake --preset wasm >build/wasm-configure.log || { cat build/wasm-configure.log; exit 1; }
floors=(core backend ops autograd)
cmake --build build/wasm -j "${JOBS:-$(nproc)}" --target neura neura_nn neura_optim train_circle "${floors[@]/#/test_}"

# No function of CUDA, called or defined; nor the name of one, by which it could be found.
emnm build/wasm/lib/libneura*.a >build/wasm/symbols 2>/dev/null
foreign=$(grep -cE ' (cuda|cublas|cudnn|nccl|nvrtc|cu[A-Z][a-z])' build/wasm/symbols) || true
named=$(grep -aciE 'nvrtcCompile|cublas|cudnnCreate|libcuda|libnvrtc' build/wasm/bin/train_circle.wasm) || true
echo "of $(wc -l <build/wasm/symbols) symbols of CUDA: $foreign, names: $named; train_circle.wasm: $(stat -c %s build/wasm/bin/train_circle.wasm) bytes"
grep -q ' T .*neura' build/wasm/symbols
[ "$foreign$named" = 00 ]

# Left out: what starts threads; what is about more bytes than addresses of 32 bits reach; and stored answers in which the
# standard library of GCC chooses among equal elements (topk), as this one does not; and where CUDA's libraries are looked for.
left='*Thread*:*Parallel*:*Worker*:*Concurrent*:Memory.EverythingComesBack:Targets.Loading*'
left+=':HugeSizes.*:Sums.OfManySmallIntegersDoNotOverflow:Refusals.Resizing:Refusals.SortingAndCounting:SortConformance.StoredAnswers:Packages.*'
export GTEST_FILTER=${GTEST_FILTER:-*:-$left}
tools/test.sh build/wasm -R "^(train_circle|$(IFS='|'; echo "${floors[*]}"))$"
unset GTEST_FILTER
tools/web.sh
