// Long lines: all of them are sorted at once by their keys, and then, as that is stable, by their lines.
#include <algorithm>

#include "neura/backend/cuda/sort/sort.cuh"

namespace neura::cuda {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 31;  // elements of a sort, below

unsigned blocks_for(std::int64_t n) {
  return unsigned(std::min<std::int64_t>((n + kThreads - 1) / kThreads, 132 * 32));
}
__device__ std::uint32_t first_index() { return blockIdx.x * kThreads + threadIdx.x; }
__device__ std::uint32_t index_step() { return gridDim.x * kThreads; }

// An element is known by its number in memory, which grows along each line.
__device__ std::uint32_t line_of(const SortCall& r, Division n, std::uint32_t e) {
  const std::uint32_t q = quotient(e, r.inner), column = e - q * r.inner.divisor;
  return quotient(q, n) * r.inner.divisor + column;
}
__device__ std::uint32_t place_in_line(const SortCall& r, Division n, std::uint32_t e) {
  const std::uint32_t q = quotient(e, r.inner);
  return q - quotient(q, n) * n.divisor;
}
template <class K> __global__ void __launch_bounds__(kThreads)
    fill(const __grid_constant__ SortCall r, std::uint32_t count, K* keys, std::uint32_t* elements) {
  for (std::uint32_t e = first_index(); e < count; e += index_step())
    keys[e] = key_at<K>(r.x + std::int64_t(e) * r.order.bytes, r.order), elements[e] = e;
}
__global__ void __launch_bounds__(kThreads)
    lines_of(const __grid_constant__ SortCall r, Division n, std::uint32_t count, const std::uint32_t* elements,
             std::uint32_t* lines) {
  for (std::uint32_t s = first_index(); s < count; s += index_step()) lines[s] = line_of(r, n, elements[s]);
}
// Now elements[l * n + i] is the i-th of line l in order.
__global__ void __launch_bounds__(kThreads)
    write(const __grid_constant__ SortCall r, Division n, std::uint32_t count, const std::uint32_t* elements) {
  for (std::uint32_t s = first_index(); s < count; s += index_step()) {
    const std::uint32_t line = quotient(s, n), i = s - line * n.divisor;
    if (i < r.room) put(r, line, i, place_in_line(r, n, elements[s]));
  }
}
// The same of the only line, whose keys are in order, too: they tell the values, where each has its own.
template <class K> __global__ void __launch_bounds__(kThreads)
    write_line(const __grid_constant__ SortCall r, const K* keys, const std::uint32_t* elements) {
  for (std::uint32_t i = first_index(); i < r.room; i += index_step()) {
    const std::uint32_t place = elements[i];
    if (r.indices) r.indices[i] = place;
    if (!r.values) continue;
    K bits;
    if (!bits_of(keys[i], r.order, &bits)) bits = bits_at<K>(r.x + std::int64_t(place) * r.order.bytes, r.order.bytes);
    store_bits(r.values + std::int64_t(i) * r.order.bytes, r.order.bytes, bits);
  }
}
template <class K> struct InOrder {
  const SortCall& r;
  const std::uint32_t* elements;  // of the line
  __device__ K operator()(std::uint32_t i) const {
    return key_at<K>(r.x + std::int64_t(elements[i]) * r.order.bytes, r.order);
  }
};
template <class K> __global__ void __launch_bounds__(kThreads)
    write_one(const __grid_constant__ SortCall r, Division n, const std::uint32_t* elements) {
  const std::uint32_t line = first_index();
  if (line >= r.lines) return;
  const std::uint32_t* own = elements + std::int64_t(line) * r.n;
  put(r, line, 0, place_in_line(r, n, own[place_of<K>(r, InOrder<K>{r, own})]));
}
template <class K> __global__ void __launch_bounds__(kThreads)
    find_runs(const __grid_constant__ SortCall r, Division n, std::uint32_t count, const std::uint32_t* elements,
              unsigned long long* longest) {
  for (std::uint32_t s = first_index(); s < count; s += index_step()) {
    const std::uint32_t line = quotient(s, n), i = s - line * n.divisor;
    const InOrder<K> key{r, elements + (s - i)};
    if (i + 1 < r.n && key(i) == key(i + 1)) continue;
    const unsigned long long run = run_ending<K>(i, key);
    if (run > *const_cast<volatile unsigned long long*>(longest + line)) atomicMax(longest + line, run);
  }
}
__global__ void __launch_bounds__(kThreads)
    write_modes(const __grid_constant__ SortCall r, Division n, const std::uint32_t* elements,
                const unsigned long long* longest) {
  const std::uint32_t line = first_index();
  if (line >= r.lines) return;
  put(r, line, 0, place_in_line(r, n, elements[std::int64_t(line) * r.n + end_of_run(longest[line])]));
}

template <class K> Failed sort_some(int index, const SortCall& r, cudaStream_t stream) {
  const std::int64_t count = std::int64_t(r.lines) * r.n;
  const auto size = std::uint32_t(count);
  const unsigned blocks = blocks_for(count), line_blocks = (r.lines + kThreads - 1) / kThreads;
  const Division n = division(r.n);
  Scratch scratch(index, stream);
  K* keys[2];
  std::uint32_t* elements[2];
  for (auto*& p : keys)
    if (Failed f = scratch.take(std::size_t(count) * sizeof(K), &p)) return f;
  for (auto*& p : elements)
    if (Failed f = scratch.take(std::size_t(count) * 4, &p)) return f;
  fill<<<blocks, kThreads, 0, stream>>>(r, size, keys[0], elements[0]);
  if (Failed f = sort_pairs(scratch, stream, count, 8 * r.order.bytes, keys, elements)) return f;
  if (r.lines > 1) {
    std::uint32_t* lines[2] = {reinterpret_cast<std::uint32_t*>(keys[0]), reinterpret_cast<std::uint32_t*>(keys[1])};
    lines_of<<<blocks, kThreads, 0, stream>>>(r, n, size, elements[0], lines[0]);
    if (Failed f = sort_pairs(scratch, stream, count, bits_below(r.lines), lines, elements)) return f;
  }
  if (r.selection <= Selection::largest) {
    if (r.lines == 1) write_line<<<blocks, kThreads, 0, stream>>>(r, keys[0], elements[0]);
    else write<<<blocks, kThreads, 0, stream>>>(r, n, size, elements[0]);
  } else if (r.selection != Selection::mode) {
    write_one<K><<<line_blocks, kThreads, 0, stream>>>(r, n, elements[0]);
  } else {
    unsigned long long* longest = nullptr;
    if (Failed f = scratch.take(std::size_t(r.lines) * 8, &longest)) return f;
    NEURA_CUDA_TRY(cudaMemsetAsync(longest, 0, std::size_t(r.lines) * 8, stream), "mode");
    find_runs<K><<<blocks, kThreads, 0, stream>>>(r, n, size, elements[0], longest);
    write_modes<<<line_blocks, kThreads, 0, stream>>>(r, n, elements[0], longest);
  }
  return failed(cudaGetLastError(), "sort");
}

}  // namespace

Failed sort_long(int index, const SortCall& all, cudaStream_t stream) {
  const std::int64_t slice = std::int64_t(all.n) * all.inner.divisor, slices = all.lines / all.inner.divisor;
  if (slice >= kMost)
    return fail(DeviceFailure::absent, "expected fewer than 2^31 elements from dim on, got %lld; sort on the cpu",
                static_cast<long long>(slice));
  const std::int64_t fit = (kMost - 1) / slice;
  for (std::int64_t first = 0; first < slices; first += fit) {
    SortCall r = all;
    const std::int64_t results = first * r.room * r.inner.divisor;
    r.lines = std::uint32_t(std::min(fit, slices - first)) * r.inner.divisor;
    r.x += first * slice * r.order.bytes;
    if (r.values) r.values += results * r.order.bytes;
    if (r.indices) r.indices += results;
    if (Failed f = r.order.bytes == 8 ? sort_some<std::uint64_t>(index, r, stream)
                                      : sort_some<std::uint32_t>(index, r, stream))
      return f;
  }
  return nullptr;
}

}  // namespace neura::cuda
