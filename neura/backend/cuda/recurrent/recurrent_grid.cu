// A recurrence of a few units and rows in one launch. The rows are cut into groups, which are independent;
// the blocks of a group share the hidden units. A block keeps its part of w in shared memory, and takes a step when all
// of its group have written what they computed in the step before.
#include <algorithm>
#include <atomic>
#include <optional>

#include "neura/backend/cuda/runtime/memory.cuh"
#include "neura/backend/cuda/recurrent/recurrent.cuh"
#include "neura/backend/cuda/runtime/scratch.h"

namespace neura::cuda {
namespace {

constexpr int kWarps = kThreads / 32;
constexpr int kPad = 4;       // numbers after a line in shared memory: adjacent lines start in other banks
constexpr int kCounter = 32;  // from one group's counter to the next: a cache line
constexpr std::int64_t kMost = std::int64_t{1} << 31;

std::atomic<bool> wanted{true};
std::atomic<std::int64_t> done{0};

struct Grid {
  RecurrenceData d;
  DType dtype;
  int bytes;  // of an element
  bool reverse, relu;
  int times, batch, hidden;
  int units, members;  // of a block; blocks of a group
  int k, columns;      // of the block's product: its length, and its columns, with those that fill a warp's tile
  unsigned* counters;
  std::int64_t slot;
};

__device__ inline uint4 load_written(const char* p) {  // what other blocks write in this launch
  uint4 v;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p)
               : "memory");
  return v;
}
__device__ inline void arrive(unsigned* counter) {
  __syncthreads();
  if (threadIdx.x) return;
  __threadfence();
  atomicAdd(counter, 1u);
}
__device__ inline void wait_for(unsigned* counter, unsigned count) {
  if (!threadIdx.x) {
    unsigned seen;
    do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
    while (int(seen - count) < 0);
  }
  __syncthreads();
}

template <class M> __device__ void unpack(uint4 v, float* to) {
  constexpr int V = 16 / sizeof(M);
  union Bits {
    uint4 whole;
    M part[V];
    __device__ Bits() {}
  } bits;
  bits.whole = v;
#pragma unroll
  for (int i = 0; i < V; i += 4)
    *reinterpret_cast<float4*>(to + i) = make_float4(cast<float>(bits.part[i]), cast<float>(bits.part[i + 1]),
                                                     cast<float>(bits.part[i + 2]), cast<float>(bits.part[i + 3]));
}
// tile[r][i] = lines[r][i] of R rows, zeros after those that are there.
template <class M, int R> __device__ void load_tile(float* tile, const char* lines, int rows, int k) {
  constexpr int V = 16 / sizeof(M), kFlight = 8;
  const int packs = k / V, all = R * packs;
  for (int first = threadIdx.x; first < all; first += kThreads * kFlight) {
    uint4 v[kFlight];
#pragma unroll
    for (int f = 0; f < kFlight; ++f) {
      const int i = first + f * kThreads;
      v[f] = make_uint4(0, 0, 0, 0);
      if (i < rows * packs) v[f] = load_written(lines + std::int64_t(i) * 16);
    }
#pragma unroll
    for (int f = 0; f < kFlight; ++f) {
      const int i = first + f * kThreads, r = i / packs;
      if (i < all) unpack<M>(v[f], tile + r * (k + kPad) + (i - r * packs) * V);
    }
  }
}
template <int R> __device__ void load_tile(const Grid& a, float* tile, const char* lines, int rows) {
  if (a.dtype == DType::float32) load_tile<float, R>(tile, lines, rows, a.k);
  else if (a.dtype == DType::float16) load_tile<Half, R>(tile, lines, rows, a.k);
  else load_tile<BFloat16, R>(tile, lines, rows, a.k);
}

