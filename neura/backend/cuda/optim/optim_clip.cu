// clip_grad_norm_: the norm of many tensors together, and their scaling by what the device has found. And what takes
// the scale of a loss off its gradients. A block takes a part of one tensor; parts are added up in an order that sizes
// alone decide.
#include <algorithm>

#include "neura/backend/cuda/runtime/failure.h"
#include "neura/backend/cuda/optim/optim.cuh"
#include "neura/backend/cuda/runtime/scratch.h"

namespace neura::cuda {
namespace {

template <class N> __device__ N if_greater(N a, N b, N yes, N no) { return a > b ? yes : no; }
#define NEURA_RULE NEURA_HD
#include "neura/backend/number/clip.h"
#undef NEURA_RULE

constexpr int kTensors = 160;         // of a launch: its parameters fit in 4 KiB
constexpr std::uint32_t kRounds = 4;  // packs that a thread has in flight
struct Part {
  char* data;
  std::int64_t size;    // real numbers
  std::uint32_t block;  // the first one of this tensor
  DType dtype;          // real
  bool packs;           // at a multiple of 16 bytes
};
struct Parts {
  Part part[kTensors];
  std::uint32_t count = 0, blocks = 0;
  std::uint32_t tiles;  // of a block: 16 KiB each
};
constexpr std::uint32_t kTile = kThreads * 16 * kRounds;

// f.operator()<M>() for an element in memory.
template <class F> __device__ void with_element(DType d, const F& f) {
  if (d == DType::float32) f.template operator()<float>();
  else if (d == DType::bfloat16) f.template operator()<BFloat16>();
  else if (d == DType::float16) f.template operator()<Half>();
  else f.template operator()<double>();
}
// f(elements, their address) for all that this block has of its tensor: in packs, or one by one. As many packs are
// read before the first is used as hide the memory's latency.
template <class M, class F> __device__ void for_block(const Part& p, std::uint32_t tiles, const F& f) {
  using E = std::conditional_t<sizeof(M) == 8, double, float>;
  constexpr std::uint32_t V = 16 / sizeof(M), step = kThreads * V;
  const std::int64_t begin = std::int64_t(blockIdx.x - p.block) * tiles * (kTile / sizeof(M)), left = p.size - begin;
  const std::uint32_t most = tiles * std::uint32_t(kTile / sizeof(M));
  const std::uint32_t size = left < most ? std::uint32_t(left) : most, whole = p.packs ? size / V * V : 0;
  char* const data = p.data + begin * std::int64_t(sizeof(M));
  for (std::uint32_t first = threadIdx.x * V; first < whole; first += step * kRounds) {
    E v[kRounds][V];
#pragma unroll
    for (std::uint32_t k = 0; k < kRounds; ++k)
      if (first + k * step < whole) load_as<M, V>(v[k], data, first + k * step);
#pragma unroll
    for (std::uint32_t k = 0; k < kRounds; ++k)
      if (first + k * step < whole) f(v[k], data + (first + k * step) * sizeof(M));
  }
  for (std::uint32_t i = whole + threadIdx.x; i < size; i += kThreads) {
    E v[1];
    load_as<M, 1>(v, data, i), f(v, data + i * sizeof(M));
  }
}

// What all threads of the block have, added up; thread 0 has it.
template <int threads> __device__ double sum_of_block(double a) {
  __shared__ double shared[threads / 32];
  const auto plus = [](double x, double y) { return x + y; };
  a = across_warp(a, plus);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = a;
  __syncthreads();
  if (threadIdx.x) return 0;
  for (int w = 1; w < threads / 32; ++w) a += shared[w];
  return a;
}

__global__ void __launch_bounds__(kThreads) squares(const __grid_constant__ Parts a, double* sums) {
  const Part& p = part_of_block(a.part, a.count);
  double sum = 0;
  with_element(p.dtype, [&]<class M>() {
    for_block<M>(p, a.tiles, [&]<int V>(const auto(&v)[V], char*) {
#pragma unroll
      for (int k = 0; k < V; ++k) sum += double(v[k]) * double(v[k]);
    });
  });
  sum = sum_of_block<kThreads>(sum);
  if (!threadIdx.x) sums[blockIdx.x] = sum;
}
constexpr int kJoining = 1024;
__global__ void __launch_bounds__(kJoining) join(const double* sums, std::uint32_t n, char* norm, DType dtype) {
  double sum = 0;
  for (std::uint32_t i = threadIdx.x; i < n; i += kJoining) sum += sums[i];
  sum = sum_of_block<kJoining>(sum);
  if (!threadIdx.x) store_one(norm, dtype, sqrt(sum));
}

__device__ double rounded(double v, DType d) {
  if (d == DType::float64) return v;
  if (d == DType::float32) return float(v);
  return d == DType::bfloat16 ? float(narrow<BFloat16>(float(v))) : float(narrow<Half>(float(v)));
}
__global__ void __launch_bounds__(kThreads)
    clip(const __grid_constant__ Parts a, const char* norm, DType dtype, double max_norm) {
  const double factor = rounded(clip_factor(load_one<double>(norm, dtype), max_norm), dtype);
  if (factor == 1) return;
  const Part& p = part_of_block(a.part, a.count);
  with_element(p.dtype, [&]<class M>() {
    for_block<M>(p, a.tiles, [&]<class E, int V>(E(&v)[V], char* to) {
#pragma unroll
      for (int k = 0; k < V; ++k) v[k] *= E(factor);
      store_as<M, V>(v, to, 0);
    });
  });
}
// Takes the scale of a loss off its gradients. Any block that meets one that is not finite says so.
__global__ void __launch_bounds__(kThreads)
    unscale(const __grid_constant__ Parts a, const float* by_what, float* found) {
  const float by = *by_what;
  const Part& p = part_of_block(a.part, a.count);
  bool finite = true;
  with_element(p.dtype, [&]<class M>() {
    for_block<M>(p, a.tiles, [&]<class E, int V>(E(&v)[V], char* to) {
#pragma unroll
      for (int k = 0; k < V; ++k) finite &= isfinite(v[k]), v[k] *= E(by);
      store_as<M, V>(v, to, 0);
    });
  });
  if (!finite) *found = 1;
}

// launch(parts) for as many tensors at a time as its parameters hold.
template <class F> void for_parts(std::span<const View> tensors, const F& launch) {
  std::int64_t bytes = 0;
  for (const View& t : tensors) bytes += t.numel() * size_of(t.dtype());
  Parts a;
  a.tiles = bytes < std::int64_t{1} << 26 ? 1 : 8;
  const auto flush = [&] {
    if (a.count) launch(a);
    a.count = a.blocks = 0;
  };
  for (const View& t : tensors) {
    if (!t.numel()) continue;
    const std::int64_t each = std::int64_t(kTile) * a.tiles;
    const std::int64_t blocks = (t.numel() * size_of(t.dtype()) + each - 1) / each;
    if (a.count == kTensors || a.blocks + blocks > INT32_MAX) flush();
    const DType real = to_real(t.dtype());
    a.part[a.count++] = {t.data, t.numel() * (neura::is_complex(t.dtype()) ? 2 : 1), a.blocks, real,
                         reinterpret_cast<std::uintptr_t>(t.data) % 16 == 0};
    a.blocks += std::uint32_t(blocks);
  }
  flush();
}

}  // namespace

void norm_of_all(Context& c, std::span<const View> tensors, View norm) {
  const int index = c.device.index;
  const OnDevice on(index);
  const cudaStream_t stream = current_stream(index);
  std::uint32_t blocks = 0;
  for_parts(tensors, [&](const Parts& a) { blocks += a.blocks; });
  Scratch scratch(index, stream);
  double* sums = nullptr;
  if (Failed f = scratch.take(std::max<std::size_t>(blocks, 1) * sizeof(double), &sums)) return c.fail(f);
  double* to = sums;
  for_parts(tensors, [&](const Parts& a) { squares<<<a.blocks, kThreads, 0, stream>>>(a, to), to += a.blocks; });
  join<<<1, kJoining, 0, stream>>>(sums, blocks, norm.data, norm.dtype());
  c.fail(launched(index));
}

void clip_all(Context& c, std::span<const View> tensors, View norm, double max_norm) {
  const int index = c.device.index;
  const OnDevice on(index);
  const cudaStream_t stream = current_stream(index);
  for_parts(tensors,
            [&](const Parts& a) { clip<<<a.blocks, kThreads, 0, stream>>>(a, norm.data, norm.dtype(), max_norm); });
  c.fail(launched(index));
}

void unscale_all(Context& c, std::span<const View> tensors, View by, View found) {
  const int index = c.device.index;
  const OnDevice on(index);
  const cudaStream_t stream = current_stream(index);
  for_parts(tensors, [&](const Parts& a) {
    unscale<<<a.blocks, kThreads, 0, stream>>>(a, by.as<const float>(), found.as<float>());
  });
  c.fail(launched(index));
}

}  // namespace neura::cuda
