// Normalisation of rows as an operation of rowwise.cuh.
#pragma once
#include "neura/backend/cuda/norm/norm.h"
#include "neura/backend/cuda/rowwise/rowwise_launch.cuh"

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

// W: the element that weight and bias have, one number for each column; void: whatever Affine says.
template <class N, class W = void> struct NormOp {
  using E = N;
  using Stat = Moments<E>;
  static constexpr int inputs = 1;
  static constexpr bool segmented = false;
  struct Final {
    E mean, shift, variance, rstd;  // the shift is what the mean lacks, times -rstd
    std::uint32_t channel;
  };
  struct Rest {  // of the distances from a mean: their sum, and that of their squares
    E off, squares;
    friend __device__ Rest operator+(Rest a, Rest b) { return {a.off + b.off, a.squares + b.squares}; }
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
  __device__ Final final_at(E mean, E rest, E squares, const Place& p) const {
    const E var = squares / E(p.n), rstd = E(1) / sqrt(var + eps);
    return {mean, -rest * rstd, var, rstd, first_channel(affine, p.row)};
  }
  __device__ Final finish(Stat all, Stat, const Place& p) const { return final_at(all.mean, all.rest, all.squares, p); }
  // Where the row is held: the sum, and then the distances from the mean, which take the elements' places.
  template <class H> __device__ E lead(H (&in)[1]) const {
    E sum = 0;
#pragma unroll
    for (int k = 0; k < H::packs; ++k)
#pragma unroll
      for (int j = 0; j < H::pack; ++j) sum += in[0].v[k][j];
    return sum;
  }
  static __device__ E join(E a, E b) { return a + b; }
  __device__ E mean_of(E sum, const Place& p) const { return centred ? quotient_of(sum, E(p.n)) : E(0); }
  template <class H> __device__ Rest follow(H (&in)[1], const Place& p, E sum) const {
    return distances(in, p, mean_of(sum, p));
  }
  template <class H> static __device__ Rest distances(H (&in)[1], const Place& p, E from) {
    Rest all{E(0), E(0)};
#pragma unroll
    for (int k = 0; k < H::packs; ++k) {
      Rest pack{E(0), E(0)};
#pragma unroll
      for (int j = 0; j < H::pack; ++j) {
        E& v = in[0].v[k][j];
        v -= from, pack.off += v, pack.squares += v * v;
      }
      if (p.at<H::pack>(k) < p.end) all = all + pack;
    }
    return all;
  }
  __device__ Final settle(E sum, Rest all, const Place& p) const {
    if (!centred) return final_at(E(0), E(0), all.squares, p);
    const E m = mean_of(sum, p), rest = quotient_of(all.off, E(p.n));  // the mean was rounded
    const E squares = all.squares - rest * all.off;
    return final_at(m + rest, rest, squares < E(0) ? E(0) : squares, p);
  }
  __device__ void deliver(std::int64_t row, const Final& f) const {
    if (mean) mean[row] = f.mean;
    second[row] = variance ? f.variance : f.rstd;
  }
  template <int V> __device__ void weights(const Final& f, std::uint32_t i, E (&w)[V], E (&b)[V]) const {
    if constexpr (is_same<W, void>) {
      factors(affine, affine.w, affine.w_dtype, f.channel, i, E(1), w);
      factors(affine, affine.b, affine.b_dtype, f.channel, i, E(0), b);
    } else {
      load_as<W, V>(w, affine.w, i), load_as<W, V>(b, affine.b, i);
    }
  }
  template <bool held, int V>
  __device__ void map(const Final& f, std::int64_t, std::uint32_t i, E (&x)[V], const E (&)[V]) const {
    E w[V], b[V];
    weights(f, i, w, b);
#pragma unroll
    for (int j = 0; j < V; ++j) x[j] = ((held ? x[j] : x[j] - f.mean) * f.rstd + f.shift) * w[j] + b[j];
  }
};

}  // namespace neura::cuda
