// batch_norm and the sums over channels as operations of rowwise.cuh: a row is a channel of [N, C, ...], in N pieces.
#pragma once
#include "neura/backend/cuda/rowwise/rowwise_columns.cuh"
#include "neura/backend/cuda/norm/norm.cuh"

namespace neura::cuda {

// One of the running statistics: what is there times `rest`, plus `part` times the batch's.
template <class N> struct Running {
  char* data = nullptr;  // null: absent
  DType dtype = DType::float32;
  std::int64_t step = 0;  // bytes
  N rest = 0, part = 0;
  __device__ void move(std::int64_t channel, N value) const {
    if (!data) return;
    char* const p = data + channel * step;
    store_one<N>(p, dtype, load_one<N>(p, dtype) * rest + value * part);
  }
};

template <class N> struct BatchOp : NormOp<N> {
  using E = N;
  using typename NormOp<N>::Stat;
  using typename NormOp<N>::Final;
  using typename NormOp<N>::Rest;
  static constexpr bool segmented = true;
  bool fixed;  // mean and variance were given
  Running<N> running_mean, running_var;

  bool given() const { return fixed; }
  __device__ Final finish(Stat all, Stat mine, const Place& p) const {
    return fixed ? given_final(p) : NormOp<N>::finish(all, mine, p);
  }
  __device__ Final given_final(const Place& p) const {
    const E var = this->second[p.row];
    return {this->mean[p.row], E(0), var, E(1) / sqrt(var + this->eps), first_channel(this->affine, p.row)};
  }
  template <class H> __device__ Rest follow(H (&in)[1], const Place& p, E sum) const {
    return this->distances(in, p, fixed ? this->mean[p.row] : this->mean_of(sum, p));
  }
  __device__ Final settle(E sum, Rest all, const Place& p) const {
    return fixed ? given_final(p) : NormOp<N>::settle(sum, all, p);
  }
  __device__ void deliver(std::int64_t row, const Final& f) const {
    if (fixed) return;
    NormOp<N>::deliver(row, f);
    running_mean.move(row, f.mean), running_var.move(row, f.variance);
  }
};

// Of g and x: what weight, bias and input get. Grouped: statistics are those of groups of group_norm, and the input's
// gradient is not computed here.
template <class N, bool grouped> struct ChannelGradientOp {
  using E = N;
  static constexpr int inputs = 2;
  static constexpr bool segmented = true;
  struct Stat {  // of each: also how far the mean is from the saved one, which was rounded
    E g, gx, x;
  };
  struct Final {
    E mean, rest, factor, first, second, gw, gb;
  };
  Affine affine;  // one weight for each channel; grouped: `channels` of a group, `groups` of a sample
  Division inner;
  const E *mean, *variance;
  E eps;
  bool fixed;
  ParameterGradients to;

  bool given() const { return fixed && !to.w && !to.b; }
  static __device__ E fill() { return E(0); }
  static __device__ Stat none() { return {E(0), E(0), E(0)}; }
  __device__ E rstd(std::int64_t i) const { return E(1) / sqrt(variance[i] + eps); }
  template <class H> __device__ Stat part(H (&in)[2], const Place& p) const {
    E m = grouped ? E(0) : mean[p.row], s = 1;
    Stat sum = none();
#pragma unroll
    for (int k = 0; k < H::packs; ++k)
      if (const std::uint32_t i = p.at<H::pack>(k); i < p.end) {
        if constexpr (grouped) {
          const std::int64_t at = std::int64_t(quotient(i, inner)) * affine.groups + p.row / affine.channels;
          m = mean[at], s = rstd(at);
        }
#pragma unroll
        for (int j = 0; j < H::pack; ++j) {
          const E d = (in[1].v[k][j] - m) * s;
          sum.g += in[0].v[k][j], sum.gx += in[0].v[k][j] * d, sum.x += d;
        }
      }
    return sum;
  }
  static __device__ Stat combine(Stat a, Stat b) { return {a.g + b.g, a.gx + b.gx, a.x + b.x}; }
  __device__ Final finish(Stat all, Stat, const Place& p) const {
    if constexpr (grouped) {
      return {E(0), E(0), E(0), E(0), E(0), all.gx, all.g};
    } else {
      const E s = rstd(p.row), n = E(p.n);
      const E w = affine.w ? load_simple<E>(affine.w, affine.w_dtype, std::uint32_t(p.row)) : E(1);
      const E rest = fixed ? E(0) : all.x / n, gx = all.gx - rest * all.g;
      return {mean[p.row], rest, s * w, fixed ? E(0) : all.g / n, fixed ? E(0) : gx / n * s * s, gx * s, all.g};
    }
  }
  __device__ void deliver(std::int64_t row, const Final& f) const {
    store_weight(to, row, f.gw), store_bias(to, row, f.gb);
  }
  template <bool held, int V>
  __device__ void map(const Final& f, std::int64_t, std::uint32_t, E (&g)[V], const E (&x)[V]) const {
#pragma unroll
    for (int j = 0; j < V; ++j) g[j] = f.factor * (g[j] - f.first - ((x[j] - f.mean) - f.rest) * f.second);
  }
};

// A contiguous tensor's channels.
Failed channel_rows(const View& x, RowPlan&, ColumnSizes&);

}  // namespace neura::cuda
