// Losses of input and target element by element, and their sum in the same pass.
#include "neura/backend/cuda/loss/loss.cuh"

namespace neura::cuda {
namespace {

struct Elements {
  const char *x, *t, *g;
  char* y;  // each element's; null: their sum
  std::int64_t n;
  DType dtype;
  double parameter;
  ElementLoss kind;
  bool packs, each, mean;  // each: g has an element for each
};

// f(x, t) and its derivative with respect to x
template <class N> __device__ N element(ElementLoss kind, N p, N x, N t) {
  const N d = x - t, size = abs(d), half = N(0.5);
  switch (kind) {
    case ElementLoss::mse:
      return d * d;
    case ElementLoss::l1:
      return size;
    case ElementLoss::smooth_l1:
      return size < p ? half * d * d / p : size - half * p;
    case ElementLoss::huber:
      return size <= p ? half * d * d : p * (size - half * p);
    case ElementLoss::bce:
      return (t - N(1)) * max(log1p(-x), N(-100)) - t * max(log(x), N(-100));
    default: {  // an infinite logit that is right costs nothing
      const N far = abs(x), wrong = x > N(0) ? N(1) - t : t;
      return (wrong == N(0) ? N(0) : far * wrong) + log1p(exp(-far));
    }
  }
}
template <class N> __device__ N slope(ElementLoss kind, N p, N x, N t) {
  const N d = x - t, size = abs(d), sign = sgn(d);
  switch (kind) {
    case ElementLoss::mse:
      return d + d;
    case ElementLoss::l1:
      return sign;
    case ElementLoss::smooth_l1:
      return size >= p ? sign : d / p;  // NaN for NaN
    case ElementLoss::huber:
      return size > p ? p * sign : d;
    case ElementLoss::bce:
      return d / max((N(1) - x) * x, N(1e-12));
    default: {
      const N e = exp(-abs(x)), small = e / (N(1) + e);
      return (x < N(0) ? small : N(1) - small) - t;
    }
  }
}

// f.operator()<V>(i) for the elements from the i-th, by all threads of the grid.
template <int V, class F> __device__ void for_elements(const Elements& e, const F& f) {
  const std::int64_t whole = e.packs ? e.n / V * V : 0, threads = std::int64_t(gridDim.x) * blockDim.x;
  const std::int64_t mine = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::int64_t i = mine * V; i < whole; i += threads * V) f(i, std::integral_constant<int, V>());
  for (std::int64_t i = whole + mine; i < e.n; i += threads) f(i, std::integral_constant<int, 1>());
}
template <class M, int V, class N> __device__ void read(N (&to)[V], const char* p, std::int64_t i) {
  load_as<M, V>(to, p + i * std::int64_t(sizeof(M)), 0);
}
template <class M, int V, class N> __device__ void write(const N (&from)[V], char* p, std::int64_t i) {
  store_as<M, V>(from, p + i * std::int64_t(sizeof(M)), 0);
}

template <class M> __global__ void __launch_bounds__(kThreads)
    forward(const __grid_constant__ Elements e, Totals* parts, const __grid_constant__ Scalars to) {
  using N = number_of<M>;
  N sum = N(0);
  for_elements<kLossPack<M>>(e, [&]<int V>(std::int64_t i, std::integral_constant<int, V>) {
    N x[V], t[V];
    read<M>(x, e.x, i), read<M>(t, e.t, i);
#pragma unroll
    for (int k = 0; k < V; ++k) x[k] = element(e.kind, N(e.parameter), x[k], t[k]);
    if (e.y) write<M>(x, e.y, i);
    N part = N(0);
#pragma unroll
    for (int k = 0; k < V; ++k) part += x[k];
    sum += part;
  });
  if (e.y) return;
  __shared__ double room[32];
  const double all = across_block(double(sum), room, [](double a, double b) { return a + b; });
  if (threadIdx.x) return;
  const Totals total{all, gridDim.x == 1 ? double(e.n) : 0};
  if (parts) parts[blockIdx.x] = {all, blockIdx.x ? 0 : double(e.n)};
  else to.deliver(total);
}
template <class M> __global__ void __launch_bounds__(kThreads) backward(const __grid_constant__ Elements e) {
  using N = number_of<M>;
  N scale = N(1);
  if (!e.each) scale = cast<N>(*reinterpret_cast<const M*>(e.g));
  if (e.mean) scale = N(double(scale) / double(e.n));
  for_elements<kLossPack<M>>(e, [&]<int V>(std::int64_t i, std::integral_constant<int, V>) {
    N x[V], t[V], g[V];
    read<M>(x, e.x, i), read<M>(t, e.t, i);
    if (e.each) read<M>(g, e.g, i);
#pragma unroll
    for (int k = 0; k < V; ++k) x[k] = slope(e.kind, N(e.parameter), x[k], t[k]) * (e.each ? g[k] : scale);
    write<M>(x, e.y, i);
  });
}

__global__ void __launch_bounds__(kMost)
    finish_totals(const Totals* parts, std::uint32_t count, const __grid_constant__ Scalars to) {
  __shared__ Totals room[32];
  Totals t{};
  for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x) t = t + parts[i];
  t = across_block(t, room, [](const Totals& a, const Totals& b) { return a + b; });
  if (threadIdx.x == 0) to.deliver(t);
}

