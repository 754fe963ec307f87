// Writing by index. Where several indices name one place the last one wins: a pass over the indices finds which.
#include "neura/backend/cuda/index/index_put.cuh"
#include "neura/backend/cuda/runtime/scratch.h"

namespace neura::cuda {

Places::Places(const View& out, const View& index, const View& source, int dim, bool grid)
    : indices(index), depth(size_at(index, grid ? dim : 0)), bound(size_at(out, dim)), step(step_at(out, dim)) {
  const int rank = rank_of(out);
  std::int64_t index_step[kMaxRank], size[kMaxRank], numbers = 1, dense = 1;
  for (int d = 0; d < rank; ++d) {
    size[d] = grid ? size_at(index, d) : d == dim ? index.numel() : size_at(out, d);
    index_step[d] = grid ? step_at(index, d) : d == dim ? step_at(index, 0) : 0;
  }
  bool shared[kMaxRank];  // one index for all that differ in this coordinate
  std::int64_t number[kMaxRank] = {}, group[kMaxRank] = {};
  for (int d = rank - 1; d >= 0; --d) {
    shared[d] = d != dim && index_step[d] == 0;
    if (shared[d]) continue;
    number[d] = numbers, numbers *= size[d];
    if (d != dim) group[d] = dense * bound, dense *= size[d];
  }
  dim_step = index_step[dim], count = dense * bound;
  for (int d = 0; d < rank; ++d) {
    const std::int64_t i = index_step[d], s = step_at(source, d), o = d == dim ? 0 : step_at(out, d);
    all.add(size[d], {i, s, o, number[d]});
    if (shared[d]) columns.add(size[d], {s, o});
    else keyed.add(size[d], {i, s, o, group[d], d == dim});
  }
}

namespace {

// Whether a later index names the same place: found by looking at all of them.
__global__ void __launch_bounds__(kThreads) find_last(const __grid_constant__ Places p, std::uint8_t* last) {
  const std::uint32_t e = blockIdx.x * kThreads + threadIdx.x;
  if (e >= std::uint32_t(p.keyed.numel)) return;
  std::int64_t at[5];
  locate(p.keyed, e, at);
  const std::int64_t mine = p.indices[at[0]];
  bool won = true;
#pragma unroll 8
  for (std::int64_t k = 1; k < p.depth - at[4]; ++k) won &= p.indices[at[0] + k * p.dim_step] != mine;
  last[e] = won;
}
// The same in three passes: each place gets nothing, then the highest number of those that name it.
enum class Pass { clear, claim, ask };
template <Pass pass> __global__ void __launch_bounds__(kThreads)
    find_winner(const __grid_constant__ Places p, int* winner, std::uint8_t* last) {
  const std::uint32_t e = blockIdx.x * kThreads + threadIdx.x;
  if (e >= std::uint32_t(p.keyed.numel)) return;
  std::int64_t at[5];
  locate(p.keyed, e, at);
  const std::int64_t mine = p.indices[at[0]];
  if (mine < 0 || mine >= p.bound) return;  // reported by the thread that writes
  int* const place = winner + at[3] + mine;
  if constexpr (pass == Pass::clear) *place = -1;
  else if constexpr (pass == Pass::claim) atomicMax(place, int(at[4]));
  else last[e] = *place == int(at[4]);
}

Failed find(const Places& p, Scratch& scratch, cudaStream_t stream, std::uint8_t** last) {
  const std::int64_t n = p.keyed.numel;
  if (Failed f = scratch.take(std::size_t(n), last)) return f;
  const unsigned blocks = blocks_for(n, kThreads);
  if (n * p.depth <= 1 << 18 || (n * p.depth <= 1 << 24 && p.count > 1 << 24)) {
    find_last<<<blocks, kThreads, 0, stream>>>(p, *last);
    return nullptr;
  }
  int* winner;
  if (Failed f = scratch.take(std::size_t(p.count) * sizeof(int), &winner)) return f;
  find_winner<Pass::clear><<<blocks, kThreads, 0, stream>>>(p, winner, *last);
  find_winner<Pass::claim><<<blocks, kThreads, 0, stream>>>(p, winner, *last);
  find_winner<Pass::ask><<<blocks, kThreads, 0, stream>>>(p, winner, *last);
  return nullptr;
}

struct Copies {
  Walk<4> walk;  // index, source, out (without its step along the dimension), number of the index
  IndexOperand index;
  const char* source;
  char* out;
  const std::uint8_t* last;  // by the index's number; null: no two name one place
  std::int64_t step, bound;
  Reporter reporter;
};
constexpr int kEach = 4;
template <class U, class I> __global__ void __launch_bounds__(kThreads) put_kernel(const __grid_constant__ Copies a) {
  const I first = I(blockIdx.x) * (kThreads * kEach) + threadIdx.x, numel = I(a.walk.numel);
  std::int64_t at[kEach][4], index[kEach];
  U piece[kEach];
  bool writes[kEach];
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const I i = first + I(k * kThreads);
    writes[k] = i < numel;
    if (writes[k]) {
      locate(a.walk, i, at[k]), index[k] = a.index[at[k][0]];
      piece[k] = *reinterpret_cast<const U*>(a.source + at[k][1]);
    }
  }
#pragma unroll
  for (int k = 0; k < kEach; ++k)
    if (writes[k] && a.reporter.check(index[k], a.bound) && (!a.last || a.last[at[k][3]]))
      *reinterpret_cast<U*>(a.out + at[k][2] + index[k] * a.step) = piece[k];
}

__global__ void __launch_bounds__(kThreads) check_kernel(const __grid_constant__ Places p, Reporter reporter) {
  const std::uint32_t e = blockIdx.x * kThreads + threadIdx.x;
  if (e >= std::uint32_t(p.keyed.numel)) return;
  std::int64_t at[5];
  locate(p.keyed, e, at);
  reporter.check(p.indices[at[0]], p.bound);
}

// Nothing is written, but indices are to be right.
void check_only(Context& c, const Places& p) {
  const OnDevice on(c.device.index);
  Reporter reporter;
  if (Failed f = reporter_of(c, &reporter)) return c.fail(f);
  check_kernel<<<blocks_for(p.keyed.numel, kThreads), kThreads, 0, current_stream(c.device.index)>>>(p, reporter);
  c.fail(launched(c.device.index));
}

void put(Context& c, View out, View index, View source, int dim, ScatterReduce how, bool grid) {
  if (!index.numel()) return;
  const Places p(out, index, source, dim, grid);
  if (p.keyed.numel >> 31)
    return c.fail(fail(DeviceFailure::absent, "expected fewer than 2^31 indices on cuda; write in parts"));
  if (!p.all.numel) return check_only(c, p);
  if (adds_in_any_order(p, out.dtype(), how)) return add_in_any_order(c, p, out, source);
  if (how.mode != ScatterReduce::copy) return combine(c, p, out, source, how);
  const OnDevice on(c.device.index);
  const cudaStream_t stream = current_stream(c.device.index);
  Copies a{p.all, p.indices, source.data, out.data, nullptr, p.step, p.bound, {}};
  if (Failed f = reporter_of(c, &a.reporter)) return c.fail(f);
  Scratch scratch(c.device.index, stream);
  bool one = true;  // a single value for all
  for (int d = 0; d < source.rank(); ++d) one = one && (source.stride(d) == 0 || source.size(d) == 1);
  if (p.depth > 1 && !one) {
    std::uint8_t* last = nullptr;
    if (Failed f = find(p, scratch, stream, &last)) return c.fail(f);
    a.last = last;
  }
  const auto addresses = reinterpret_cast<std::uintptr_t>(a.source) | reinterpret_cast<std::uintptr_t>(a.out);
  const int unit = widen(a.walk, size_of(out.dtype()), 2u | 4u, 0, addresses | std::uint64_t(a.step));
  NEURA_BY_WIDTH(put_kernel, unit, a.walk.wide(), blocks_for(a.walk.numel, kThreads * kEach), stream, a);
  c.fail(launched(c.device.index));
}

}  // namespace

void write(Context& c, View out, View index, View source, int dim, ScatterReduce how) {
  put(c, out, index, source, dim, how, false);
}
void scatter(Context& c, View out, View index, View source, int dim, ScatterReduce how) {
  put(c, out, index, source, dim, how, true);
}

}  // namespace neura::cuda
