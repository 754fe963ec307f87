// The order of a matrix's rows, by merging.
#include <cub/device/device_merge_sort.cuh>

#include "neura/backend/cuda/sort/sort.cuh"

namespace neura::cuda {
namespace {

struct RowBefore {
  const char* x;
  std::int64_t columns;
  Order order;
  __device__ bool operator()(std::int64_t a, std::int64_t b) const {
    const char *p = x + a * columns * order.bytes, *q = x + b * columns * order.bytes;
    for (std::int64_t j = 0; j < columns; ++j, p += order.bytes, q += order.bytes) {
      const auto u = key_at<std::uint64_t>(p, order), v = key_at<std::uint64_t>(q, order);
      if (u != v) return u < v;
    }
    return a < b;
  }
};
__global__ void __launch_bounds__(kThreads) number(std::int64_t n, std::int64_t* to) {
  const std::int64_t i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) to[i] = i;
}

}  // namespace

void rows(Context& c, View x, View indices) {
  const std::int64_t n = x.size(0);
  if (!n) return;
  if (n >> 31)
    return c.fail(fail(DeviceFailure::absent, "expected fewer than 2^31 rows on cuda, got %lld; sort on the cpu",
                       static_cast<long long>(n)));
  const int index = c.device.index;
  const OnDevice on(index);
  const cudaStream_t stream = current_stream(index);
  auto* const to = indices.as<std::int64_t>();
  number<<<unsigned((n + kThreads - 1) / kThreads), kThreads, 0, stream>>>(n, to);
  const RowBefore before{x.data, x.size(1), order_of(x.dtype(), false)};
  Scratch scratch(index, stream);
  const auto sorted = [&](void* room, std::size_t& bytes) {
    return failed(cub::DeviceMergeSort::SortKeys(room, bytes, to, std::uint32_t(n), before, stream), "unique");
  };
  std::size_t bytes = 0;
  if (Failed f = sorted(nullptr, bytes)) return c.fail(f);
  char* room;
  if (Failed f = scratch.take(bytes, &room)) return c.fail(f);
  if (Failed f = sorted(room, bytes)) return c.fail(f);
  c.fail(launched(index));
}

}  // namespace neura::cuda