// partial[warp][r][c] = sum over the warp's part of k of tile[r][k] weights[c][k]. A lane has a row and J columns.
template <int R, int J>
__device__ void multiply(const Grid& a, const float* tile, const float* weights, float* partial) {
  constexpr int kApart = 32 / R;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, r = lane % R, of = lane / R, pitch = a.k + kPad;
  const int begin = a.k / 4 * warp / kWarps * 4, end = a.k / 4 * (warp + 1) / kWarps * 4;
  const float* const h = tile + r * pitch;
  float* const to = partial + (warp * R + r) * (a.columns + kPad) + of;
  for (int c = 0; c < a.columns; c += J * kApart) {
    const float* const w = weights + (c + of) * pitch;
    float sum[J] = {};
#pragma unroll 2
    for (int i = begin; i < end; i += 4) {
      const float4 x = *reinterpret_cast<const float4*>(h + i);
#pragma unroll
      for (int j = 0; j < J; ++j) {
        const float4 y = *reinterpret_cast<const float4*>(w + j * kApart * pitch + i);
        sum[j] = fmaf(x.x, y.x, sum[j]), sum[j] = fmaf(x.y, y.y, sum[j]);
        sum[j] = fmaf(x.z, y.z, sum[j]), sum[j] = fmaf(x.w, y.w, sum[j]);
      }
    }
#pragma unroll
    for (int j = 0; j < J; ++j) to[c + j * kApart] = sum[j];
  }
}
template <int R> constexpr int kWide = 8 * 32 / R;  // columns of the widest tile
template <int R> __device__ void multiply(const Grid& a, const float* tile, const float* weights, float* partial) {
  __syncthreads();
  if (a.columns % kWide<R> == 0) multiply<R, 8>(a, tile, weights, partial);
  else if (a.columns % (kWide<R> / 2) == 0) multiply<R, 4>(a, tile, weights, partial);
  else multiply<R, 2>(a, tile, weights, partial);
  __syncthreads();
}
template <int R> __device__ float total(const Grid& a, const float* partial, int r, int c) {
  float sum = 0;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) sum += partial[(w * R + r) * (a.columns + kPad) + c];
  return sum;
}

// The position of a block, and of a thread of it that has a row and a unit.
template <int R> struct Standing {
  int group, first, rows, unit, r, u;  // the group's first row and how many; the block's first unit
  bool has;
  std::int64_t row, j;  // the thread's, among all
  __device__ explicit Standing(const Grid& a) {
    group = blockIdx.x / a.members, first = group * R, rows = a.batch - first < R ? a.batch - first : R;
    unit = (blockIdx.x - group * a.members) * a.units;
    r = threadIdx.x / a.units, u = threadIdx.x - r * a.units;
    has = r < rows && unit + u < a.hidden;
    row = first + r, j = unit + u;
  }
  __device__ std::int64_t line(const Grid& a, int t) const { return (std::int64_t(t) * a.batch + row) * a.hidden + j; }
};
struct Space {
  float *weights, *tile, *partial;
  __device__ Space(const Grid& a, float* all, int rows) {
    weights = all, tile = weights + a.columns * (a.k + kPad), partial = tile + rows * (a.k + kPad);
  }
};
__device__ inline int time_of(const Grid& a, int step) { return a.reverse ? a.times - 1 - step : step; }

// The block's columns of w, zeros in those that fill a tile. Column c: gate c / units of unit c % units.
template <int R> __device__ void load_weights(const Grid& a, const Standing<R>& me, int gates, float* weights) {
  for (int i = threadIdx.x; i < a.columns * a.k; i += kThreads) {
    const int c = i / a.k, k = i - c * a.k, g = c / a.units, u = c - g * a.units;
    float v = 0;
    if (g < gates && me.unit + u < a.hidden)
      v = load_simple<float>(a.d.w, a.dtype, std::uint32_t((g * a.hidden + me.unit + u) * a.k + k));
    weights[c * (a.k + kPad) + k] = v;
  }
}

extern __shared__ __align__(16) float shared_memory[];

