// Softmax and its gradient as operations of rowwise.cuh.
#pragma once
#include "neura/backend/cuda/rowwise/rowwise_columns.cuh"
#include "neura/backend/kernels/softmax.h"

namespace neura::cuda {

template <class N> struct SoftmaxOp {
  using E = N;
  static constexpr int inputs = 1;
  static constexpr bool segmented = false;
  struct Stat {
    E most, sum;  // of exp(x - centre(most))
  };
  struct Final {
    E most, scale;  // y = exp(x - most) * scale; or x - most - scale
    E own;          // the same for exp(x - own most), which this thread has already
  };
  SoftmaxKind kind;

  // A NaN hides from the maximum, but not from the sum.
  static __device__ E larger(E a, E b) { return a > b ? a : b; }
  static bool given() { return false; }
  static __device__ E fill() { return -E(infinity); }
  static __device__ E centre(E most) { return most == fill() ? E(0) : most; }
  static __device__ Stat none() { return {fill(), E(0)}; }
  __device__ bool logarithm() const { return kind == SoftmaxKind::log_softmax; }

  template <class H> __device__ Stat part(H (&in)[1], const Place&) const {
    auto& v = in[0].v;
    Stat s = none();
#pragma unroll
    for (int k = 0; k < H::packs; ++k)
#pragma unroll
      for (int j = 0; j < H::pack; ++j) s.most = larger(s.most, v[k][j]);
    const E c = centre(s.most);
#pragma unroll
    for (int k = 0; k < H::packs; ++k)
#pragma unroll
      for (int j = 0; j < H::pack; ++j) {
        const E e = exp(v[k][j] - c);
        s.sum += e;
        if (!logarithm()) v[k][j] = e;
      }
    return s;
  }
  static __device__ Stat combine(Stat a, Stat b) {
    const E m = larger(a.most, b.most), c = centre(m);
    return {m, a.sum * exp(a.most - c) + b.sum * exp(b.most - c)};
  }
  // A row of nothing but -inf has the sum 0: NaN, or zeros if it is to be safe.
  __device__ Final finish(Stat all, Stat mine, const Place&) const {
    const E c = centre(all.most);
    if (logarithm()) return {c, log(all.sum), E(0)};
    const E scale = kind == SoftmaxKind::safe_softmax && all.sum == E(0) ? E(0) : E(1) / all.sum;
    const bool empty = mine.most == fill() && all.most != fill();
    return {c, scale, empty ? E(0) : exp(centre(mine.most) - c) * scale};
  }
  // Where the row is held: the maximum, and then the sum of what is left of the elements.
  template <class H> __device__ E lead(H (&in)[1]) const {
    E most = fill();
#pragma unroll
    for (int k = 0; k < H::packs; ++k)
#pragma unroll
      for (int j = 0; j < H::pack; ++j) most = larger(most, in[0].v[k][j]);
    return most;
  }
  static __device__ E join(E a, E b) { return larger(a, b); }
  template <class H> __device__ E follow(H (&in)[1], const Place&, E most) const {
    const E c = centre(most);
    E sum = 0;
#pragma unroll
    for (int k = 0; k < H::packs; ++k)
#pragma unroll
      for (int j = 0; j < H::pack; ++j) {
        const E e = exp(in[0].v[k][j] - c);
        sum += e;
        if (!logarithm()) in[0].v[k][j] = e;
      }
    return sum;
  }
  __device__ Final settle(E most, E sum, const Place& p) const { return finish({most, sum}, {most, sum}, p); }
  __device__ void deliver(std::int64_t, const Final&) const {}
  template <bool held, int V>
  __device__ void map(const Final& f, std::int64_t, std::uint32_t, E (&x)[V], const E (&)[V]) const {
#pragma unroll
    for (int j = 0; j < V; ++j) {
      if (logarithm()) x[j] = x[j] - f.most - f.scale;
      else x[j] = held ? x[j] * f.own : exp(x[j] - f.most) * f.scale;
    }
  }
};

// Of g and y: y (g - sum(g y)), or g - exp(y) sum(g).
template <class N> struct SoftmaxGradientOp {
  using E = N;
  using Stat = E;
  using Final = E;
  static constexpr int inputs = 2;
  static constexpr bool segmented = false;
  bool logarithm;

  static bool given() { return false; }
  static __device__ E fill() { return E(0); }
  static __device__ Stat none() { return E(0); }
  template <class H> __device__ Stat part(H (&in)[2], const Place&) const {
    E s = 0;
#pragma unroll
    for (int k = 0; k < H::packs; ++k)
#pragma unroll
      for (int j = 0; j < H::pack; ++j) s += logarithm ? in[0].v[k][j] : in[0].v[k][j] * in[1].v[k][j];
    return s;
  }
  static __device__ Stat combine(Stat a, Stat b) { return a + b; }
  __device__ Final finish(Stat all, Stat, const Place&) const { return all; }
  __device__ void deliver(std::int64_t, Final) const {}
  template <bool held, int V>
  __device__ void map(const Final& sum, std::int64_t, std::uint32_t, E (&g)[V], const E (&y)[V]) const {
#pragma unroll
    for (int j = 0; j < V; ++j) g[j] = logarithm ? g[j] - exp(y[j]) * sum : y[j] * (g[j] - sum);
  }
};

// Along a dimension that is not the last, of contiguous tensors.
Failed softmax_columns(DType, SoftmaxKind, const char* x, char* y, const ColumnSizes&, int index, cudaStream_t);
Failed softmax_columns_backward(DType, bool logarithm, const char* g, const char* y, char* gx, const ColumnSizes&,
                                int index, cudaStream_t);

}  // namespace neura::cuda
