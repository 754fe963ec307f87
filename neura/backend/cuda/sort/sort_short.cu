// Short lines: a bitonic network over the registers of the threads that hold a line, eight elements each. Threads of
// one warp exchange by shuffles, others through shared memory.
#include "neura/backend/cuda/sort/sort.cuh"

namespace neura::cuda {
namespace {

constexpr std::uint32_t kEach = 8;  // elements of a thread
// In shared memory every eight elements are followed by a gap, so that threads with eight each do not meet in one bank.
__device__ std::uint32_t slot(std::uint32_t i) { return i + i / kEach; }

template <class I> __device__ void exchange(I& mine, const I& other, bool lesser) {
  if (other.before(mine) == lesser) mine = other;
}
// Sorts each group of `width` elements, of which thread t of the group holds those from t * kEach on.
template <std::uint32_t threads, class I> __device__ void sort_network(I (&v)[kEach], std::uint32_t width, I* room) {
  const std::uint32_t first = threadIdx.x * kEach % width;
  for (std::uint32_t size = 2; size <= width; size *= 2) {
    std::uint32_t stride = size / 2;
    for (; stride >= 32 * kEach; stride /= 2) {
      __syncthreads();
#pragma unroll
      for (std::uint32_t e = 0; e < kEach; ++e) room[e * threads + threadIdx.x] = v[e];
      __syncthreads();
      const bool lesser = !(first & stride) == !(first & size);
#pragma unroll
      for (std::uint32_t e = 0; e < kEach; ++e)
        exchange(v[e], room[e * threads + (threadIdx.x ^ stride / kEach)], lesser);
    }
    for (; stride >= kEach; stride /= 2) {
      const bool lesser = !(first & stride) == !(first & size);
#pragma unroll
      for (std::uint32_t e = 0; e < kEach; ++e) exchange(v[e], v[e].shuffled(int(stride / kEach)), lesser);
    }
#pragma unroll
    for (std::uint32_t s = kEach / 2; s; s /= 2) {
      if (s > stride) continue;
#pragma unroll
      for (std::uint32_t e = 0; e < kEach; ++e) {
        if (e & s) continue;
        const I low = v[e], high = v[e | s];
        const bool swap = high.before(low) == !((first + e) & size);
        v[e] = swap ? high : low, v[e | s] = swap ? low : high;
      }
    }
  }
}

// width: the power of two that holds a line, at least kEach. items: what to sort, of lines of n of them; or null: the
// elements of r.x.
template <std::uint32_t threads, class K> __global__ void __launch_bounds__(threads)
    sort_lines(const __grid_constant__ SortCall r, std::uint32_t width, int log_width, const Item<K>* items) {
  using I = Item<K>;
  constexpr std::uint32_t all = threads * kEach;
  __shared__ I room[all / kEach * (kEach + 1)];
  __shared__ std::uint64_t longest[threads];
  const std::uint32_t lines = all >> log_width, first = blockIdx.x * lines;
  const bool along = r.inner.divisor == 1;
  // Number f of the block's elements: neighbouring threads have neighbours in memory.
  const auto locate = [&](std::uint32_t f, std::uint32_t& line, std::uint32_t& i) {
    line = along ? f >> log_width : f % lines, i = along ? f % width : f / lines;
  };
#pragma unroll
  for (std::uint32_t e = 0; e < kEach; ++e) {
    std::uint32_t line, i;
    locate(e * threads + threadIdx.x, line, i);
    I item = I::of(~K(0), ~0u);  // after all
    if (first + line < r.lines && i < r.n) {
      if (items) item = items[std::size_t(first + line) * r.n + i];
      else item = I::of(key_at<K>(r.x + element_of(r, first + line, r.length, i) * r.order.bytes, r.order), i);
    }
    room[slot(line * width + i)] = item;
  }
  __syncthreads();
  {
    const std::uint32_t members = width / kEach, group = threadIdx.x / members, t = threadIdx.x % members;
    I v[kEach];
#pragma unroll
    for (std::uint32_t e = 0; e < kEach; ++e) v[e] = room[slot(group * width + e * members + t)];
    sort_network<threads>(v, width, room);
    __syncthreads();
#pragma unroll
    for (std::uint32_t e = 0; e < kEach; ++e) room[slot(threadIdx.x * kEach + e)] = v[e];
  }
  longest[threadIdx.x] = 0;
  __syncthreads();
  const std::uint32_t own = first + threadIdx.x;
  const auto at = [width](std::uint32_t line, std::uint32_t i) { return room[slot(line * width + i)]; };
  const auto key_of = [at](std::uint32_t line) { return [at, line](std::uint32_t i) { return at(line, i).key(); }; };
  if (r.selection == Selection::mode) {
    for (std::uint32_t f = threadIdx.x; f < all; f += threads) {
      const std::uint32_t line = f >> log_width, i = f % width;
      const auto key = key_of(line);
      if (i < r.n && (i + 1 == r.n || key(i) != key(i + 1)))
        atomicMax(reinterpret_cast<unsigned long long*>(&longest[line]), run_ending<K>(i, key));
    }
    __syncthreads();
    if (threadIdx.x < lines && own < r.lines) put(r, own, 0, at(threadIdx.x, end_of_run(longest[threadIdx.x])).place());
  } else if (r.selection <= Selection::largest) {
    for (std::uint32_t f = threadIdx.x; f < all; f += threads) {
      std::uint32_t line, i;
      locate(f, line, i);
      if (first + line < r.lines && i < r.room) put(r, first + line, i, at(line, i).place());
    }
  } else if (threadIdx.x < lines && own < r.lines) {
    put(r, own, 0, at(threadIdx.x, place_of<K>(r, key_of(threadIdx.x))).place());
  }
}

template <std::uint32_t threads, class K>
void launch(const SortCall& r, std::uint32_t width, const Item<K>* chosen, cudaStream_t stream) {
  const std::uint32_t lines = threads * kEach / width, blocks = (r.lines + lines - 1) / lines;
  sort_lines<threads, K><<<blocks, threads, 0, stream>>>(r, width, bits_below(width), chosen);
}
template <class K> Failed run(const SortCall& r, const Item<K>* chosen, cudaStream_t stream) {
  std::uint32_t width = kEach;
  while (width < r.n) width *= 2;
  if (width <= kThreads * kEach) launch<kThreads>(r, width, chosen, stream);
  else if constexpr (sizeof(K) == 4) launch<2 * kThreads>(r, width, chosen, stream);
  return failed(cudaGetLastError(), "sort");
}
}  // namespace

Failed sort_short(const SortCall& r, cudaStream_t stream) {
  return r.order.bytes == 8 ? run<std::uint64_t>(r, nullptr, stream) : run<std::uint32_t>(r, nullptr, stream);
}
template <class K> Failed sort_chosen(const SortCall& all, const Item<K>* chosen, cudaStream_t stream) {
  SortCall r = all;
  r.n = r.room;
  return run(r, chosen, stream);
}
template Failed sort_chosen(const SortCall&, const Item<std::uint32_t>*, cudaStream_t);
template Failed sort_chosen(const SortCall&, const Item<std::uint64_t>*, cudaStream_t);

}  // namespace neura::cuda
