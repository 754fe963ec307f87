// Reading by index: one kernel for select and gather, which differ in the steps of their index alone.
#include "neura/backend/cuda/index/index.cuh"

namespace neura::cuda {
namespace {

constexpr int kEach = 4;  // pieces of a thread: their loads are in flight together

struct Read {
  Walk<2> walk;  // index, x; without x's step along the dimension
  IndexOperand index;
  const char* x;
  char* out;
  std::int64_t step, bound;
  Reporter reporter;
};
template <class U, class I> __global__ void __launch_bounds__(kThreads) read_kernel(const __grid_constant__ Read a) {
  const I first = I(blockIdx.x) * (kThreads * kEach) + threadIdx.x, numel = I(a.walk.numel);
  std::int64_t at[kEach][2], index[kEach];
  U piece[kEach];
  bool inside[kEach];
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const I i = first + I(k * kThreads);
    inside[k] = i < numel;
    if (inside[k]) locate(a.walk, i, at[k]), index[k] = a.index[at[k][0]];
  }
#pragma unroll
  for (int k = 0; k < kEach; ++k)
    if (inside[k] && (inside[k] = a.reporter.check(index[k], a.bound)))
      piece[k] = *reinterpret_cast<const U*>(a.x + at[k][1] + index[k] * a.step);
#pragma unroll
  for (int k = 0; k < kEach; ++k)
    if (inside[k]) reinterpret_cast<U*>(a.out)[first + I(k * kThreads)] = piece[k];
}

void read(Context& c, Read& a, int width) {
  if (Failed f = reporter_of(c, &a.reporter)) return c.fail(f);
  const auto all = reinterpret_cast<std::uintptr_t>(a.x) | reinterpret_cast<std::uintptr_t>(a.out);
  const int unit = widen(a.walk, width, 2u, 0, all | std::uint64_t(a.step));
  const OnDevice on(c.device.index);
  NEURA_BY_WIDTH(read_kernel, unit, a.walk.wide(), blocks_for(a.walk.numel, kThreads * kEach),
                 current_stream(c.device.index), a);
  c.fail(launched(c.device.index));
}

void select(Context& c, View x, View index, View out, int dim) {
  if (!out.numel()) return;
  Read a{{}, IndexOperand(index), x.data, out.data, step_at(x, dim), size_at(x, dim), {}};
  for (int d = 0; d < rank_of(x); ++d)
    a.walk.add(size_at(out, d), {d == dim ? step_at(index, 0) : 0, d == dim ? 0 : step_at(x, d)});
  read(c, a, size_of(out.dtype()));
}
void gather(Context& c, View x, View index, View out, int dim) {
  if (!out.numel()) return;
  Read a{{}, IndexOperand(index), x.data, out.data, step_at(x, dim), size_at(x, dim), {}};
  for (int d = 0; d < rank_of(index); ++d)
    a.walk.add(size_at(index, d), {step_at(index, d), d == dim ? 0 : step_at(x, d)});
  read(c, a, size_of(out.dtype()));
}

struct Coordinates {
  Walk<4> walk;
  const char* data[4];
  bool wide[4];
  std::int64_t size[4];
  int count;
  std::int64_t* out;
  Reporter reporter;
};
// A position with a coordinate outside becomes one that no kernel takes for a place.
template <class I> __global__ void __launch_bounds__(kThreads) linear_kernel(const __grid_constant__ Coordinates a) {
  const I i = I(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= I(a.walk.numel)) return;
  std::int64_t at[4], position = 0;
  locate(a.walk, i, at);
  bool inside = true;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (k >= a.count) break;
    const char* p = a.data[k] + at[k];
    const std::int64_t size = a.size[k], v = a.wide[k] ? *reinterpret_cast<const std::int64_t*>(p)
                                                       : *reinterpret_cast<const std::int32_t*>(p);
    const bool fits = v >= -size && v < size;
    if (!fits && inside) a.reporter.report(v, size);
    inside = inside && fits;
    position = position * size + (v < 0 ? v + size : v);
  }
  a.out[i] = inside ? position : std::int64_t{1} << 63;
}
void linear(Context& c, const View* coordinates, const std::int64_t* sizes, int count, View out) {
  if (!out.numel()) return;
  Coordinates a{};
  a.count = count, a.out = out.as<std::int64_t>();
  for (int k = 0; k < count; ++k)
    a.data[k] = coordinates[k].data, a.wide[k] = coordinates[k].dtype() == DType::int64, a.size[k] = sizes[k];
  for (int d = 0; d < out.rank(); ++d) {
    std::int64_t steps[4] = {};
    for (int k = 0; k < count; ++k) steps[k] = step_at(coordinates[k], d);
    a.walk.add(out.size(d), steps);
  }
  if (Failed f = reporter_of(c, &a.reporter)) return c.fail(f);
  const OnDevice on(c.device.index);
  const unsigned blocks = blocks_for(out.numel(), kThreads);
  const cudaStream_t stream = current_stream(c.device.index);
  if (a.walk.wide()) linear_kernel<std::uint64_t><<<blocks, kThreads, 0, stream>>>(a);
  else linear_kernel<std::uint32_t><<<blocks, kThreads, 0, stream>>>(a);
  c.fail(launched(c.device.index));
}

}  // namespace

const index_kernels* index() {
  static constexpr index_kernels table{.select = select,
                                       .write = write,
                                       .gather = gather,
                                       .scatter = scatter,
                                       .linear = linear,
                                       .count_nonzero = count_nonzero,
                                       .nonzero = nonzero};
  return &table;
}

}  // namespace neura::cuda
