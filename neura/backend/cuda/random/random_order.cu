// Permutations and samples by weight.
#include <algorithm>

#include "neura/backend/cuda/runtime/memory.cuh"
#include "neura/backend/cuda/random/random.cuh"
#include "neura/backend/cuda/random/random.h"
#include "neura/backend/cuda/sort/sort.h"

namespace neura::cuda {
namespace {

constexpr std::uint32_t kNone = ~0u;
unsigned blocks_for(std::int64_t n) {
  return unsigned(std::min<std::int64_t>((n + kThreads - 1) / kThreads, 132 * 32));
}
__device__ std::int64_t first_index() { return std::int64_t(blockIdx.x) * kThreads + threadIdx.x; }
__device__ std::int64_t index_step() { return std::int64_t(gridDim.x) * kThreads; }

// Fisher and Yates exchange place i with place target(i) >= i, for i = 0, 1, ... What an exchange finds at its target
// is what the last exchange before with the same target put there: its own place's content then, which again came from
// the last exchange before that had this place for its target. So the exchanges, sorted by their targets, show for each
// where its number comes from, and following that to its beginning (a few steps) takes the place of doing them in turn.
__global__ void __launch_bounds__(kThreads)
    targets(PhiloxDraw d, std::uint32_t n, std::uint32_t* target, std::uint32_t* exchange) {
  d.begin();
  for (std::int64_t i = first_index(); i < n; i += index_step()) {
    const uint4 w = d.block(std::uint64_t(i) / 2);
    const std::uint64_t x = i % 2 ? std::uint64_t(w.z) << 32 | w.w : std::uint64_t(w.x) << 32 | w.y;
    target[i] = std::uint32_t(i + std::int64_t(__umul64hi(x, std::uint64_t(n - i))));
    exchange[i] = std::uint32_t(i);
  }
}
// source[place]: the last exchange before number `place` that had it for its target.
__global__ void __launch_bounds__(kThreads)
    sources(std::uint32_t n, const std::uint32_t* target, const std::uint32_t* exchange, std::uint32_t* source) {
  for (std::int64_t s = first_index(); s < n; s += index_step()) {
    const std::uint32_t place = target[s], i = exchange[s];
    if (s + 1 < n && target[s + 1] == place) continue;
    source[place] = i != place ? i : s && target[s - 1] == place ? exchange[s - 1] : kNone;
  }
}
__global__ void __launch_bounds__(kThreads)
    permute(std::uint32_t n, const std::uint32_t* target, const std::uint32_t* exchange, const std::uint32_t* source,
            std::int64_t* out) {
  for (std::int64_t s = first_index(); s < n; s += index_step()) {
    std::uint32_t number = target[s];
    if (s && target[s - 1] == number) {
      number = exchange[s - 1];
      for (std::uint32_t next; (next = source[number]) != kNone;) number = next;
    }
    out[exchange[s]] = number;
  }
}

// [0, count) of a thread block's threads in order: the sum of all before, and of all.
__device__ double scan_block(double own, double& total) {
  __shared__ double sums[kThreads / 32];
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  double sum = own;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const double before = __shfl_up_sync(~0u, sum, step);
    if (lane >= step) sum += before;
  }
  double before = __shfl_up_sync(~0u, sum, 1);
  if (lane == 0) before = 0;
  __syncthreads();  // sums may still be read, of the call before
  if (lane == 31) sums[warp] = sum;
  __syncthreads();
  double base = 0, all = 0;
#pragma unroll
  for (int w = 0; w < kThreads / 32; ++w) base += w < warp ? sums[w] : 0, all += sums[w];
  total = all;
  return base + before;
}
constexpr int kEach = 8, kTile = kThreads * kEach;
// sums[r, i]: of weights up to i within their tile; totals[r, tile].
__global__ void __launch_bounds__(kThreads)
    tile_sums(const double* weights, std::int64_t n, std::int64_t tiles, double* sums, double* totals) {
  const std::int64_t row = blockIdx.x / tiles, tile = blockIdx.x % tiles;
  const std::int64_t first = tile * kTile + threadIdx.x * kEach;
  double s[kEach], own = 0, total;
#pragma unroll
  for (int k = 0; k < kEach; ++k) s[k] = own += first + k < n ? weights[row * n + first + k] : 0;
  const double before = scan_block(own, total);
#pragma unroll
  for (int k = 0; k < kEach; ++k)
    if (first + k < n) sums[row * n + first + k] = before + s[k];
  if (threadIdx.x == 0) totals[blockIdx.x] = total;
}
__global__ void __launch_bounds__(kThreads) scan_totals(std::int64_t tiles, double* totals) {
  double* const t = totals + blockIdx.x * tiles;
  double carry = 0, total;
  for (std::int64_t first = 0; first < tiles; first += kThreads) {
    const std::int64_t i = first + threadIdx.x;
    const double own = i < tiles ? t[i] : 0, before = scan_block(own, total);
    if (i < tiles) t[i] = carry + (before + own);
    carry += total;
  }
}
// How many of n ascending sums are at most x.
__device__ std::int64_t count_up_to(const double* sums, std::int64_t n, double base, double x) {
  std::int64_t low = 0, high = n;
  while (low < high) {
    const std::int64_t mid = low + (high - low) / 2;
    if (base + sums[mid] <= x) low = mid + 1;
    else high = mid;
  }
  return low;
}
__device__ double unit_at(const PhiloxDraw& d, std::int64_t i) {
  const uint4 w = d.block(std::uint64_t(i) / 2);
  return i % 2 ? uniform64(w.z, w.w) : uniform64(w.x, w.y);
}
__global__ void __launch_bounds__(kThreads)
    sample(PhiloxDraw d, const double* weights, const double* sums, const double* totals, std::int64_t n,
           std::int64_t tiles, std::int64_t samples, std::int64_t count, std::int64_t* out) {
  d.begin();
  for (std::int64_t s = first_index(); s < count; s += index_step()) {
    const std::int64_t row = s / samples;
    const double *w = weights + row * n, *t = totals + row * tiles;
    const double x = unit_at(d, s) * t[tiles - 1];
    const std::int64_t found = count_up_to(t, tiles, 0, x), tile = found < tiles ? found : tiles - 1;
    const std::int64_t first = tile * kTile, size = n - first < kTile ? n - first : kTile;
    std::int64_t i = first + count_up_to(sums + row * n + first, size, tile ? t[tile - 1] : 0, x);
    if (i >= n) i = n - 1;
    while (i > 0 && w[i] == 0) --i;  // x may round up to the sum of all
    out[s] = i;
  }
}
// The order of E / w, E exponential, is that of drawing one after the other (Efraimidis and Spirakis, 2006).
__global__ void __launch_bounds__(kThreads)
    waits(PhiloxDraw d, const double* weights, std::int64_t count, double* keys) {
  d.begin();
  for (std::int64_t i = first_index(); i < count; i += index_step())
    keys[i] = weights[i] > 0 ? -::log1p(-unit_at(d, i)) / weights[i] : __longlong_as_double(0x7ff0000000000000);
}
}  // namespace

