#include "neura/backend/cuda/runtime/launch.h"

#include <algorithm>
#include <atomic>

namespace neura::cuda {
namespace {

thread_local Failed refused = nullptr;

int multiprocessors() {  // of the current device
  constexpr int devices = 16;
  static std::atomic<int> known[devices];
  int index = 0, n = 0;
  if (cudaGetDevice(&index) != cudaSuccess) return cudaGetLastError(), 1;
  std::atomic<int>& slot = known[index % devices];
  if ((n = slot.load(std::memory_order_relaxed))) return n;
  if (cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, index) != cudaSuccess) cudaGetLastError(), n = 1;
  slot.store(n, std::memory_order_relaxed);
  return n;
}

// What the device would not start, in words: it says only that it will not. None of it is the user's doing.
Failed explain(const void* kernel, const Grid& g, cudaError_t e) {
  cudaFuncAttributes a{};
  if (cudaFuncGetAttributes(&a, kernel) != cudaSuccess) return cudaGetLastError(), failed(e, "launch");
  const std::uint64_t threads = std::uint64_t(g.threads.x) * g.threads.y * g.threads.z;
  if (!threads || threads > std::uint64_t(a.maxThreadsPerBlock))
    return fail(DeviceFailure::device,
                "expected a kernel with 1 to %d threads in a block, got %llu; report this call and its sizes",
                a.maxThreadsPerBlock, static_cast<unsigned long long>(threads));
  if (g.shared > std::size_t(a.maxDynamicSharedSizeBytes))
    return fail(
        DeviceFailure::device,
        "expected a kernel with at most %d bytes of shared memory for a block, got %zu; report this call and its "
        "sizes",
        a.maxDynamicSharedSizeBytes, g.shared);
  return failed(e, "launch");
}

}  // namespace

Grid grid_striding(std::int64_t n, std::int64_t each) {
  constexpr std::int64_t resident = 2048 / kGridThreads, turns = 4;  // blocks of a multiprocessor
  Grid g = grid_over(n, each);
  g.x = std::min(g.x, multiprocessors() * resident * turns);
  return g;
}

void start(const void* kernel, const Grid& g, cudaStream_t stream, void** arguments) {
  if (refused || !g.x || !g.y || !g.z) return;
  if (g.x > INT32_MAX || g.y > 65535 || g.z > 65535) {
    refused =
        fail(DeviceFailure::absent,
             "expected work for at most 2147483647 x 65535 x 65535 blocks of threads, got %lld x %lld x %lld; split "
             "the tensors",
             static_cast<long long>(g.x), static_cast<long long>(g.y), static_cast<long long>(g.z));
    return;
  }
  const dim3 blocks(unsigned(g.x), unsigned(g.y), unsigned(g.z));
  const cudaError_t e = cudaLaunchKernel(kernel, blocks, g.threads, arguments, g.shared, stream);
  if (e == cudaSuccess) return;
  cudaGetLastError();  // else the next call reports it again
  refused = explain(kernel, g, e);
}

Failed not_started() {
  const Failed f = refused;
  refused = nullptr;
  return f;
}

}  // namespace neura::cuda