Elements elements(View g, View x, View t, ElementLoss kind, double parameter, Reduction r, View y) {
  Elements e{x.data,
             t.data,
             g.data,
             y.data,
             x.numel(),
             x.dtype(),
             parameter,
             kind,
             true,
             r == Reduction::none,
             r == Reduction::mean};
  for (const char* p : {e.x, e.t, e.each ? e.g : nullptr, static_cast<const char*>(e.y)})
    e.packs = e.packs && reinterpret_cast<std::uintptr_t>(p) % 16 == 0;
  return e;
}
// Each thread has a few packs where they become one number, and one where each is written.
template <class M> std::uint32_t blocks_of(const Elements& e, std::int64_t most) {
  constexpr std::int64_t each = std::int64_t(kThreads) * kLossPack<M>;
  return std::uint32_t(std::clamp<std::int64_t>((e.n + each - 1) / each, 1, most));
}

}  // namespace

Failed finish(const Totals* parts, std::uint32_t count, const Scalars& to, cudaStream_t stream) {
  finish_totals<<<1, kMost, 0, stream>>>(parts, count, to);
  return nullptr;
}

void element_loss(Context& c, View x, View target, ElementLoss kind, double parameter, Reduction r, View loss) {
  const bool each = r == Reduction::none;
  if (each && !x.numel()) return;
  const OnDevice on(c.device.index);
  const cudaStream_t stream = current_stream(c.device.index);
  Scratch scratch(c.device.index, stream);
  const Elements e = elements({}, x, target, kind, parameter, r, each ? loss : View{});
  const Scalars to{loss.data, nullptr, loss.dtype(), loss.dtype(), r == Reduction::mean};
  c.fail(with_floating(x.dtype(), [&]<class M>() -> Failed {
    const std::uint32_t blocks = blocks_of<M>(e, each ? INT32_MAX : e.n <= 16384 ? 1 : 132 * 8);
    Totals* parts = nullptr;
    if (!each && blocks > 1)
      if (Failed f = scratch.take(blocks * sizeof(Totals), &parts)) return f;
    forward<M><<<blocks, kThreads, 0, stream>>>(e, parts, to);
    return parts ? finish(parts, blocks, to, stream) : nullptr;
  }));
  c.fail(launched(c.device.index));
}
void element_loss_backward(Context& c, View g, View x, View target, ElementLoss kind, double parameter, Reduction r,
                           View gx) {
  if (!x.numel()) return;
  const OnDevice on(c.device.index);
  const cudaStream_t stream = current_stream(c.device.index);
  const Elements e = elements(g, x, target, kind, parameter, r, gx);
  c.fail(with_floating(x.dtype(), [&]<class M>() -> Failed {
    backward<M><<<blocks_of<M>(e, INT32_MAX), kThreads, 0, stream>>>(e);
    return nullptr;
  }));
  c.fail(launched(c.device.index));
}

}  // namespace neura::cuda
