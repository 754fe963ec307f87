// A few elements of a long line without sorting it: the digits of the last one wanted are found from the highest on, by
// counting. Of equal keys the digits of the place decide. A line belongs to one block, or to the blocks of a cluster.
#include <cooperative_groups.h>

#include <algorithm>

#include "neura/backend/cuda/sort.cuh"

namespace neura::cuda {
namespace {

namespace cg = cooperative_groups;
constexpr std::uint32_t kWorkers = 1024, kDigit = 11, kBins = 1u << kDigit;
static_assert(kBins == 2 * kWorkers);

struct Counts {  // of a block; every block of a cluster reads those of the others
  std::uint32_t bins[kBins];
  std::uint32_t numbers;  // that are no NaN
  std::uint32_t taken;
};
struct Digit {
  std::uint32_t value, before, count;  // elements of lesser digits, and of this one
};

// f(place, key) for the elements of a line that are this block's; four loads are in flight.
template <class K, class F> __device__ void for_keys(const Ranked& r, const char* line, F&& f) {
  const cg::cluster_group cluster = cg::this_cluster();
  const std::uint32_t step = kWorkers * cluster.num_blocks();
  constexpr std::uint32_t kFlight = 4;
  for (std::uint64_t i = cluster.block_rank() * kWorkers + threadIdx.x; i < r.n; i += kFlight * step) {
    K key[kFlight];
#pragma unroll
    for (std::uint32_t j = 0; j < kFlight; ++j)
      if (i + j * step < r.n) key[j] = key_at<K>(line + (i + j * step) * r.order.bytes, r.order);
#pragma unroll
    for (std::uint32_t j = 0; j < kFlight; ++j)
      if (i + j * step < r.n) f(std::uint32_t(i + j * step), key[j]);
  }
}

// What all blocks have counted together: the digit of the element with `rank` others before it. All threads get it.
__device__ Digit pick(Counts& c, std::uint32_t rank) {
  __shared__ Digit found;
  __shared__ std::uint32_t sums[kWorkers / 32];
  cg::cluster_group cluster = cg::this_cluster();
  const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  cluster.sync();
  std::uint32_t low = 0, high = 0;
  for (unsigned b = 0; b < cluster.num_blocks(); ++b) {
    const std::uint32_t* bins = cluster.map_shared_rank(c.bins, b);
    low += bins[2 * threadIdx.x], high += bins[2 * threadIdx.x + 1];
  }
  std::uint32_t sum = low + high;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const std::uint32_t before = __shfl_up_sync(~0u, sum, step);
    if (lane >= unsigned(step)) sum += before;
  }
  if (lane == 31) sums[warp] = sum;
  __syncthreads();
  for (std::uint32_t w = 0; w < warp; ++w) sum += sums[w];
  const std::uint32_t before = sum - low - high;  // of lesser digits than this thread's two
  if (rank >= before && rank < before + low) found = {2 * threadIdx.x, before, low};
  else if (rank >= before + low && rank < sum) found = {2 * threadIdx.x + 1, before + low, high};
  cluster.sync();  // the counts are no longer read
  c.bins[2 * threadIdx.x] = c.bins[2 * threadIdx.x + 1] = 0;
  const Digit d = found;
  __syncthreads();
  return d;
}
// Of the whole cluster.
__device__ std::uint32_t numbers_of(Counts& c) {
  cg::cluster_group cluster = cg::this_cluster();
  cluster.sync();
  std::uint32_t all = 0;
  for (unsigned b = 0; b < cluster.num_blocks(); ++b) all += *cluster.map_shared_rank(&c.numbers, b);
  return all;
}

template <class K> struct Last {  // the last element wanted: the one with `rank` others before it
  K key;
  std::uint32_t place;
};
template <class K> __device__ Last<K> find(const Ranked& r, const char* line, std::uint32_t rank, Counts& c) {
  Last<K> last{0, ~0u};
  K known = 0;
  std::uint32_t equal = r.n;
  for (int end = 8 * r.order.bytes; end > 0; end -= int(kDigit)) {
    const int shift = end > int(kDigit) ? end - int(kDigit) : 0;
    const std::uint32_t mask = (1u << (end - shift)) - 1;
    for_keys<K>(r, line, [&](std::uint32_t, K key) {
      if (((key ^ last.key) & known) == 0) atomicAdd(&c.bins[std::uint32_t(key >> shift) & mask], 1u);
    });
    const Digit d = pick(c, rank);
    last.key |= K(d.value) << shift, known |= K(mask) << shift;
    rank -= d.before, equal = d.count;
  }
  if (r.rank <= Rank::largest && rank + 1 == equal) return last;  // all that are equal to it are wanted
  last.place = 0;
  std::uint32_t known_places = 0;
  for (int end = 32 - __clz(int(r.n)); end > 0; end -= int(kDigit)) {
    const int shift = end > int(kDigit) ? end - int(kDigit) : 0;
    const std::uint32_t mask = (1u << (end - shift)) - 1;
    for_keys<K>(r, line, [&](std::uint32_t place, K key) {
      if (key == last.key && ((place ^ last.place) & known_places) == 0) atomicAdd(&c.bins[place >> shift & mask], 1u);
    });
    const Digit d = pick(c, rank);
    last.place |= d.value << shift, known_places |= mask << shift;
    rank -= d.before;
  }
  return last;
}

// chosen: [lines, room], in any order; of ranks that have one result, nothing.
template <class K> __global__ void __launch_bounds__(kWorkers)
    select_lines(const __grid_constant__ Ranked r, Item<K>* chosen) {
  __shared__ Counts c;
  cg::cluster_group cluster = cg::this_cluster();
  const std::uint32_t own = blockIdx.x / cluster.num_blocks();
  const char* const line = r.x + std::int64_t(own) * r.n * r.order.bytes;
  c.bins[2 * threadIdx.x] = c.bins[2 * threadIdx.x + 1] = 0;
  if (threadIdx.x == 0) c.numbers = c.taken = 0;
  __syncthreads();
  std::uint32_t rank = r.rank == Rank::kth ? r.k : r.room - 1;
  if (r.rank == Rank::median || r.rank == Rank::nanmedian) {
    std::uint32_t numbers = r.n;
    if (r.order.kind == Order::floating) {
      std::uint32_t mine = 0;
      const K nan = greatest_key<K>(r.order);
      for_keys<K>(r, line, [&](std::uint32_t, K key) { mine += key != nan; });
      atomicAdd(&c.numbers, mine);
      numbers = numbers_of(c);
    }
    rank = r.rank == Rank::median && numbers < r.n ? numbers : numbers ? (numbers - 1) / 2 : 0;
  }
  const Last<K> last = find<K>(r, line, rank, c);
  if (r.rank <= Rank::largest) {
    std::uint32_t* const taken = cluster.map_shared_rank(&c.taken, 0);
    Item<K>* const to = chosen + std::size_t(own) * r.room;
    for_keys<K>(r, line, [&](std::uint32_t place, K key) {
      if (key < last.key || (key == last.key && place <= last.place))
        to[atomicAdd(taken, 1u)] = Item<K>::of(key, place);
    });
  } else if (cluster.block_rank() == 0 && threadIdx.x == 0) {
    put(r, own, 0, last.place);
  }
  cluster.sync();  // no block leaves before the others have read its counts
}

template <class K> Failed select(int index, const Ranked& r, unsigned cluster, cudaStream_t stream) {
  Scratch scratch(index, stream);
  Item<K>* chosen = nullptr;
  if (r.rank <= Rank::largest)
    if (Failed f = scratch.take(std::size_t(r.lines) * r.room * sizeof(Item<K>), &chosen)) return f;
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {cluster, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = {r.lines * cluster, 1, 1}, config.blockDim = {kWorkers, 1, 1};
  config.stream = stream, config.attrs = &attribute, config.numAttrs = 1;
  NEURA_CUDA_TRY(cudaLaunchKernelEx(&config, select_lines<K>, r, chosen), "topk");
  return r.rank <= Rank::largest ? sort_chosen(r, chosen, stream) : nullptr;
}

}  // namespace

bool selects(const Ranked& r) {
  if (r.inner.divisor != 1 || r.rank == Rank::mode || r.n <= most_of_block(r.order) || r.lines >= 1u << 27)
    return false;
  return r.rank > Rank::largest || (r.room <= most_of_block(r.order) && r.room <= r.n / 4);
}
Failed rank_selected(int index, const Ranked& r, cudaStream_t stream) {
  unsigned cluster = 1;
  while (cluster < 8 && 2 * cluster * r.lines <= 132 && r.n / cluster > 4 * kWorkers) cluster *= 2;
  return r.order.bytes == 8 ? select<std::uint64_t>(index, r, cluster, stream)
                            : select<std::uint32_t>(index, r, cluster, stream);
}

}  // namespace neura::cuda
