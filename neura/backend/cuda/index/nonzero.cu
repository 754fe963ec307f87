// Elements that are not zero: counted tile by tile, then written in order.
#include "neura/backend/cuda/index/index.cuh"
#include "neura/backend/cuda/runtime/scratch.h"

namespace neura::cuda {
namespace {

constexpr int kWarps = kThreads / 32, kRounds = 16;
constexpr std::int64_t kTile = std::int64_t{kThreads} * kRounds;  // a warp has 32 * kRounds neighbours

struct Elements {
  const char* x;
  std::int64_t numel;
  std::uint64_t mask;  // of the bits that zeros have not, minus zero among them; of both halves of 16 bytes
  int bytes;
  bool aligned;  // to 16 bytes
};
std::uint64_t mask_of_dtype(DType d) {
  constexpr std::uint64_t half = 0x7fff, single = 0x7fffffff, whole = ~std::uint64_t{0};
  switch (d) {
    case DType::float8_e4m3:
    case DType::float8_e5m2:
      return 0x7f;
    case DType::float16:
    case DType::bfloat16:
      return half;
    case DType::float32:
      return single;
    case DType::complex64:
      return single << 32 | single;
    case DType::float64:
    case DType::complex128:
      return whole >> 1;
    default:
      return whole;
  }
}
template <class U> __device__ bool is_nonzero(const U& v, std::uint64_t mask) {
  if constexpr (sizeof(U) == 16) return ((v.half[0] | v.half[1]) & mask) != 0;
  else return (std::uint64_t(v) & mask) != 0;
}
// Of the warp's part of the tile: lane r has the mask of round r.
template <class U> __device__ unsigned found_by(const Elements& e, std::int64_t begin) {
  const int lane = int(threadIdx.x % 32);
  if constexpr (sizeof(U) == 1) {
    if (e.aligned && begin + 32 * kRounds <= e.numel) {  // sixteen neighbours of a lane are half a round
      const uint4 v = *reinterpret_cast<const uint4*>(e.x + begin + lane * 16);
      const unsigned words[4] = {v.x, v.y, v.z, v.w}, mask = unsigned(e.mask & 0xff);
      unsigned half = 0;
#pragma unroll
      for (int b = 0; b < 16; ++b) half |= unsigned((words[b / 4] >> (8 * (b % 4)) & mask) != 0) << b;
      const unsigned low = __shfl_sync(~0u, half, 2 * lane % 32), high = __shfl_sync(~0u, half, (2 * lane + 1) % 32);
      return lane < kRounds ? high << 16 | low : 0;
    }
  }
  bool set[kRounds];
#pragma unroll
  for (int r = 0; r < kRounds; ++r) {
    const std::int64_t i = begin + r * 32 + lane;
    set[r] = i < e.numel && is_nonzero(reinterpret_cast<const U*>(e.x)[i], e.mask);
  }
  unsigned mine = 0;
#pragma unroll
  for (int r = 0; r < kRounds; ++r) {
    const unsigned all = __ballot_sync(~0u, set[r]);
    if (lane == r) mine = all;
  }
  return mine;
}
__device__ inline std::int64_t begin_of_warp() {
  return std::int64_t(blockIdx.x) * kTile + std::int64_t(threadIdx.x / 32) * (32 * kRounds);
}
// Sums over the lanes up to this one.
__device__ inline std::int64_t running(std::int64_t n) {
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const std::int64_t other = __shfl_up_sync(~0u, n, step);
    if (int(threadIdx.x % 32) >= step) n += other;
  }
  return n;
}

template <class U> __global__ void __launch_bounds__(kThreads) count_kernel(Elements e, std::int64_t* counts) {
  __shared__ int shared[kWarps];
  int n = __popc(found_by<U>(e, begin_of_warp()));
  n = across_warp(n, [](int a, int b) { return a + b; });
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = n;
  __syncthreads();
  if (threadIdx.x) return;
  for (int w = 1; w < kWarps; ++w) n += shared[w];
  counts[blockIdx.x] = n;
}
// One block: counts[i] becomes how many there are before tile i; counts[tiles] how many there are.
__global__ void __launch_bounds__(1024) begin_kernel(std::int64_t* counts, std::int64_t tiles) {
  __shared__ std::int64_t shared[32];
  const int lane = int(threadIdx.x % 32), warp = int(threadIdx.x / 32);
  std::int64_t before = 0;
  for (std::int64_t first = 0; first < tiles; first += 1024) {
    const std::int64_t i = first + threadIdx.x, own = i < tiles ? counts[i] : 0, sum = running(own);
    if (lane == 31) shared[warp] = sum;
    __syncthreads();
    if (warp == 0) shared[lane] = running(shared[lane]);
    __syncthreads();
    if (i < tiles) counts[i] = before + (warp ? shared[warp - 1] : 0) + sum - own;
    before += shared[31];
    __syncthreads();
  }
  if (threadIdx.x == 0) counts[tiles] = before;
}
template <class U> __global__ void __launch_bounds__(kThreads)
    write_kernel(Elements e, const __grid_constant__ Walk<1> sizes, int rank, const std::int64_t* begins,
                 std::int64_t* out) {
  __shared__ int shared[kWarps];
  const int lane = int(threadIdx.x % 32), warp = int(threadIdx.x / 32);
  const std::int64_t begin = begin_of_warp();
  const unsigned mine = found_by<U>(e, begin);
  const int upto = int(running(__popc(mine)));
  if (lane == 31) shared[warp] = upto;
  __syncthreads();
  std::int64_t base = begins[blockIdx.x];
  for (int w = 0; w < warp; ++w) base += shared[w];
#pragma unroll 1
  for (int r = 0; r < kRounds; ++r) {
    const unsigned set = __shfl_sync(~0u, mine, r);
    const int before = __shfl_sync(~0u, upto, r) - __popc(set);
    if (!(set >> lane & 1)) continue;
    std::int64_t* to = out + (base + before + __popc(set & ((1u << lane) - 1))) * rank;
    std::int64_t i = begin + r * 32 + lane;
    for (int d = rank - 1; d > 0; --d) {
      const std::int64_t q = sizes.numel >> 31 ? i / sizes.size[d] : quotient(std::uint32_t(i), sizes.fast[d]);
      to[d] = i - q * sizes.size[d], i = q;
    }
    to[0] = i;
  }
}

struct Search {
  const OnDevice on;
  const cudaStream_t stream;
  Scratch scratch;
  Elements e;
  std::int64_t tiles, *counts = nullptr;

