// What kernels that read and write by index share: walks over several operands, indices, and bytes of any width.
#pragma once
#include "neura/backend/cuda/pointwise/execute.h"
#include "neura/backend/cuda/runtime/failure.h"
#include "neura/backend/cuda/runtime/memory.cuh"
#include "neura/backend/cuda/runtime/report.h"
#include "neura/backend/cuda/runtime/stream.h"
#include "neura/backend/kernels/index.h"
#include "neura/backend/width.h"

namespace neura::cuda {

// Dimensions in row-major order, joined where all K operands allow it. Steps in bytes, or in whatever is counted.
template <int K> struct Walk {
  int rank = 0;
  std::int64_t numel = 1;
  std::int64_t size[kMaxRank], step[kMaxRank][K];
  Division fast[kMaxRank];  // of sizes below 2^31: where numel is

  void add(std::int64_t n, const std::int64_t (&steps)[K]) {  // the next dimension inwards
    numel *= n;
    if (n == 1) return;
    bool joined = rank > 0;
    for (int k = 0; k < K && joined; ++k) joined = step[rank - 1][k] == n * steps[k];
    const int d = joined ? rank - 1 : rank++;
    set(d, joined ? size[d] * n : n);
    for (int k = 0; k < K; ++k) step[d][k] = steps[k];
  }
  void set(int d, std::int64_t n) {
    size[d] = n;
    if (n < std::int64_t{1} << 31) fast[d] = division(std::uint32_t(n));
  }
  bool wide() const { return numel >> 31; }  // counted in 64 bits
};

__device__ inline std::uint32_t divided(std::uint32_t i, std::int64_t, Division fast) { return quotient(i, fast); }
__device__ inline std::uint64_t divided(std::uint64_t i, std::int64_t size, Division) {
  return i / std::uint64_t(size);
}
template <class I, int K> __device__ void locate(const Walk<K>& w, I i, std::int64_t (&at)[K]) {
#pragma unroll
  for (int k = 0; k < K; ++k) at[k] = 0;
#pragma unroll 1
  for (int d = w.rank - 1; d >= 0; --d) {
    const I q = d ? divided(i, w.size[d], w.fast[d]) : 0, r = i - q * I(w.size[d]);
#pragma unroll
    for (int k = 0; k < K; ++k) at[k] += std::int64_t(r) * w.step[d][k];
    i = q;
  }
}

struct IndexOperand {  // int64 or int32
  const char* data;
  bool wide;
  explicit IndexOperand(const View& v) : data(v.data), wide(v.dtype() == DType::int64) {}
  __device__ std::int64_t operator[](std::int64_t at) const {
    return wide ? *reinterpret_cast<const std::int64_t*>(data + at) : *reinterpret_cast<const std::int32_t*>(data + at);
  }
};

// Strides and sizes by which a 0-d tensor is a vector of one element.
inline std::int64_t size_at(const View& v, int d) { return v.rank() ? v.size(d) : 1; }
inline std::int64_t step_at(const View& v, int d) { return v.rank() ? v.stride(d) * size_of(v.dtype()) : 0; }
inline int rank_of(const View& v) { return v.rank() ? v.rank() : 1; }

struct alignas(16) Sixteen {
  std::uint64_t half[2];
};
template <class F> void visit_width(int bytes, const F& f) { with_width<Sixteen>(bytes, f); }

// How many bytes may be moved at once: more than an element's where the innermost dimension has one index for all its
// elements (no operand `index`: there is none), which are contiguous in the operands `moved` (a bit each), and
// everything is aligned. The innermost dimension is then counted in those pieces. `all` holds addresses and steps that
// must be whole pieces as well.
template <int K> int widen(Walk<K>& w, int width, unsigned moved, int index, std::uint64_t all) {
  const int d = w.rank - 1;
  if (d < 0 || (index >= 0 && w.step[d][index])) return width;
  for (int k = 0; k < K; ++k)
    if (moved >> k & 1 && w.step[d][k] != width) return width;
  all |= std::uint64_t(w.size[d] * width);
  for (int k = 0; k < K; ++k)
    for (int e = 0; e < d; ++e)
      if (moved >> k & 1) all |= std::uint64_t(w.step[e][k]);
  int unit = 16;
  while (all % std::uint64_t(unit)) unit /= 2;
  if (unit <= width) return width;
  const std::int64_t pieces = w.size[d] * width / unit;
  w.numel = w.numel / w.size[d] * pieces, w.set(d, pieces);
  for (int k = 0; k < K; ++k)
    if (moved >> k & 1) w.step[d][k] = unit;
  return unit;
}

inline unsigned blocks_for(std::int64_t n, std::int64_t each) { return unsigned((n + each - 1) / each); }

// kernel<U, I><<<...>>>(a) for pieces of `unit` bytes, counted in 32 bits where that is enough.
#define NEURA_BY_WIDTH(kernel, unit, wide, blocks, stream, a)               \
  visit_width(unit, [&]<class U>(U) {                                       \
    if (wide) kernel<U, std::uint64_t><<<blocks, kThreads, 0, stream>>>(a); \
    else kernel<U, std::uint32_t><<<blocks, kThreads, 0, stream>>>(a);      \
  })

void scatter(Context&, View out, View index, View source, int dim, ScatterReduce);  // kernels/index.h
void write(Context&, View out, View index, View source, int dim, ScatterReduce);
std::int64_t count_nonzero(Context&, View x);
void nonzero(Context&, View x, View out);

}  // namespace neura::cuda
