#include "tests/cuda/launch_kernels.h"

#include "neura/backend/cuda/runtime/launch.h"

namespace neura::test {
namespace {

using namespace cuda;

struct Line {  // by value, as the operands of kernels are
  float* x;
  std::int64_t n, each;
};
__global__ void twice(const __grid_constant__ Line l, float step) {
  const std::int64_t threads = std::int64_t(gridDim.x) * blockDim.x;
  std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::int64_t k = 0; i < l.n && (k < l.each || !l.each); ++k, i += threads) l.x[i] = l.x[i] * 2 + step * float(i);
}
__global__ void once(float* x) {
  if (blockIdx.x + threadIdx.x == 0) *x += 1;
}
Failed finished() {
  if (Failed f = not_started()) return f;
  return failed(cudaDeviceSynchronize(), "launch");
}

}  // namespace

Failed twice_plus(float* x, std::int64_t n, std::int64_t each, bool striding) {
  const Grid grid = striding ? grid_striding(n, each) : grid_over(n, each);
  launch_kernel(twice, grid, nullptr, Line{x, n, striding ? 0 : each}, 1);
  return finished();
}
Failed plus_one(float* x, std::int64_t blocks, unsigned threads, std::size_t shared) {
  launch_kernel(once, {.x = blocks, .threads = threads, .shared = shared}, nullptr, x);
  return finished();
}
Failed plus_one_after_failure(float* x) {
  launch_kernel(once, {.threads = 4096u}, nullptr, x);
  launch_kernel(once, {}, nullptr, x);
  return finished();
}

std::int64_t blocks_over(std::int64_t n, std::int64_t each) { return grid_over(n, each).x; }
std::int64_t blocks_striding(std::int64_t n, std::int64_t each) { return grid_striding(n, each).x; }

}  // namespace neura::test
