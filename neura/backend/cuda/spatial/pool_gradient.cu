// What pooling does backwards. A thread makes one element, from the windows that see it and in their order, so that
// nothing is added by chance.
#include "neura/backend/cuda/spatial/pool.cuh"

namespace neura::cuda::pooling {
namespace {

__device__ Seen seen_by(const Pool& p, int d, int at) {
  if (p.adaptive)
    return {divided(int64_t(at) * p.out[d], p.in[d]), divided(int64_t(at + 1) * p.out[d] + p.in[d] - 1, p.in[d]) - 1};
  return windows::seen_by(p, d, at);
}
__device__ int inside(const Pool& p, int d, int o, int at) { return p.adaptive ? 0 : windows::inside(p, d, o, at); }

// f(window, its coordinates) for every window that may see element e, in order.
template <class F> __device__ void each_window(const Pool& p, const Place& e, F f) {
  const Seen z = seen_by(p, 0, e.at[0]), y = seen_by(p, 1, e.at[1]), x = seen_by(p, 2, e.at[2]);
  for (int a = z.first; a <= z.last; ++a)
    for (int b = y.first; b <= y.last; ++b)
      for (int c = x.first; c <= x.last; ++c) f((a * p.out[1] + b) * p.out[2] + c, a, b, c);
}
template <class N> __global__ void __launch_bounds__(kThreads)
    scatter_elements(const __grid_constant__ Pool p, const char* g, const char* places, char* x, std::uint32_t count) {
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  std::uint32_t image;
  Place e;
  const int own = int(split(p.x, i, image, e));
  const std::size_t first = std::size_t(image) * p.y.plane.divisor;
  const char *const from = g + first * p.size, *const place = places + first * (p.bytes ? 1 : sizeof(int64_t));
  N sum = 0;
  each_window(p, e, [&](int o, int a, int b, int c) {
    int wanted = own;
    if (p.bytes) {
      const int z = inside(p, 0, a, e.at[0]), y = inside(p, 1, b, e.at[1]), k = inside(p, 2, c, e.at[2]);
      wanted = (z | y | k) < 0 ? -1 : (z * p.kernel[1] + y) * p.kernel[2] + k;
    }
    if (place_at(p, place, std::uint32_t(o)) == wanted) sum += load<N>(p, from, std::uint32_t(o));
  });
  store(p, x, i, sum);
}
template <class N> __global__ void __launch_bounds__(kThreads)
    average_gradient(const __grid_constant__ Pool p, const char* g, char* x, std::uint32_t count) {
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  std::uint32_t image;
  Place e;
  split(p.x, i, image, e);
  const char* const from = g + std::size_t(image) * p.y.plane.divisor * p.size;
  N sum = 0;
  each_window(p, e, [&](int o, int a, int b, int c) {
    if ((inside(p, 0, a, e.at[0]) | inside(p, 1, b, e.at[1]) | inside(p, 2, c, e.at[2])) < 0) return;
    const Window w[3] = {window(p, 0, a), window(p, 1, b), window(p, 2, c)};
    const int at[3] = {a, b, c};
    sum += over(load<N>(p, from, std::uint32_t(o)), divisor_of<N>(p, w, at));
  });
  store(p, x, i, sum);
}
template <int V> __global__ void __launch_bounds__(kThreads)
    scatter_to_four(const char* g, const Bytes<V>* places, char* x, const __grid_constant__ Fours f,
                    std::uint32_t count) {
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  float v[V], to[2][2 * V];
  load_pack(v, g, f.dtype, V * i);
  const Bytes<V> place = places[i];
#pragma unroll
  for (int k = 0; k < 4 * V; ++k) to[k % 4 / 2][k / 4 * 2 + k % 2] = place.v[k / 4] == k % 4 ? v[k / 4] : 0.0f;
  char* const upper = x + f.offset(i, 2 * V);
  store_pack(to[0], upper, f.dtype, 0), store_pack(to[1], upper + f.row_bytes, f.dtype, 0);
}

}  // namespace

void scatter(Context& c, View g, View places, View x, const PoolShape& s) {
  if (!x.numel()) return;
  const int index = c.device.index, size = size_of(x.dtype());
  const OnDevice on(index);
  const cudaStream_t stream = current_stream(index);
  const int64_t in = s.in_size(), out = s.out_size();
  if (!out) return c.fail(failed(cudaMemsetAsync(x.data, 0, std::size_t(x.numel() * size), stream), "memset"));
  if (const int tiles = fours_of(s, x, g, places)) {
    each_four(s, tiles, g.numel(), x.dtype(), [&]<int V>(Tiles<V>, const Fours& f, int64_t first, std::uint32_t count) {
      scatter_to_four<V><<<blocks(count), kThreads, 0, stream>>>(
          g.data + first * V * size, places.as<Bytes<V>>() + first, x.data + first * 4 * V * size, f, count);
    });
    return c.fail(launched(index));
  }
  Pool p;
  if (Failed f = pool_of(s, x.dtype(), places.dtype() == DType::uint8, &p)) return c.fail(f);
  in_parts(x.numel() / in, in, [&](int64_t first, int64_t n) {
    const auto count = std::uint32_t(n * in);
    const char* const from = places.data + first * out * size_of(places.dtype());
    visit(x.dtype(), [&]<class N>(N) {
      scatter_elements<N><<<blocks(count), kThreads, 0, stream>>>(p, g.data + first * out * size, from,
                                                                  x.data + first * in * size, count);
    });
  });
  c.fail(launched(index));
}
void mean_gradient(Context& c, View g, View x, const PoolShape& s) {
  if (!x.numel()) return;
  const int index = c.device.index, size = size_of(x.dtype());
  const OnDevice on(index);
  const cudaStream_t stream = current_stream(index);
  const int64_t in = s.in_size(), out = s.out_size();
  if (!out) return c.fail(failed(cudaMemsetAsync(x.data, 0, std::size_t(x.numel() * size), stream), "memset"));
  Pool p;
  if (Failed f = pool_of(s, x.dtype(), false, &p)) return c.fail(f);
  in_parts(x.numel() / in, in, [&](int64_t first, int64_t n) {
    const auto count = std::uint32_t(n * in);
    visit(x.dtype(), [&]<class N>(N) {
      average_gradient<N>
          <<<blocks(count), kThreads, 0, stream>>>(p, g.data + first * out * size, x.data + first * in * size, count);
    });
  });
  c.fail(launched(index));
}

}  // namespace neura::cuda::pooling