template <CellKind C, int R> __global__ void __launch_bounds__(kThreads) forward(const __grid_constant__ Grid a) {
  constexpr int G = kGates<C>;
  const Standing<R> me(a);
  const Space space(a, shared_memory, R);
  unsigned* const counter = a.counters + me.group * kCounter;
  const int bytes = a.bytes;
  load_weights<R>(a, me, G, space.weights);
  const std::uint32_t state = std::uint32_t(me.row * a.hidden + me.j);
  float h = 0, c = 0, bias[3] = {};
  if (me.has) {
    if constexpr (C == CellKind::lstm) c = load_simple<float>(a.d.c0, a.dtype, state);
    if constexpr (C == CellKind::gru) {
      h = load_simple<float>(a.d.h0, a.dtype, state);
#pragma unroll
      for (int g = 0; g < 3; ++g)
        if (a.d.b) bias[g] = load_simple<float>(a.d.b, a.dtype, std::uint32_t(g * a.hidden + me.j));
    }
  }
  for (int step = 0; step < a.times; ++step) {
    const int t = time_of(a, step);
    const std::int64_t line = me.line(a, t);
    float x[G] = {};
    if (me.has) {
      const char* const at = a.d.x + ((std::int64_t(t) * a.batch + me.row) * G * a.hidden + me.j) * bytes;
#pragma unroll
      for (int g = 0; g < G; ++g) x[g] = load_simple<float>(at, a.dtype, std::uint32_t(g * a.hidden));
    }
    if (step) wait_for(counter, unsigned(step) * a.members);
    const std::int64_t before = std::int64_t(step ? time_of(a, step - 1) : 0) * a.batch + me.first;
    load_tile<R>(a, space.tile, (step ? a.d.y : a.d.h0) + before * a.hidden * bytes, me.rows);
    multiply<R>(a, space.tile, space.weights, space.partial);
    if (me.has) {
      float v[4], kept[5];
#pragma unroll
      for (int g = 0; g < G; ++g) v[g] = total<R>(a, space.partial, me.r, g * a.units + me.u);
      if constexpr (C == CellKind::gru) {
        v[3] = v[2] + bias[2], v[2] = x[2];
        v[0] += bias[0] + x[0], v[1] += bias[1] + x[1];
      } else {
#pragma unroll
        for (int g = 0; g < G; ++g) v[g] += x[g];
      }
      h = cell_forward<C>(v, h, c, a.relu, kept);
      store_simple(a.d.y + line * bytes, a.dtype, 0, h);
      if (a.d.kept) {
#pragma unroll
        for (int k = 0; k < kKept<C>; ++k) reinterpret_cast<float*>(a.d.kept)[k * a.slot + line] = kept[k];
      }
    }
    if (step + 1 < a.times) arrive(counter);
  }
  if (!me.has) return;
  store_simple(a.d.last, a.dtype, state, h);
  if constexpr (C == CellKind::lstm)
    store_simple(a.d.last + std::int64_t(a.batch) * a.hidden * bytes, a.dtype, state, c);
}

