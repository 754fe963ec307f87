// Short lines: a bitonic network over the registers of the threads that hold a line, eight elements each. Threads of
// one warp exchange by shuffles, others through shared memory.
#include "neura/backend/cuda/sort.cuh"

namespace neura::cuda {
namespace {

constexpr std::uint32_t kEach = 8, kRoom = kThreads * kEach;  // elements of a thread, and of a block
static_assert(kRoom == kShort);

template <class I> __device__ void exchange(I& mine, const I& other, bool lesser) {
  if (other.before(mine) == lesser) mine = other;
}
// Sorts each group of `width` elements, of which thread t of the group holds those from t * kEach on.
template <class I> __device__ void sort_network(I (&v)[kEach], std::uint32_t width, I* room) {
  const std::uint32_t first = threadIdx.x * kEach % width;
  for (std::uint32_t size = 2; size <= width; size *= 2) {
    std::uint32_t stride = size / 2;
    for (; stride >= 32 * kEach; stride /= 2) {
      __syncthreads();
#pragma unroll
      for (std::uint32_t e = 0; e < kEach; ++e) room[e * kThreads + threadIdx.x] = v[e];
      __syncthreads();
      const bool lesser = !(first & stride) == !(first & size);
#pragma unroll
      for (std::uint32_t e = 0; e < kEach; ++e)
        exchange(v[e], room[e * kThreads + (threadIdx.x ^ stride / kEach)], lesser);
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
template <class K> __global__ void __launch_bounds__(kThreads)
    rank_lines(const __grid_constant__ Ranked r, std::uint32_t width, int log_width, const Item<K>* items) {
  using I = Item<K>;
  __shared__ I room[kRoom];
  __shared__ std::uint64_t longest[kThreads];
  const std::uint32_t lines = kRoom >> log_width, first = blockIdx.x * lines;
  const bool along = r.inner.divisor == 1;
  // Number f of the block's elements: neighbouring threads have neighbours in memory.
  const auto locate = [&](std::uint32_t f, std::uint32_t& line, std::uint32_t& i) {
    line = along ? f >> log_width : f % lines, i = along ? f % width : f / lines;
  };
#pragma unroll
  for (std::uint32_t e = 0; e < kEach; ++e) {
    std::uint32_t line, i;
    locate(e * kThreads + threadIdx.x, line, i);
    I item = I::of(~K(0), ~0u);  // behind all
    if (first + line < r.lines && i < r.n) {
      if (items) item = items[std::size_t(first + line) * r.n + i];
      else item = I::of(key_at<K>(r.x + element_of(r, first + line, r.length, i) * r.order.bytes, r.order), i);
    }
    room[line * width + i] = item;
  }
  __syncthreads();
  {
    const std::uint32_t threads = width / kEach, group = threadIdx.x / threads, t = threadIdx.x % threads;
    I v[kEach];
#pragma unroll
    for (std::uint32_t e = 0; e < kEach; ++e) v[e] = room[group * width + e * threads + t];
    sort_network(v, width, room);
    __syncthreads();
#pragma unroll
    for (std::uint32_t e = 0; e < kEach; ++e) room[threadIdx.x * kEach + e] = v[e];
  }
  longest[threadIdx.x] = 0;
  __syncthreads();
  const std::uint32_t own = first + threadIdx.x;
  const auto key_of = [&](std::uint32_t line) {
    return [width, line](std::uint32_t i) { return room[line * width + i].key(); };
  };
  if (r.rank == Rank::mode) {
    for (std::uint32_t f = threadIdx.x; f < kRoom; f += kThreads) {
      const std::uint32_t line = f >> log_width, i = f % width;
      const auto key = key_of(line);
      if (i < r.n && (i + 1 == r.n || key(i) != key(i + 1)))
        atomicMax(reinterpret_cast<unsigned long long*>(&longest[line]), run_ending<K>(i, key));
    }
    __syncthreads();
    if (threadIdx.x < lines && own < r.lines)
      put(r, own, 0, room[threadIdx.x * width + end_of_run(longest[threadIdx.x])].place());
  } else if (r.rank <= Rank::largest) {
    for (std::uint32_t f = threadIdx.x; f < kRoom; f += kThreads) {
      std::uint32_t line, i;
      locate(f, line, i);
      if (first + line < r.lines && i < r.room) put(r, first + line, i, room[line * width + i].place());
    }
  } else if (threadIdx.x < lines && own < r.lines) {
    const std::uint32_t at = place_of<K>(r, key_of(threadIdx.x));
    put(r, own, 0, room[threadIdx.x * width + at].place());
  }
}

template <class K> Failed run(const Ranked& r, const Item<K>* chosen, cudaStream_t stream) {
  std::uint32_t width = kEach;
  while (width < r.n) width *= 2;
  const std::uint32_t lines = kRoom / width, blocks = (r.lines + lines - 1) / lines;
  const int log_width = bits_below(width);
  rank_lines<K><<<blocks, kThreads, 0, stream>>>(r, width, log_width, chosen);
  return failed(cudaGetLastError(), "sort");
}
}  // namespace

Failed rank_short(const Ranked& r, cudaStream_t stream) {
  return r.order.bytes == 8 ? run<std::uint64_t>(r, nullptr, stream) : run<std::uint32_t>(r, nullptr, stream);
}
template <class K> Failed sort_chosen(const Ranked& all, const Item<K>* chosen, cudaStream_t stream) {
  Ranked r = all;
  r.n = r.room;
  return run(r, chosen, stream);
}
template Failed sort_chosen(const Ranked&, const Item<std::uint32_t>*, cudaStream_t);
template Failed sort_chosen(const Ranked&, const Item<std::uint64_t>*, cudaStream_t);

}  // namespace neura::cuda
