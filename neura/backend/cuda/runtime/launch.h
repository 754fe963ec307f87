// How kernels are started: one call, which checks what it starts, and one place where numbers of elements become
// blocks.
#pragma once
#include <cuda_runtime_api.h>

#include <type_traits>

#include "neura/backend/cuda/runtime/failure.h"

namespace neura::cuda {

inline constexpr unsigned kGridThreads = 256;  // of a block; kThreads of the kernels

constexpr std::int64_t ceiling_of(std::int64_t n, std::int64_t each) { return (n + each - 1) / each; }

// Blocks and their threads. Numbers that a device does not have are refused when the kernel is started.
struct Grid {
  std::int64_t x = 1, y = 1, z = 1;  // blocks; if one of them is 0, nothing is started
  dim3 threads = kGridThreads;
  std::size_t shared = 0;  // bytes, besides those that the kernel declares
};
// A thread for every `each` of n elements.
inline Grid grid_over(std::int64_t n, std::int64_t each = 1) {
  return {.x = ceiling_of(n, std::int64_t(kGridThreads) * each)};
}
// The same, but no more blocks than keep the current device busy: for grid-stride kernels.
Grid grid_striding(std::int64_t n, std::int64_t each = 1);

void start(const void* kernel, const Grid&, cudaStream_t, void** arguments);

// kernel<<<grid>>>(arguments...). If it cannot be started, launched() (failure.h) tells why, with which every entry
// ends; until then this thread starts nothing more, because it would work on what was never written.
template <class... P> void launch_kernel(void (*kernel)(P...), const Grid& grid, cudaStream_t stream,
                                         const std::type_identity_t<std::remove_const_t<P>>&... arguments) {
  void* addresses[] = {const_cast<void*>(static_cast<const void*>(&arguments))..., nullptr};
  start(reinterpret_cast<const void*>(kernel), grid, stream, addresses);
}

Failed not_started();  // why the first kernel since the last question was not, or null

}  // namespace neura::cuda
