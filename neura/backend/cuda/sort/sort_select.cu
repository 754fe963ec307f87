// Selection from lines that fit into the registers of a block, or of the blocks of a cluster: they are read once.
#include "neura/backend/cuda/sort/sort_select.cuh"

#include <cooperative_groups.h>

namespace neura::cuda {
namespace {

// The blocks of a cluster. In code for devices that have none (before compute capability 9.0), one block alone.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
struct Cluster {
  cooperative_groups::cluster_group group = cooperative_groups::this_cluster();
  __device__ std::uint32_t blocks() const { return group.num_blocks(); }
  __device__ std::uint32_t rank() const { return group.block_rank(); }
  __device__ void meet() const {
    if (group.num_blocks() == 1) __syncthreads();
    else group.sync();
  }
  template <class T> __device__ T* of(T* shared, unsigned block) const { return group.map_shared_rank(shared, block); }
};
#else
struct Cluster {
  __device__ std::uint32_t blocks() const { return 1; }
  __device__ std::uint32_t rank() const { return 0; }
  __device__ void meet() const { __syncthreads(); }
  template <class T> __device__ T* of(T* shared, unsigned) const { return shared; }
};
#endif

// chosen: [lines, room], in any order; null: one result a line, or few, which the line's first block puts in order.
template <class K, int each> __global__ void __launch_bounds__(kWorkers, 2)
    select_lines(const __grid_constant__ SortCall r, int places, Item<K>* chosen) {
  __shared__ uint4 bins[kWorkers];
  __shared__ std::uint32_t nans, taken;
  __shared__ Item<K> few[kFew];
  const Cluster cluster{};
  const std::uint32_t blocks = cluster.blocks(), part = cluster.rank(), line = blockIdx.x / blocks;
  const std::uint32_t first = part * (kWorkers * each) + threadIdx.x;
  K key[each];
  load_keys(r, r.x + std::int64_t(line) * r.n * r.order.bytes, first, key);
  bins[threadIdx.x] = {0, 0, 0, 0};
  if (threadIdx.x == 0) nans = taken = 0;
  __syncthreads();
  const int key_bits = 8 * r.order.bytes, steps = digits_in(key_bits) + digits_in(places);
  Bound<K> b = first_bound<K>(r);
  if (is_median(r) && r.order.kind == Order::floating) count_nans(r, first, key, &nans);
  for (int step = 0; step < steps && !b.enough(r); ++step) {
    const Digit d = digit_of(step, key_bits, places);
    count_digits(b, d, first, key, reinterpret_cast<std::uint32_t*>(bins));
    cluster.meet();
    uint4 own = bins[threadIdx.x];
    std::uint32_t none = step ? 0 : nans;
    for (unsigned other = 1; other < blocks; ++other) {
      const unsigned from = (part + other) % blocks;
      const uint4 more = cluster.of(bins, from)[threadIdx.x];
      own.x += more.x, own.y += more.y, own.z += more.z, own.w += more.w;
      if (step == 0) none += *cluster.of(&nans, from);
    }
    if (step == 0 && is_median(r)) b.rank = median_rank(r, none);
    learn(b, d, own);
    cluster.meet();  // no block reads the counts any more
    bins[threadIdx.x] = {0, 0, 0, 0};
    __syncthreads();
  }
  if (r.selection > Selection::largest) return put_agreeing(r, line, b, first, key);
  Item<K>* const to = chosen ? chosen + std::size_t(line) * r.room : cluster.of(few, 0);
  std::uint32_t* const count = cluster.of(&taken, 0);
#pragma unroll
  for (int j = 0; j < each; ++j) {
    const std::uint32_t place = first + j * kWorkers;
    if (b.wants(key[j], place)) to[atomicAdd(count, 1u)] = Item<K>::of(key[j], place);
  }
  cluster.meet();
  if (!chosen && part == 0) write_few(r, line, few, taken);
}

template <class K, int each> Failed launch(const SortCall& r, unsigned cluster, Item<K>* chosen, cudaStream_t stream) {
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {cluster, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = {r.lines * cluster, 1, 1}, config.blockDim = {kWorkers, 1, 1}, config.stream = stream;
  if (cluster > 1) config.attrs = &attribute, config.numAttrs = 1;
  const int places = place_bits(cluster * kWorkers * each);
  return failed(cudaLaunchKernelEx(&config, select_lines<K, each>, r, places, chosen), "topk");
}
// Whether clusters can be launched there, and the kernels were compiled for them.
bool has_clusters(int index) {
  int can = 0;
  if (cudaDeviceGetAttribute(&can, cudaDevAttrClusterLaunch, index) != cudaSuccess || !can) return false;
  static const bool compiled = [] {
    cudaFuncAttributes a{};
    return cudaFuncGetAttributes(&a, select_lines<std::uint32_t, 8>) == cudaSuccess && a.ptxVersion >= 90;
  }();
  return compiled;
}
template <class K> Failed select(int index, const SortCall& r, cudaStream_t stream) {
  constexpr int most = sizeof(K) == 8 ? 16 : 32;  // keys in a thread's registers
  constexpr std::uint32_t block = kWorkers * most;
  const unsigned largest = has_clusters(index) ? 8 : 1;
  if (r.n > largest * block) return select_long<K>(index, r, stream);
  unsigned cluster = 1;
  while (r.n > cluster * block || (cluster < largest && 2 * cluster * r.lines <= 264 && r.n / cluster > block / 4))
    cluster *= 2;
  Scratch scratch(index, stream);
  Item<K>* chosen = nullptr;
  if (r.selection <= Selection::largest && r.room > kFew / 2)
    if (Failed f = scratch.take(std::size_t(r.lines) * r.room * sizeof(Item<K>), &chosen)) return f;
  const std::uint32_t part = (r.n + cluster - 1) / cluster;
  if (Failed f = part <= block / 4   ? launch<K, most / 4>(r, cluster, chosen, stream)
                 : part <= block / 2 ? launch<K, most / 2>(r, cluster, chosen, stream)
                                     : launch<K, most>(r, cluster, chosen, stream))
    return f;
  return chosen ? sort_chosen(r, chosen, stream) : nullptr;
}

}  // namespace

bool selects(const SortCall& r) {
  if (r.inner.divisor != 1 || r.selection == Selection::mode || r.n <= 2 * kWorkers || r.lines >= 1u << 27)
    return false;
  if (r.selection > Selection::largest) return true;
  return r.room <= r.n / 4 &&
         (r.room <= kFew / 2 || (r.n > most_of_block(r.order) && r.room <= most_of_block(r.order)));
}
Failed sort_selected(int index, const SortCall& r, cudaStream_t stream) {
  return r.order.bytes == 8 ? select<std::uint64_t>(index, r, stream) : select<std::uint32_t>(index, r, stream);
}

}  // namespace neura::cuda