  Search(Context& c, const View& x)
      : on(c.device.index),
        stream(current_stream(c.device.index)),
        scratch(c.device.index, stream),
        e{x.data, x.numel(), mask_of_dtype(x.dtype()), size_of(x.dtype()),
          reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0},
        tiles((e.numel - 1) / kTile + 1) {}
  Failed count() {
    if (tiles >> 31) return fail(DeviceFailure::absent, "expected fewer than 2^43 elements on cuda");
    if (Failed f = scratch.take(std::size_t(tiles + 1) * sizeof *counts, &counts)) return f;
    visit_width(e.bytes, [&]<class U>(U) { count_kernel<U><<<unsigned(tiles), kThreads, 0, stream>>>(e, counts); });
    begin_kernel<<<1, 1024, 0, stream>>>(counts, tiles);
    return nullptr;
  }
};

}  // namespace

std::int64_t count_nonzero(Context& c, View x) {
  if (!x.numel()) return 0;
  Search s(c, x);
  std::int64_t n = 0;
  Failed f = s.count();
  if (!f) f = launched(c.device.index);
  if (!f)
    f = failed(cudaMemcpyAsync(&n, s.counts + s.tiles, sizeof n, cudaMemcpyDeviceToHost, s.stream), "count_nonzero");
  if (!f) f = failed(cudaStreamSynchronize(s.stream), "count_nonzero");
  if (!f) f = reported(c.device.index);
  c.fail(f);
  return f ? 0 : n;
}

void nonzero(Context& c, View x, View out) {
  if (!x.rank() || !out.numel()) return;
  Search s(c, x);
  if (Failed f = s.count()) return c.fail(f);
  Walk<1> sizes;
  sizes.rank = x.rank(), sizes.numel = x.numel();
  for (int d = 0; d < x.rank(); ++d) sizes.set(d, x.size(d));
  visit_width(s.e.bytes, [&]<class U>(U) {
    write_kernel<U>
        <<<unsigned(s.tiles), kThreads, 0, s.stream>>>(s.e, sizes, x.rank(), s.counts, out.as<std::int64_t>());
  });
  c.fail(launched(c.device.index));
}

}  // namespace neura::cuda
