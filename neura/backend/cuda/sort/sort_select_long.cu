// Selection from long lines: several blocks count the digits of one, and the last of them to end learns which it is.
#include <algorithm>

#include "neura/backend/cuda/sort/sort_select.cuh"

namespace neura::cuda {
namespace {

template <class K> struct Search {  // of a line
  uint4 bins[kWorkers];             // the counts of all blocks together
  Bound<K> bound;
  std::uint32_t nans, taken, ended;
};
constexpr int kEach = 8;
constexpr std::uint32_t kPart = kWorkers * kEach;

// f(first, keys) for the parts of a line that are this block's.
template <class K, class F>
__device__ void for_parts(const SortCall& r, std::uint32_t line, std::uint32_t block, std::uint32_t blocks, F&& f) {
  for (std::uint32_t begin = block * kPart; begin < r.n; begin += blocks * kPart) {
    K key[kEach];
    load_keys(r, r.x + std::int64_t(line) * r.n * r.order.bytes, begin + threadIdx.x, key);
    f(begin + threadIdx.x, key);
  }
}

template <class K> __global__ void __launch_bounds__(kWorkers, 2)
    count_step(const __grid_constant__ SortCall r, Search<K>* searches, std::uint32_t blocks, int step, int places) {
  __shared__ uint4 bins[kWorkers];
  __shared__ std::uint32_t nans;
  __shared__ bool last;
  const std::uint32_t line = blockIdx.x / blocks, block = blockIdx.x - line * blocks;
  Search<K>& s = searches[line];
  Bound<K> b = step ? s.bound : first_bound<K>(r);
  if (b.enough(r)) return;
  bins[threadIdx.x] = {0, 0, 0, 0};
  if (threadIdx.x == 0) nans = 0;
  __syncthreads();
  const bool median = step == 0 && is_median(r);
  const Digit d = digit_of(step, 8 * r.order.bytes, places);
  for_parts<K>(r, line, block, blocks, [&](std::uint32_t first, const K(&key)[kEach]) {
    count_digits(b, d, first, key, reinterpret_cast<std::uint32_t*>(bins));
    if (median && r.order.kind == Order::floating) count_nans(r, first, key, &nans);
  });
  __syncthreads();
  const uint4 own = bins[threadIdx.x];
  uint4& all = s.bins[threadIdx.x];
  if (own.x) atomicAdd(&all.x, own.x);
  if (own.y) atomicAdd(&all.y, own.y);
  if (own.z) atomicAdd(&all.z, own.z);
  if (own.w) atomicAdd(&all.w, own.w);
  if (threadIdx.x == 0 && nans) atomicAdd(&s.nans, nans);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(&s.ended, 1u) + 1 == blocks;
  __syncthreads();
  if (!last) return;
  __threadfence();
  if (median) b.rank = median_rank(r, __ldcg(&s.nans));
  learn(b, d, __ldcg(&all));
  all = {0, 0, 0, 0};
  if (threadIdx.x == 0) s.bound = b, s.ended = 0;
}

template <class K> __global__ void __launch_bounds__(kWorkers, 2)
    take_wanted(const __grid_constant__ SortCall r, Search<K>* searches, std::uint32_t blocks, Item<K>* chosen,
                std::uint32_t room) {
  const std::uint32_t line = blockIdx.x / blocks, block = blockIdx.x - line * blocks;
  Search<K>& s = searches[line];
  const Bound<K> b = s.bound;
  for_parts<K>(r, line, block, blocks, [&](std::uint32_t first, const K(&key)[kEach]) {
    if (!chosen) return put_agreeing(r, line, b, first, key);
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const std::uint32_t place = first + j * kWorkers;
      if (b.wants(key[j], place))
        chosen[std::size_t(line) * room + atomicAdd(&s.taken, 1u)] = Item<K>::of(key[j], place);
    }
  });
}
template <class K> __global__ void __launch_bounds__(kWorkers)
    order_few(const __grid_constant__ SortCall r, const Search<K>* searches, const Item<K>* chosen) {
  __shared__ Item<K> few[kFew];
  few[threadIdx.x] = chosen[std::size_t(blockIdx.x) * kFew + threadIdx.x];
  write_few(r, blockIdx.x, few, searches[blockIdx.x].taken);  // a thread begins with what it has put there
}

}  // namespace

template <class K> Failed select_long(int index, const SortCall& r, cudaStream_t stream) {
  const std::uint32_t parts = (r.n + kPart - 1) / kPart;
  const std::uint32_t blocks = std::max(1u, std::min((parts + 3) / 4, 132 * 4 / r.lines));
  const bool top = r.selection <= Selection::largest, few = r.room <= kFew / 2;
  const std::uint32_t room = few ? kFew : r.room;
  Scratch scratch(index, stream);
  Search<K>* searches;
  Item<K>* chosen = nullptr;
  if (Failed f = scratch.take(r.lines * sizeof(Search<K>), &searches)) return f;
  if (top)
    if (Failed f = scratch.take(std::size_t(r.lines) * room * sizeof(Item<K>), &chosen)) return f;
  NEURA_CUDA_TRY(cudaMemsetAsync(searches, 0, r.lines * sizeof(Search<K>), stream), "topk");
  const int places = place_bits(parts * kPart), steps = digits_in(8 * r.order.bytes) + digits_in(places);
  for (int step = 0; step < steps; ++step)
    count_step<<<r.lines * blocks, kWorkers, 0, stream>>>(r, searches, blocks, step, places);
  take_wanted<<<r.lines * blocks, kWorkers, 0, stream>>>(r, searches, blocks, chosen, room);
  if (top && few) order_few<<<r.lines, kWorkers, 0, stream>>>(r, searches, chosen);
  if (Failed f = failed(cudaGetLastError(), "topk")) return f;
  return top && !few ? sort_chosen(r, chosen, stream) : nullptr;
}
template Failed select_long<std::uint32_t>(int, const SortCall&, cudaStream_t);
template Failed select_long<std::uint64_t>(int, const SortCall&, cudaStream_t);

}  // namespace neura::cuda
