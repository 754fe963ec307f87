// Moving elements: copies are conversions that convert nothing, triangles are copies with zeros.
#include "neura/backend/cuda/create/arange.h"

#include "neura/backend/cuda/index/index.cuh"

namespace neura::cuda {
namespace {

struct Moved {
  Walk<2> walk;  // to, from
  char* to;
  const char* from;
};
constexpr int kEach = 4;
template <class U, class I> __global__ void __launch_bounds__(kThreads) move_kernel(const __grid_constant__ Moved a) {
  const I first = I(blockIdx.x) * (kThreads * kEach) + threadIdx.x, numel = I(a.walk.numel);
  std::int64_t at[kEach][2];
  U piece[kEach];
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const I i = first + I(k * kThreads);
    if (i >= numel) break;
    locate(a.walk, i, at[k]);
    piece[k] = *reinterpret_cast<const U*>(a.from + at[k][1]);
  }
#pragma unroll
  for (int k = 0; k < kEach; ++k)
    if (first + I(k * kThreads) < numel) *reinterpret_cast<U*>(a.to + at[k][0]) = piece[k];
}
// Lines that are contiguous on both sides are moved as bytes.
void copy(Context& c, View from, View to) {
  if (!to.numel()) return;
  const DType d = to.dtype();
  const std::int64_t bytes = size_of(d);
  const Plan p = make_plan(to, d, &from, &d, 1);
  const int last = p.rank - 1;
  const bool lines = p.rank > 1 && p.dtype[1] == p.dtype[0] && !p.host && p.strides[last][0] == bytes &&
                     p.strides[last][1] == bytes && p.shape[last] * bytes >= 64;
  if (!lines) return c.fail(assign(to, from));
  Moved a{{}, p.data[0], p.data[1]};
  for (int k = 0; k < p.rank; ++k) a.walk.add(p.shape[k], {p.strides[k][0], p.strides[k][1]});
  const auto addresses = reinterpret_cast<std::uintptr_t>(a.to) | reinterpret_cast<std::uintptr_t>(a.from);
  const int unit = widen(a.walk, int(bytes), 3u, -1, addresses);
  const OnDevice on(c.device.index);
  NEURA_BY_WIDTH(move_kernel, unit, a.walk.wide(), blocks_for(a.walk.numel, kThreads * kEach),
                 current_stream(c.device.index), a);
  c.fail(launched(c.device.index));
}

struct Triangle {
  Walk<3> walk;  // x, row of its matrix, column: of packs
  const char* x;
  char* out;
  std::int64_t diagonal;
  bool upper;
};
// V elements of a row. Outside of the triangle x is not read.
template <class U, int V, class I> __global__ void __launch_bounds__(kThreads)
    triangle_kernel(const __grid_constant__ Triangle a) {
  const I i = I(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= I(a.walk.numel)) return;
  std::int64_t at[3];
  locate(a.walk, i, at);
  const std::int64_t edge = at[1] + a.diagonal + (a.upper ? 0 : 1) - at[2];  // in the pack: where zeros end or begin
  PackOf<U, V> v{};
  if (a.upper ? edge < V : edge > 0) {
    v = *reinterpret_cast<const PackOf<U, V>*>(a.x + at[0]);
#pragma unroll
    for (int k = 0; k < V; ++k)
      if (a.upper ? k < edge : k >= edge) v.v[k] = U{};
  }
  reinterpret_cast<PackOf<U, V>*>(a.out)[i] = v;
}
template <class U, int V> void run(const Triangle& a, cudaStream_t stream) {
  const unsigned blocks = blocks_for(a.walk.numel, kThreads);
  if (a.walk.wide()) triangle_kernel<U, V, std::uint64_t><<<blocks, kThreads, 0, stream>>>(a);
  else triangle_kernel<U, V, std::uint32_t><<<blocks, kThreads, 0, stream>>>(a);
}

void triangle(Context& c, View x, View out, std::int64_t diagonal, bool upper) {
  if (!out.numel()) return;
  const int last = x.rank() - 1;
  const std::int64_t bytes = size_of(out.dtype()), width = out.size(last);
  bool packs = width * bytes % 16 == 0 && x.stride(last) == 1;
  auto all = reinterpret_cast<std::uintptr_t>(x.data) | reinterpret_cast<std::uintptr_t>(out.data);
  for (int d = 0; d < last; ++d) all |= std::uint64_t(step_at(x, d));
  packs = packs && all % 16 == 0;
  const std::int64_t most = width + out.size(last - 1);  // a diagonal beyond this one changes nothing
  Triangle a{{}, x.data, out.data, std::min(std::max(diagonal, -most), most), upper};
  for (int d = 0; d < last; ++d) a.walk.add(x.size(d), {step_at(x, d), d == last - 1, 0});
  const std::int64_t each = packs ? 16 / bytes : 1;
  a.walk.add(width / each, {step_at(x, last) * each, 0, each});
  const OnDevice on(c.device.index);
  const cudaStream_t stream = current_stream(c.device.index);
  visit_width(int(bytes), [&]<class U>(U) {
    if (packs) run<U, int(16 / sizeof(U))>(a, stream);
    else run<U, 1>(a, stream);
  });
  c.fail(launched(c.device.index));
}

}  // namespace

const create_kernels* create() {
  static constexpr create_kernels table{.copy = copy, .triangle = triangle, .arange = arange};
  return &table;
}

}  // namespace neura::cuda
