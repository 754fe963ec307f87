// Normalisation of rows and its gradient as operations of rows.cuh.
#pragma once
#include "neura/backend/cuda/norm/norm.h"
#include "neura/backend/cuda/pointwise/row_launch.cuh"

namespace neura::cuda {

// The number of the row's first weight, where channels have one each.
__device__ inline std::uint32_t first_channel(const Affine& a, std::int64_t row) {
  return a.channels ? std::uint32_t(row % a.groups) * a.channels : 0;
}
// What is at p for the elements i, i + 1, ... of a row; `otherwise` where there is nothing.
template <class E, int V> __device__ void factors(const Affine& a, const char* p, DType d, std::uint32_t first,
                                                  std::uint32_t i, E otherwise, E (&to)[V]) {
  if (p && !a.channels) return load_pack(to, p, d, i);
  const E value = p ? load_simple<E>(p, d, first + quotient(i, a.inner)) : otherwise;
#pragma unroll
  for (int j = 0; j < V; ++j) to[j] = value;
}

template <class E> __device__ void store_weight(const ParameterGradients& p, std::int64_t i, E v) {
  if (p.w) store_one<E>(p.w + i * p.w_bytes, p.w_dtype, v);
}
template <class E> __device__ void store_bias(const ParameterGradients& p, std::int64_t i, E v) {
  if (p.b) store_one<E>(p.b + i * p.b_bytes, p.b_dtype, v);
}

// Of `count` numbers: the mean, in two parts because a float holds one of 10^6 to 0.03 only, and the sum of squared
// differences from it.
template <class E> struct Moments { E count, mean, rest, squares; };
__device__ inline float quotient_of(float a, float b) { return __fdividef(a, b); }  // of counts, to two units
__device__ inline double quotient_of(double a, double b) { return a / b; }
template <class E> __device__ Moments<E> combined(Moments<E> a, Moments<E> b) {  // Chan, Golub, LeVeque
  if (b.count == E(0)) return a;
  if (a.count == E(0)) return b;
  const E n = a.count + b.count, d = (b.mean - a.mean) + (b.rest - a.rest), part = quotient_of(b.count, n);
  const E rest = a.rest + d * part, mean = a.mean + rest;
  return {n, mean, rest - (mean - a.mean), a.squares + b.squares + d * d * (a.count * part)};
}

template <class N> struct NormOp {
  using E = N;
  using Stat = Moments<E>;
  static constexpr int inputs = 1;
  static constexpr bool segmented = false;
  struct Final {
    E mean, rest, variance, rstd;
    std::uint32_t channel;
  };
  Affine affine;
  E *mean, *second;
  E eps;
  bool centred, variance;

  static bool given() { return false; }
  static __device__ E fill() { return E(0); }
  static __device__ Stat none() { return {E(0), E(0), E(0), E(0)}; }
  template <class H> __device__ Stat part(H (&in)[1], const Place& p) const {
    auto& v = in[0].v;
    E count = 0, sum = 0, mean = 0, rest = 0, squares = 0;
#pragma unroll
    for (int k = 0; k < H::packs; ++k) {
      if (p.at<H::pack>(k) < p.end) count += E(H::pack);
#pragma unroll
      for (int j = 0; j < H::pack; ++j) sum += v[k][j];
    }
    if (count == E(0)) return none();
    if (centred) mean = quotient_of(sum, count);
#pragma unroll
    for (int k = 0; k < H::packs; ++k)
      if (p.at<H::pack>(k) < p.end)
#pragma unroll
        for (int j = 0; j < H::pack; ++j) {
          const E d = v[k][j] - mean;
          rest += d, squares += d * d;
        }
    if (!centred) return {count, E(0), E(0), squares};
    const E off = quotient_of(rest, count);  // the mean was rounded
    squares -= rest * off;
    return {count, mean, off, squares < E(0) ? E(0) : squares};
  }
  static __device__ Stat combine(Stat a, Stat b) { return combined(a, b); }
  __device__ Final finish(Stat all, Stat, const Place& p) const {
    const E var = all.squares / E(p.n);
    return {all.mean, all.rest, var, E(1) / sqrt(var + eps), first_channel(affine, p.row)};
  }
  __device__ void deliver(std::int64_t row, const Final& f) const {
    if (mean) mean[row] = f.mean;
    second[row] = variance ? f.variance : f.rstd;
  }
  template <bool held, int V>
  __device__ void map(const Final& f, std::int64_t, std::uint32_t i, E (&x)[V], const E (&)[V]) const {
    E w[V], b[V];
    factors(affine, affine.w, affine.w_dtype, f.channel, i, E(1), w);
    factors(affine, affine.b, affine.b_dtype, f.channel, i, E(0), b);
#pragma unroll
    for (int j = 0; j < V; ++j) x[j] = ((x[j] - f.mean) - f.rest) * f.rstd * w[j] + b[j];
  }
};

// Of g and x: rstd (g w - mean(g w) - (x - mean) rstd² mean(g w (x - mean))), without the first mean if not centred.
// The saved mean was rounded: the mean of the distances from it is what rounding took.
template <class N> struct NormGradientOp {
  using E = N;
  static constexpr int inputs = 2;
  static constexpr bool segmented = false;
  struct Stat {
    E g, gx, x;
  };
  struct Final {
    E mean, rest, rstd, first, second;
    std::uint32_t channel;
  };
  Affine affine;
  const E *mean, *second;
  E eps;
  bool centred, variance;

  static bool given() { return false; }
  static __device__ E fill() { return E(0); }
  static __device__ Stat none() { return {E(0), E(0), E(0)}; }
  template <int V> __device__ void weigh(std::uint32_t channel, std::uint32_t i, E (&g)[V]) const {
    E w[V];
    factors(affine, affine.w, affine.w_dtype, channel, i, E(1), w);
#pragma unroll
    for (int j = 0; j < V; ++j) g[j] *= w[j];
  }
  template <class H> __device__ Stat part(H (&in)[2], const Place& p) const {
    const E m = centred ? mean[p.row] : E(0);
    const std::uint32_t channel = first_channel(affine, p.row);
    Stat s = none();
#pragma unroll
    for (int k = 0; k < H::packs; ++k)
      if (const std::uint32_t i = p.at<H::pack>(k); i < p.end) {
        weigh(channel, i, in[0].v[k]);
#pragma unroll
        for (int j = 0; j < H::pack; ++j) {
          const E d = in[1].v[k][j] - m;
          s.g += in[0].v[k][j], s.gx += in[0].v[k][j] * d, s.x += d;
        }
      }
    return s;
  }
  static __device__ Stat combine(Stat a, Stat b) { return {a.g + b.g, a.gx + b.gx, a.x + b.x}; }
  __device__ Final finish(Stat all, Stat, const Place& p) const {
    const E s = variance ? E(1) / sqrt(second[p.row] + eps) : second[p.row], n = E(p.n);
    const E rest = centred ? all.x / n : E(0);
    return {centred ? mean[p.row] : E(0), rest, s, centred ? all.g / n : E(0), (all.gx - rest * all.g) / n * s * s,
            first_channel(affine, p.row)};
  }
  __device__ void deliver(std::int64_t, const Final&) const {}
  template <bool held, int V>
  __device__ void map(const Final& f, std::int64_t, std::uint32_t i, E (&g)[V], const E (&x)[V]) const {
    if constexpr (!held) weigh(f.channel, i, g);
#pragma unroll
    for (int j = 0; j < V; ++j) g[j] = f.rstd * (g[j] - f.first - ((x[j] - f.mean) - f.rest) * f.second);
  }
};

}  // namespace neura::cuda