template <CellKind C, int R> __global__ void __launch_bounds__(kThreads) backward(const __grid_constant__ Grid a) {
  constexpr int G = kGates<C>;
  const Standing<R> me(a);
  const Space space(a, shared_memory, R);
  unsigned* const counter = a.counters + me.group * kCounter;
  const int bytes = a.bytes;
  for (int i = threadIdx.x; i < a.columns * a.k; i += kThreads) {  // column c: of unit c
    const int k = i / a.columns, c = i - k * a.columns;
    const bool there = c < a.units && me.unit + c < a.hidden;
    space.weights[c * (a.k + kPad) + k] =
        there ? load_simple<float>(a.d.w, a.dtype, std::uint32_t(k * a.hidden + me.unit + c)) : 0;
  }
  const std::uint32_t state = std::uint32_t(me.row * a.hidden + me.j);
  const std::int64_t all = std::int64_t(a.batch) * a.hidden;
  const float* const kept_before = reinterpret_cast<const float*>(a.d.kept);
  const char* const gates = C == CellKind::gru ? a.d.gh : a.d.gx;  // which reach the h before
  float gh = 0, gc = 0;
  if (me.has && a.d.glast) {
    gh = load_simple<float>(a.d.glast, a.dtype, state);
    if constexpr (C == CellKind::lstm) gc = load_simple<float>(a.d.glast + all * bytes, a.dtype, state);
  }
  for (int step = a.times - 1; step >= 0; --step) {
    const int t = time_of(a, step);
    float direct = 0;
    if (me.has) {
      const std::int64_t line = me.line(a, t), before = step ? me.line(a, time_of(a, step - 1)) : 0;
      float kept[5], g[4], h = 0, c = 0, d = gh;
#pragma unroll
      for (int k = 0; k < kKept<C>; ++k) kept[k] = kept_before[k * a.slot + line];
      if (a.d.gy) d += load_simple<float>(a.d.gy + line * bytes, a.dtype, 0);
      const float y = C == CellKind::simple ? load_simple<float>(a.d.y + line * bytes, a.dtype, 0) : 0;
      if constexpr (C == CellKind::gru)
        h = step ? load_simple<float>(a.d.y + before * bytes, a.dtype, 0) : load_simple<float>(a.d.h0, a.dtype, state);
      if constexpr (C == CellKind::lstm)
        c = step ? kept_before[4 * a.slot + before] : load_simple<float>(a.d.c0, a.dtype, state);
      direct = cell_backward<C>(d, gc, y, h, c, a.relu, kept, g);
      const std::int64_t at = ((std::int64_t(t) * a.batch + me.row) * G * a.hidden + me.j) * bytes;
#pragma unroll
      for (int k = 0; k < G; ++k) {
        const auto i = std::uint32_t(k * a.hidden);
        store_simple(a.d.gx + at, a.dtype, i, g[k]);
        if constexpr (C == CellKind::gru) store_simple(a.d.gh + at, a.dtype, i, g[k < 2 ? k : 3]);
      }
    }
    arrive(counter);
    wait_for(counter, unsigned(a.times - step) * a.members);
    load_tile<R>(a, space.tile, gates + (std::int64_t(t) * a.batch + me.first) * a.k * bytes, me.rows);
    multiply<R>(a, space.tile, space.weights, space.partial);
    if (me.has) gh = total<R>(a, space.partial, me.r, me.u) + direct;
  }
  if (!me.has) return;
  store_simple(a.d.gfirst, a.dtype, state, gh);
  if constexpr (C == CellKind::lstm) store_simple(a.d.gfirst + all * bytes, a.dtype, state, gc);
}

struct Device {
  int blocks, bytes;  // that run at the same time, and of shared memory in each; no blocks: it cannot be done
};
Device device_of(int index) {
  static std::atomic<std::int64_t> known[kDevices];
  std::int64_t v = known[index].load(std::memory_order_relaxed);
  if (!v) {
    const auto attribute = [index](cudaDeviceAttr a) {  // 0 where the device does not say
      int n = 0;
      discard(cudaDeviceGetAttribute(&n, a, index));
      return n;
    };
    const int blocks = attribute(cudaDevAttrCooperativeLaunch) ? attribute(cudaDevAttrMultiProcessorCount) : 0;
    v = std::int64_t(blocks) << 32 | attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    known[index].store(v, std::memory_order_relaxed);
  }
  return {int(v >> 32), int(v & 0xffffffff)};
}

struct Shape {
  int rows = 0, units = 0, members = 0, groups = 0, columns = 0, bytes = 0;
};
// As few rows in a group as there is room for its blocks: then they are many, and each has little to do.
std::optional<Shape> shape_of(const Device& device, int batch, int hidden, int k, int gates) {
  for (const int rows : {8, 16}) {
    Shape s{rows};
    s.groups = (batch + rows - 1) / rows;
    if (s.groups > device.blocks) continue;
    s.units = std::max((hidden + device.blocks / s.groups - 1) / (device.blocks / s.groups), 4);
    s.members = (hidden + s.units - 1) / s.units;
    const int least = 2 * 32 / rows, wide = 4 * least, wanted = s.units * gates;
    const int tile = wanted > 2 * least ? wide : wanted > least ? 2 * least : least;
    s.columns = (wanted + tile - 1) / tile * tile;
    const std::int64_t numbers =
        std::int64_t(s.columns + rows) * (k + kPad) + std::int64_t(kWarps) * rows * (s.columns + kPad);
    if (s.units * rows > kThreads || numbers * 4 > device.bytes) continue;
    s.bytes = int(numbers * 4);
    return s;
  }
  return {};
}

