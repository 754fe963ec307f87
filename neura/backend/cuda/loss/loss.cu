// Losses of classes. Forward, the scores of a sample are read once: maximum and sum of exponentials grow together.
// Backward, each score is read once and its gradient written once.
#include "neura/backend/cuda/loss/loss.cuh"
#include "neura/backend/cuda/loss/loss_ctc.h"

namespace neura::cuda {
namespace {

__device__ float fast_exp(float x) { return __expf(x); }
__device__ double fast_exp(double x) { return exp(x); }
template <class M> __device__ number_of<M> exp_for(number_of<M> x) {  // as exact as the result is stored
  if constexpr (sizeof(M) == 2) return fast_exp(x);
  else return exp(x);
}
__device__ float larger(float a, float b) { return fmaxf(a, b); }  // a NaN shows in the sum
__device__ double larger(double a, double b) { return ::fmax(a, b); }
template <class N> __device__ N least() { return -N(INFINITY); }

template <class N> struct Online {
  N most, sum;  // of exp(x - most)
  __device__ static Online none() { return {least<N>(), N(0)}; }
  __device__ static N base(N most) { return most == least<N>() ? N(0) : most; }
  __device__ Online operator+(const Online& o) const {
    const N top = larger(most, o.most), b = base(top);
    return {top, sum * fast_exp(most - b) + o.sum * fast_exp(o.most - b)};
  }
  template <int K> __device__ void absorb(const N (&v)[K]) {
    N top = most;
#pragma unroll
    for (int k = 0; k < K; ++k) top = larger(top, v[k]);
    const N b = base(top);
    N s[2] = {sum * fast_exp(most - b), N(0)};
#pragma unroll
    for (int k = 0; k < K; ++k) s[k % 2] += fast_exp(v[k] - b);
    most = top, sum = s[0] + s[1];
  }
};

// f(values, index of the first) for all elements of a row, by `width` threads; 16 bytes at a time where aligned.
template <int K, class M, class F>
__device__ void walk(const M* x, std::uint32_t n, std::uint32_t lane, std::uint32_t width, bool packs, const F& f) {
  using N = number_of<M>;
  constexpr int V = kLossPack<M>;
  const auto part = [&]<int P>(std::uint32_t i, std::integral_constant<int, P>) {
    PackOf<M, V> raw[P];
#pragma unroll
    for (int k = 0; k < P; ++k) raw[k] = *reinterpret_cast<const PackOf<M, V>*>(x + i + k * width * V);
#pragma unroll
    for (int k = 0; k < P; ++k) {
      N v[V];
#pragma unroll
      for (int j = 0; j < V; ++j) v[j] = cast<N>(raw[k].v[j]);
      f(v, i + k * width * V);
    }
  };
  const auto one = [&](std::uint32_t i) {
    const N v[1] = {cast<N>(x[i])};
    f(v, i);
  };
  const std::uint32_t to_pack = std::uint32_t(-reinterpret_cast<std::uintptr_t>(x) % 16 / sizeof(M));
  const std::uint32_t lead = packs && to_pack < n ? to_pack : n, whole = lead + (n - lead) / V * V;
  for (std::uint32_t i = lane; i < lead; i += width) one(i);
  std::uint32_t i = lead + lane * V;
  for (; i + (K - 1) * width * V < whole; i += K * width * V) part(i, std::integral_constant<int, K>());
  for (; i < whole; i += width * V) part(i, std::integral_constant<int, 1>());
  for (i = whole + lane; i < n; i += width) one(i);
}

template <class N>
__device__ void deliver(const Scores<N>& s, std::uint32_t i, const Online<N>& o, N far, N picked, std::int64_t t) {
  const N l = log(o.sum);
  s.most[i] = o.most, s.logs[i] = l;
  N value = N(0);
  if (t >= 0) {
    value = (o.most - picked + l) * s.weight_of(t);
    if (s.smoothing != N(0)) {
      const N all = s.weights ? *s.weights : N(s.classes);
      value = (N(1) - s.smoothing) * value + s.share * (far + all * l);
    }
  }
  store_simple(s.values, s.values_dtype, i, value);
}
template <class N> __device__ void finish_here(const Scores<N>& s) {  // by the only block
  __shared__ Totals room[32];
  __syncthreads();
  const Totals t = across_block(s.totals(), room, [](const Totals& a, const Totals& b) { return a + b; });
  if (threadIdx.x == 0) s.to.deliver(t);
}

// A row by a warp, or by a block.
template <class M, bool block> __global__ void __launch_bounds__(block ? 512 : kMost)
    rows_forward(const __grid_constant__ Scores<number_of<M>> s) {
  using N = number_of<M>;
  constexpr int K = 4;
  __shared__ Online<N> room[32];
  __shared__ N rest[32], top;
  const std::uint32_t width = block ? blockDim.x : 32, lane = threadIdx.x % width, teams = blockDim.x / width;
  for (std::uint32_t i = blockIdx.x * teams + threadIdx.x / width; i < s.samples; i += gridDim.x * teams) {
    const M* x = reinterpret_cast<const M*>(s.x) + s.begin(i);
    const std::int64_t t = lane == 0 ? s.target_of(i) : -1;
    const N picked = t >= 0 ? cast<N>(x[t]) : N(0);
    Online<N> o = Online<N>::none();
    walk<K>(x, s.classes, lane, width, true, [&](const auto& v, std::uint32_t) { o.absorb(v); });
    const auto merge = [](const Online<N>& a, const Online<N>& b) { return a + b; };
    o = block ? across_block(o, room, merge) : across_warp(o, merge);
    N far = N(0);
    if (s.smoothing != N(0)) {
      if (block && threadIdx.x == 0) top = o.most;
      if (block) __syncthreads();
      const N most = block ? top : __shfl_sync(~0u, o.most, 0);
      walk<K>(x, s.classes, lane, width, true, [&](const auto& v, std::uint32_t at) {
#pragma unroll
        for (int k = 0; k < int(sizeof(v) / sizeof(N)); ++k) far += (most - v[k]) * s.weight_of(at + k);
      });
      const auto add = [](N a, N b) { return a + b; };
      far = block ? across_block(far, rest, add) : across_warp(far, add);
    }
    if (lane == 0) deliver(s, i, o, far, picked, t);
    if (block) __syncthreads();  // before the next row uses the rooms
  }
  if constexpr (!block)
    if (gridDim.x == 1) finish_here(s);
}

// Neighbouring threads take neighbouring samples; several share one.
template <class M> __global__ void __launch_bounds__(kThreads)
    columns_forward(const __grid_constant__ Scores<number_of<M>> s) {
  using N = number_of<M>;
  constexpr int K = 8;
  __shared__ Online<N> room[kThreads];
  __shared__ N rest[kThreads];
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x, parts = blockDim.y;
  const std::uint32_t mine = threadIdx.y * blockDim.x + lane;
  const bool there = i < s.samples;
  const M* x = reinterpret_cast<const M*>(s.x) + (there ? s.begin(i) : 0);
  const std::uint32_t classes = there ? s.classes : 0;
  const auto all = [&](const auto& f) {
    std::uint32_t c = threadIdx.y;
    for (; c + (K - 1) * parts < classes; c += K * parts) {
      N v[K];
#pragma unroll
      for (int k = 0; k < K; ++k) v[k] = cast<N>(x[std::int64_t(c + k * parts) * s.inner]);
      f(v, c);
    }
    for (; c < classes; c += parts) {
      const N v[1] = {cast<N>(x[std::int64_t(c) * s.inner])};
      f(v, c);
    }
  };
  Online<N> o = Online<N>::none();
  all([&](const auto& v, std::uint32_t) { o.absorb(v); });
  room[mine] = o;
  __syncthreads();
  o = room[lane];
  for (std::uint32_t p = 1; p < parts; ++p) o = o + room[p * blockDim.x + lane];
  N far = N(0);
  if (s.smoothing != N(0)) {
    all([&](const auto& v, std::uint32_t c) {
#pragma unroll
      for (int k = 0; k < int(sizeof(v) / sizeof(N)); ++k) far += (o.most - v[k]) * s.weight_of(c + k * parts);
    });
    rest[mine] = far;
    __syncthreads();
    far = rest[lane];
    for (std::uint32_t p = 1; p < parts; ++p) far += rest[p * blockDim.x + lane];
  }
  if (!there || threadIdx.y) return;
  const std::int64_t t = s.target_of(i);
  deliver(s, i, o, far, t >= 0 ? cast<N>(x[t * s.inner]) : N(0), t);
}

// gx = a exp(x - most - log) - b weight, less `at` for the right class
template <class N> struct Slope {
  N a, b, at, most, log;
  __device__ Slope(const Scores<N>& s, std::uint32_t i, std::int64_t t) {
    const N v = incoming(s, i);
    at = v * (N(1) - s.smoothing) * s.weight_of(t), b = v * s.share;
    a = s.smoothing != N(0) ? at + b * (s.weights ? *s.weights : N(s.classes)) : at;
    most = s.most[i], log = s.logs[i];
  }
  template <class M> __device__ N operator()(const Scores<N>& s, N x, std::uint32_t c, std::int64_t t) const {
    N g = a * exp_for<M>(x - most - log);
    if (s.smoothing != N(0)) g -= b * s.weight_of(c);
    return c == t ? g - at : g;
  }
};

template <class M, bool block> __global__ void __launch_bounds__(block ? 512 : kThreads)
    rows_backward(const __grid_constant__ Scores<number_of<M>> s) {
  using N = number_of<M>;
  const std::uint32_t width = block ? blockDim.x : 32, lane = threadIdx.x % width, teams = blockDim.x / width;
  const std::uint32_t i = blockIdx.x * teams + threadIdx.x / width;
  if (i >= s.samples) return;
  const M* x = reinterpret_cast<const M*>(s.x) + s.begin(i);
  M* gx = reinterpret_cast<M*>(s.gx) + std::int64_t(i) * s.classes;
  const bool packs = (reinterpret_cast<std::uintptr_t>(x) - reinterpret_cast<std::uintptr_t>(gx)) % 16 == 0;
  const auto write = [&](const auto& v, std::uint32_t c) {
    constexpr int P = int(sizeof(v) / sizeof(N));
    store_as<M, P>(v, reinterpret_cast<char*>(gx + c), 0);
  };
  const std::int64_t t = s.target_of(i);
  if (t < 0)  // what the gradient of the others multiplies may be infinite
    return walk<1>(gx, s.classes, lane, width, true, [&](const auto& v, std::uint32_t c) {
      const std::remove_cvref_t<decltype(v)> zeros = {};
      write(zeros, c);
    });
  const Slope<N> slope(s, i, t);
  walk<4>(x, s.classes, lane, width, packs, [&](const auto& v, std::uint32_t c) {
    std::remove_cvref_t<decltype(v)> g;
#pragma unroll
    for (int k = 0; k < int(sizeof(v) / sizeof(N)); ++k)
      g[k] = slope.template operator()<M>(s, v[k], c + std::uint32_t(k), t);
    write(g, c);
  });
}

template <class M> __global__ void __launch_bounds__(kThreads)
    columns_backward(const __grid_constant__ Scores<number_of<M>> s) {
  using N = number_of<M>;
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= s.samples) return;
  const std::int64_t begin = s.begin(i), t = s.target_of(i);
  const M* x = reinterpret_cast<const M*>(s.x) + begin;
  M* gx = reinterpret_cast<M*>(s.gx) + begin;
  if (t < 0) {
    for (std::uint32_t c = threadIdx.y; c < s.classes; c += blockDim.y) gx[std::int64_t(c) * s.inner] = cast<M>(N(0));
    return;
  }
  const Slope<N> slope(s, i, t);
#pragma unroll 4
  for (std::uint32_t c = threadIdx.y; c < s.classes; c += blockDim.y) {
    const std::int64_t at = std::int64_t(c) * s.inner;
    gx[at] = cast<M>(slope.template operator()<M>(s, cast<N>(x[at]), c, t));
  }
}

constexpr std::uint32_t kShort = 1024;  // classes that a warp takes
dim3 column_threads(std::uint32_t classes) { return classes <= 32 ? dim3(kThreads, 1) : dim3(32, kThreads / 32); }
std::uint32_t row_threads(std::uint32_t samples) { return samples < 264 ? 512 : 256; }

template <class M>
Failed forward(Context& c, View x, View target, View weight, const LossOptions& o, View loss, View stats) {
  using N = number_of<M>;
  LossCall call(c);
  Scores<N> s;
  if (Failed f = call.prepare(x, target, weight, o, true, s)) return f;
  s.most = stats.as<N>(), s.logs = s.most + s.samples;
  if (Failed f = call.results(loss, reinterpret_cast<char*>(s.logs + s.samples), o, s)) return f;
  if (!s.samples) return call.sum(s);
  if (s.inner > 1) {
    const dim3 threads = column_threads(s.classes);
    columns_forward<M><<<blocks_of(s.samples, threads.x), threads, 0, call.stream>>>(s);
  } else if (s.classes > kShort) {
    rows_forward<M, true><<<s.samples, row_threads(s.samples), 0, call.stream>>>(s);
  } else if (s.samples <= 128) {  // one launch does all
    rows_forward<M, false><<<1, std::min(32 * s.samples, std::uint32_t(kMost)), 0, call.stream>>>(s);
    return nullptr;
  } else {
    rows_forward<M, false><<<blocks_of(s.samples, 8), 256, 0, call.stream>>>(s);
  }
  return call.sum(s);
}
template <class M>
Failed backward(Context& c, View g, View x, View target, View weight, View stats, const LossOptions& o, View gx) {
  using N = number_of<M>;
  LossCall call(c);
  Scores<N> s;
  if (Failed f = call.prepare(x, target, weight, o, true, s)) return f;
  s.most = stats.as<N>(), s.logs = s.most + s.samples;
  call.incoming(g, s.logs + s.samples, o, gx, s);
  if (!s.samples || !s.classes) return nullptr;
  if (s.inner > 1) {
    const dim3 threads = column_threads(s.classes);
    columns_backward<M><<<blocks_of(s.samples, threads.x), threads, 0, call.stream>>>(s);
  } else if (s.classes > kShort) {
    rows_backward<M, true><<<s.samples, row_threads(s.samples), 0, call.stream>>>(s);
  } else {
    rows_backward<M, false><<<blocks_of(s.samples, 8), 256, 0, call.stream>>>(s);
  }
  return nullptr;
}
void cross_entropy(Context& c, View x, View target, View weight, const LossOptions& o, View loss, View stats) {
  NEURA_LOSS_BY_DTYPE(x, forward, c, x, target, weight, o, loss, stats);
}
void cross_entropy_backward(Context& c, View g, View x, View target, View weight, View stats, const LossOptions& o,
                            View gx) {
  NEURA_LOSS_BY_DTYPE(x, backward, c, g, x, target, weight, stats, o, gx);
}

}  // namespace

const loss_kernels* loss() {
  static constexpr loss_kernels table{.cross_entropy = cross_entropy,
                                      .cross_entropy_backward = cross_entropy_backward,
                                      .nll_loss = nll_loss,
                                      .nll_loss_backward = nll_loss_backward,
                                      .element_loss = element_loss,
                                      .element_loss_backward = element_loss_backward,
                                      .ctc_loss = ctc_loss,
                                      .ctc_loss_backward = ctc_loss_backward};
  return &table;
}

}  // namespace neura::cuda
