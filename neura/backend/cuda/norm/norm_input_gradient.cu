// The input's gradient of layer_norm, rms_norm and group_norm.
#include "neura/backend/cuda/norm/norm.cuh"

namespace neura::cuda {
namespace {

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

}  // namespace

Failed norm_input_gradient(DType d, RowPlan r, const Affine& a, const NormStatistics& s, bool centred, int index,
                           cudaStream_t stream) {
  return with_floating(d, [&]<class M>() {
    using E = number_of<M>;
    const NormGradientOp<E> op{
        a, static_cast<const E*>(s.mean), static_cast<const E*>(s.second), E(s.eps), centred, s.variance};
    return run_rows<NormGradientOp<E>, M>(op, r, allows_packs(a, 16 / sizeof(M)), index, stream);
  });
}

}  // namespace neura::cuda
