// Masks for cuDNN's attention: rows that hide every key would make NaN there, and give zeros here.
#include "neura/backend/cuda/product/attention.h"
#include "neura/backend/cuda/runtime/memory.cuh"
#include "neura/backend/cuda/runtime/stream.h"

namespace neura::cuda {
namespace {

constexpr int kRows = kThreads / 32;  // of a block: a warp for each

struct Mask {
  const char* data;
  DType dtype;
  std::uint8_t bytes;
  std::int64_t step[4];  // elements
};

__global__ void __launch_bounds__(kThreads) make(const Mask m, const Bias b, std::int64_t rows) {
  const std::int64_t row = std::int64_t(blockIdx.x) * kRows + threadIdx.x / 32;
  if (row >= rows) return;
  const int lane = int(threadIdx.x) % 32;
  const std::int64_t query = row % b.sizes[2], head = row / b.sizes[2] % b.sizes[1],
                     batch = row / b.sizes[2] / b.sizes[1];
  const char* const from = m.data + (batch * m.step[0] + head * m.step[1] + query * m.step[2]) * m.bytes;
  char* const to = b.data + row * b.pitch * m.bytes;
  bool seen = false;
  for (std::int64_t key = lane; key < b.pitch; key += 32) {
    const float v = key < b.sizes[3] ? load_simple<float>(from + key * m.step[3] * m.bytes, m.dtype, 0) : -INFINITY;
    seen |= v != -INFINITY;
    store_simple<float>(to + key * m.bytes, m.dtype, 0, v);
  }
  seen = __any_sync(~0u, seen);
  if (!lane) b.hidden[row] = !seen;
  if (seen) return;
  for (std::int64_t key = lane; key < b.pitch; key += 32) store_simple<float>(to + key * m.bytes, m.dtype, 0, 0);
}

struct Results {
  char* y;
  float* sums;
  std::int64_t heads, queries, bytes;  // of a row of y
};
__global__ void __launch_bounds__(kThreads) clear(const Bias b, const Results r, std::int64_t rows) {
  const std::int64_t row = std::int64_t(blockIdx.x) * kRows + threadIdx.x / 32;
  if (row >= rows) return;
  const std::int64_t query = b.sizes[2] == 1 ? 0 : row % r.queries,
                     head = b.sizes[1] == 1 ? 0 : row / r.queries % r.heads,
                     batch = b.sizes[0] == 1 ? 0 : row / r.queries / r.heads;
  if (!b.hidden[(batch * b.sizes[1] + head) * b.sizes[2] + query]) return;
  const int lane = int(threadIdx.x) % 32;
  for (std::int64_t i = lane; i < r.bytes / 2; i += 32)
    reinterpret_cast<std::uint16_t*>(r.y + row * r.bytes)[i] = 0;  // of halves
  if (!lane) r.sums[row] = INFINITY;
}

unsigned blocks_for(std::int64_t rows) { return unsigned((rows + kRows - 1) / kRows); }

}  // namespace

Failed make_bias(int index, const View& mask, const Bias& b) {
  Mask m{mask.data, mask.dtype(), std::uint8_t(size_of(mask.dtype())), {}};
  for (int d = 1; d <= std::min(mask.rank(), 4); ++d)
    m.step[4 - d] = mask.size(mask.rank() - d) == 1 ? 0 : mask.stride(mask.rank() - d);
  const std::int64_t rows = b.sizes[0] * b.sizes[1] * b.sizes[2];
  make<<<blocks_for(rows), kThreads, 0, current_stream(index)>>>(m, b, rows);
  return launched(index);
}
Failed clear_hidden(int index, const Bias& b, const View& y, const View& sums) {
  const int r = y.rank();
  const Results results{y.data, sums.as<float>(), r > 2 ? y.size(r - 3) : 1, y.size(r - 2),
                        y.size(r - 1) * size_of(y.dtype())};
  clear<<<blocks_for(sums.numel()), kThreads, 0, current_stream(index)>>>(b, results, sums.numel());
  return launched(index);
}

}  // namespace neura::cuda
