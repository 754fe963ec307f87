// Order along a dimension, and places in a sequence that is in order.
#include "neura/backend/cuda/sort/sort.h"

#include <algorithm>

#include "neura/backend/cuda/runtime/memory.cuh"

namespace neura::cuda {

Order order_of(DType d, bool descending) {
  Order o{Order::signed_whole, std::uint8_t(size_of(d)), descending, 0};
  if (d == DType::boolean) o.kind = Order::boolean;
  else if (d == DType::uint8) o.kind = Order::whole;
  else if (is_floating(d)) o.kind = Order::floating;
  o.infinity = d == DType::float64   ? 0x7ff0000000000000
               : d == DType::float32 ? 0x7f800000
               : d == DType::float16 ? 0x7c00
                                     : 0x7f80;
  return o;
}

void select_sorted(Context& c, Selection selection, int dim, std::int64_t k, View x, View values, View indices) {
  std::int64_t outer = 1, n = 1, inner = 1;
  for (int d = 0; d < x.rank(); ++d) (d < dim ? outer : d == dim ? n : inner) *= x.size(d);
  const std::int64_t lines = outer * inner, room = lines ? indices.spec->numel / lines : 0;
  if (!room) return;
  if (n >> 31 || lines >> 31)
    return c.fail(fail(DeviceFailure::absent,
                       "expected fewer than 2^31 lines of fewer than 2^31 elements on cuda, got "
                       "%lld of %lld; sort on the cpu",
                       static_cast<long long>(lines), static_cast<long long>(n)));
  const OnDevice on(c.device.index);
  const cudaStream_t stream = current_stream(c.device.index);
  const SortCall r{x.data,
                   values.data,
                   indices.as<std::int64_t>(),
                   order_of(x.dtype(), selection == Selection::largest),
                   selection,
                   std::uint32_t(n),
                   std::uint32_t(n),
                   std::uint32_t(room),
                   std::uint32_t(k),
                   std::uint32_t(lines),
                   division(std::uint32_t(inner))};
  if (Failed f = selects(r)                      ? sort_selected(c.device.index, r, stream)
                 : r.n <= most_of_block(r.order) ? sort_short(r, stream)
                                                 : sort_long(c.device.index, r, stream))
    return c.fail(f);
  c.fail(launched(c.device.index));
}

namespace {

template <class T, class R> __global__ void __launch_bounds__(kThreads)
    search_each(bool right, const T* sequence, std::int64_t n, bool one, std::int64_t m, const T* values,
                std::int64_t count, R* y) {
  const std::int64_t step = std::int64_t(gridDim.x) * kThreads;
  for (std::int64_t i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step) {
    const T* s = sequence + (one ? 0 : i / m * n);
    const T v = values[i];
    std::int64_t low = 0, high = n;  // NaN comes after everything
    while (low < high) {
      const std::int64_t mid = low + (high - low) / 2;
      if (right ? !(s[mid] > v) : !(s[mid] >= v)) low = mid + 1;
      else high = mid;
    }
    y[i] = R(low);
  }
}

void search(Context& c, bool right, View sequence, View values, View y) {
  const std::int64_t n = sequence.size(sequence.rank() - 1), count = values.numel();
  if (!count) return;
  const std::int64_t outer = sequence.rank() == 1 || !n ? 1 : sequence.numel() / n;
  const std::int64_t m = std::max<std::int64_t>(1, count / std::max<std::int64_t>(1, outer));
  const OnDevice on(c.device.index);
  const cudaStream_t stream = current_stream(c.device.index);
  const auto blocks = unsigned(std::min<std::int64_t>((count + kThreads - 1) / kThreads, 132 * 32));
  const auto launch = [&]<class T>(T) {
    if (y.dtype() == DType::int32)
      search_each<<<blocks, kThreads, 0, stream>>>(right, sequence.as<T>(), n, outer == 1, m, values.as<T>(), count,
                                                   y.as<std::int32_t>());
    else
      search_each<<<blocks, kThreads, 0, stream>>>(right, sequence.as<T>(), n, outer == 1, m, values.as<T>(), count,
                                                   y.as<std::int64_t>());
  };
  if (values.dtype() == DType::float32) launch(float());
  else if (values.dtype() == DType::float64) launch(double());
  else launch(std::int64_t());
  c.fail(launched(c.device.index));
}

}  // namespace

const sort_kernels* sort() {
  static constexpr sort_kernels table{.select = select_sorted, .rows = rows, .search = search};
  return &table;
}

}  // namespace neura::cuda