// `fits` is false where the device has fewer processors for us than it has.
Failed launch(const Grid& a, const Shape& s, CellKind c, bool back, cudaStream_t stream, bool* fits) {
  using Kernel = void (*)(Grid);
  static constexpr Kernel kernels[2][3][2] = {{{forward<CellKind::simple, 8>, forward<CellKind::simple, 16>},
                                               {forward<CellKind::gru, 8>, forward<CellKind::gru, 16>},
                                               {forward<CellKind::lstm, 8>, forward<CellKind::lstm, 16>}},
                                              {{backward<CellKind::simple, 8>, backward<CellKind::simple, 16>},
                                               {backward<CellKind::gru, 8>, backward<CellKind::gru, 16>},
                                               {backward<CellKind::lstm, 8>, backward<CellKind::lstm, 16>}}};
  const void* const kernel = reinterpret_cast<const void*>(kernels[back][int(c)][s.rows == 16]);
  NEURA_CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, s.bytes), "recurrence");
  void* arguments[] = {const_cast<Grid*>(&a)};
  const cudaError_t e = cudaLaunchCooperativeKernel(kernel, dim3(unsigned(s.groups * s.members)), dim3(kThreads),
                                                    arguments, std::size_t(s.bytes), stream);
  if ((*fits = e != cudaErrorCooperativeLaunchTooLarge)) return failed(e, "recurrence");
  return cudaGetLastError(), nullptr;
}

bool aligned(const RecurrenceData& d) {
  std::uintptr_t bits = 0;
  for (const char* p :
       {d.h0, static_cast<const char*>(d.y), static_cast<const char*>(d.gx), static_cast<const char*>(d.gh)})
    bits |= reinterpret_cast<std::uintptr_t>(p);
  return bits % 16 == 0;
}

}  // namespace

bool recur_at_once(int index, const RecurrentShape& r, const RecurrenceSizes& n, const RecurrenceData& d, bool back,
                   Failed* failure) {
  const bool fits = n.batch < 4096 && n.hidden < 4096 && n.hidden % 8 == 0 && r.times < kMost / 512;
  if (!wanted || r.sizes || !fits || n.dtype == DType::float64 || !aligned(d)) return false;
  const int gates = gates_of(r.cell), hidden = int(n.hidden), k = back ? gates * hidden : hidden;
  const std::optional<Shape> s = shape_of(device_of(index), int(n.batch), hidden, k, back ? 1 : gates);
  if (!s) return false;
  const cudaStream_t stream = current_stream(index);
  Scratch scratch(index, stream);
  Grid a{d,
         n.dtype,
         int(size_of(n.dtype)),
         r.reverse,
         r.cell == RecurrentCell::relu,
         int(r.times),
         int(n.batch),
         hidden,
         s->units,
         s->members,
         k,
         s->columns,
         nullptr,
         n.rows * n.hidden};
  const std::size_t counters = std::size_t(s->groups) * kCounter * sizeof(unsigned);
  bool known = true;
  *failure = [&]() -> Failed {
    if (Failed f = scratch.take(counters, &a.counters)) return f;
    NEURA_CUDA_TRY(cudaMemsetAsync(a.counters, 0, counters, stream), "recurrence");
    if (Failed f = launch(a, *s, kind_of(r.cell), back, stream, &known)) return f;
    return known ? launched(index) : nullptr;
  }();
  done += known && !*failure;
  return known;
}

}  // namespace neura::cuda

// For tests: a switch, and how many were computed so.
extern "C" __attribute__((visibility("default"))) void neura_recurrences_at_once_use(bool use) {
  neura::cuda::wanted = use;
}
extern "C" __attribute__((visibility("default"))) std::int64_t neura_recurrences_at_once() { return neura::cuda::done; }