void permutation(Context& c, const Draw& d, View out) {
  const std::int64_t n = out.numel();
  if (!n) return;
  if (n >= std::int64_t(kNone))
    return c.fail(fail(DeviceFailure::absent,
                       "expected fewer than 2^32 - 1 numbers on cuda, got %lld; make them on the cpu",
                       static_cast<long long>(n)));
  const int index = c.device.index;
  const OnDevice on(index);
  const cudaStream_t stream = current_stream(index);
  Scratch scratch(index, stream);
  std::uint32_t *target[2], *exchange[2], *source;
  for (auto* p : {&target[0], &target[1], &exchange[0], &exchange[1], &source})
    if (Failed f = scratch.take(std::size_t(n) * 4, p)) return c.fail(f);
  const unsigned blocks = blocks_for(n);
  targets<<<blocks, kThreads, 0, stream>>>(drawn(d, index), std::uint32_t(n), target[0], exchange[0]);
  if (Failed f = sort_pairs(scratch, stream, n, bits_below(n), target, exchange)) return c.fail(f);
  if (Failed f = failed(cudaMemsetAsync(source, 0xff, std::size_t(n) * 4, stream), "randperm")) return c.fail(f);
  sources<<<blocks, kThreads, 0, stream>>>(std::uint32_t(n), target[0], exchange[0], source);
  permute<<<blocks, kThreads, 0, stream>>>(std::uint32_t(n), target[0], exchange[0], source, out.as<std::int64_t>());
  c.fail(launched(index));
}

void multinomial(Context& c, const Draw& d, bool replacement, View weights, View out) {
  const std::int64_t rows = weights.size(0), n = weights.size(1), samples = out.size(1);
  if (!out.numel()) return;
  const std::int64_t tiles = (n + kTile - 1) / kTile;
  if (rows * tiles >> 31)
    return c.fail(fail(DeviceFailure::absent, "expected fewer than 2^31 rows of weights on cuda, got %lld of %lld",
                       static_cast<long long>(rows), static_cast<long long>(n)));
  const int index = c.device.index;
  const OnDevice on(index);
  const cudaStream_t stream = current_stream(index);
  Scratch scratch(index, stream);
  const double* const w = weights.as<double>();
  const unsigned blocks = blocks_for(rows * n);
  if (!replacement) {
    const Spec spec = Spec::dense(DType::float64, weights.spec->sizes(), c.device);
    View keys{nullptr, &spec};
    if (Failed f = scratch.take(spec.bytes(), &keys.data)) return c.fail(f);
    waits<<<blocks, kThreads, 0, stream>>>(drawn(d, index), w, rows * n, keys.as<double>());
    return select_sorted(c, Selection::smallest, 1, 0, keys, {}, out);
  }
  double *sums, *totals;
  if (Failed f = scratch.take(std::size_t(rows * n) * 8, &sums)) return c.fail(f);
  if (Failed f = scratch.take(std::size_t(rows * tiles) * 8, &totals)) return c.fail(f);
  tile_sums<<<unsigned(rows * tiles), kThreads, 0, stream>>>(w, n, tiles, sums, totals);
  scan_totals<<<unsigned(rows), kThreads, 0, stream>>>(tiles, totals);
  sample<<<blocks_for(out.numel()), kThreads, 0, stream>>>(drawn(d, index), w, sums, totals, n, tiles, samples,
                                                           out.numel(), out.as<std::int64_t>());
  c.fail(launched(index));
}

}  // namespace neura::cuda
