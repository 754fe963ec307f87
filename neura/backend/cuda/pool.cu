// Pooling. A thread makes one result; of a large window a warp or a block does.
#include "neura/backend/cuda/pool.cuh"

namespace neura::cuda {
namespace pooling {
namespace {

template <class N> struct Best {
  N value;
  int place;  // -1: of no element
};
template <class N> __device__ Best<N> better(Best<N> a, Best<N> b) {  // NaN above all, and the last of them
  if (a.place < 0 || b.place < 0) return a.place < 0 ? b : a;
  const bool a_nan = a.value != a.value, b_nan = b.value != b.value, a_first = a.place < b.place;
  if (a_nan || b_nan) return (a_nan && b_nan ? !a_first : a_nan) ? a : b;
  return (a.value == b.value ? a_first : a.value > b.value) ? a : b;
}

template <class N, int kLanes> __global__ void __launch_bounds__(kThreads)
    largest(const __grid_constant__ Pool p, const char* x, char* y, char* places, std::uint32_t count) {
  const std::uint32_t i = blockIdx.x * (kThreads / kLanes) + threadIdx.x / kLanes;
  if (i >= count) return;
  const int lane = int(threadIdx.x) % kLanes;
  std::uint32_t image;
  Place o;
  split(p.y, i, image, o);
  const Window w[3] = {window(p, 0, o.at[0]), window(p, 1, o.at[1]), window(p, 2, o.at[2])};
  const char* const plane = x + std::size_t(image) * p.x.plane.divisor * p.size;
  Best<N> best{N(0), -1};
  each<kLanes>(p, w, lane, [&](int at, int place) {
    const N v = load<N>(p, plane, std::uint32_t(at));
    if (best.place < 0 || v > best.value || v != v) best = {v, place};
  });
  best = together<kLanes>(best, [](Best<N> a, Best<N> b) { return better(a, b); });
  if (lane) return;
  store(p, y, i, best.value);
  if (p.bytes) reinterpret_cast<std::uint8_t*>(places)[i] = std::uint8_t(best.place);
  else reinterpret_cast<int64_t*>(places)[i] = best.place;
}

template <class N, int kLanes> __global__ void __launch_bounds__(kThreads)
    average(const __grid_constant__ Pool p, const char* x, char* y, std::uint32_t count) {
  const std::uint32_t i = blockIdx.x * (kThreads / kLanes) + threadIdx.x / kLanes;
  if (i >= count) return;
  const int lane = int(threadIdx.x) % kLanes;
  std::uint32_t image;
  Place o;
  split(p.y, i, image, o);
  const Window w[3] = {window(p, 0, o.at[0]), window(p, 1, o.at[1]), window(p, 2, o.at[2])};
  const char* const plane = x + std::size_t(image) * p.x.plane.divisor * p.size;
  N sum = 0;
  each<kLanes>(p, w, lane, [&](int at, int) { sum += load<N>(p, plane, std::uint32_t(at)); });
  sum = together<kLanes>(sum, [](N a, N b) { return N(a + b); });
  if (!lane) store(p, y, i, over(sum, divisor_of<N>(p, w, o.at)));
}

template <class E> __global__ void __launch_bounds__(kThreads)
    gather_elements(const __grid_constant__ Pool p, const E* x, const char* places, E* y, std::uint32_t count) {
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  std::uint32_t image;
  Place o;
  split(p.y, i, image, o);
  int at = place_at(p, places, i);
  if (p.bytes) {
    const int k[3] = {at / (p.kernel[1] * p.kernel[2]), at / p.kernel[2] % p.kernel[1], at % p.kernel[2]};
    at = 0;
#pragma unroll
    for (int d = 0; d < 3; ++d) at = at * p.in[d] + o.at[d] * p.stride[d] - p.padding[d] + k[d] * p.dilation[d];
  }
  const std::uint32_t plane = p.x.plane.divisor;
  y[i] = std::uint32_t(at) < plane ? x[std::size_t(image) * plane + std::uint32_t(at)] : E();
}

// Windows of 2 x 2 that tile their floating images: a thread has V of them, side by side.
template <int V> __global__ void __launch_bounds__(kThreads)
    largest_of_four(const char* x, char* y, Bytes<V>* places, const __grid_constant__ Fours f, std::uint32_t count) {
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  float v[2][2 * V], best[V];
  const char* const upper = x + f.offset(i, 2 * V);
  load_pack(v[0], upper, f.dtype, 0), load_pack(v[1], upper + f.row_bytes, f.dtype, 0);
  Bytes<V> place;
#pragma unroll
  for (int o = 0; o < V; ++o) {
    best[o] = v[0][2 * o], place.v[o] = 0;
#pragma unroll
    for (int k = 1; k < 4; ++k) {
      const float next = v[k / 2][2 * o + k % 2];
      if (next > best[o] || next != next) best[o] = next, place.v[o] = std::uint8_t(k);
    }
  }
  store_pack(best, y, f.dtype, V * i);
  places[i] = place;
}

// f(number of lanes) by the size of a window.
template <class F> void with_lanes(const PoolShape& s, F f) {
  double size = 1;
  for (int d = 0; d < 3; ++d) size *= s.adaptive ? double(s.in[d]) / double(s.out[d]) : double(s.kernel[d]);
  if (size < 64) f(std::integral_constant<int, 1>());
  else if (size < 4096) f(std::integral_constant<int, 32>());
  else f(std::integral_constant<int, kThreads>());
}
void largest_of(Context& c, View x, View y, View places, const PoolShape& s) {
  if (!y.numel()) return;
  const int index = c.device.index, size = size_of(x.dtype());
  const OnDevice on(index);
  const cudaStream_t stream = current_stream(index);
  if (const int tiles = fours_of(s, x, y, places)) {
    each_four(s, tiles, y.numel(), x.dtype(), [&]<int V>(Tiles<V>, const Fours& f, int64_t first, std::uint32_t count) {
      largest_of_four<V><<<blocks(count), kThreads, 0, stream>>>(
          x.data + first * 4 * V * size, y.data + first * V * size, places.as<Bytes<V>>() + first, f, count);
    });
    return c.fail(launched(index));
  }
  Pool p;
  if (Failed f = pool_of(s, x.dtype(), places.dtype() == DType::uint8, &p)) return c.fail(f);
  const int64_t in = s.in_size(), out = s.out_size();
  in_parts(y.numel() / out, out, [&](int64_t first, int64_t n) {
    const auto count = std::uint32_t(n * out);
    char* const to = places.data + first * out * size_of(places.dtype());
    visit(x.dtype(), [&]<class N>(N) {
      with_lanes(s, [&]<int kLanes>(std::integral_constant<int, kLanes>) {
        largest<N, kLanes><<<blocks(count, kLanes), kThreads, 0, stream>>>(p, x.data + first * in * size,
                                                                           y.data + first * out * size, to, count);
      });
    });
  });
  c.fail(launched(index));
}
void gather(Context& c, View x, View places, View y, const PoolShape& s) {
  if (!y.numel()) return;
  const int index = c.device.index, size = size_of(x.dtype());
  const OnDevice on(index);
  const cudaStream_t stream = current_stream(index);
  Pool p;
  if (Failed f = pool_of(s, x.dtype(), places.dtype() == DType::uint8, &p)) return c.fail(f);
  const int64_t in = s.in_size(), out = s.out_size();
  in_parts(y.numel() / out, out, [&](int64_t first, int64_t n) {
    const auto count = std::uint32_t(n * out);
    const auto run = [&]<class E>(E) {
      gather_elements<<<blocks(count), kThreads, 0, stream>>>(p, x.as<E>() + first * in,
                                                              places.data + first * out * size_of(places.dtype()),
                                                              y.as<E>() + first * out, count);
    };
    if (size == 1) run(std::uint8_t());
    else if (size == 2) run(std::uint16_t());
    else if (size == 4) run(std::uint32_t());
    else run(std::uint64_t());
  });
  c.fail(launched(index));
}
void mean(Context& c, View x, View y, const PoolShape& s) {
  if (!y.numel()) return;
  const int index = c.device.index, size = size_of(x.dtype());
  const OnDevice on(index);
  const cudaStream_t stream = current_stream(index);
  Pool p;
  if (Failed f = pool_of(s, x.dtype(), false, &p)) return c.fail(f);
  const int64_t in = s.in_size(), out = s.out_size();
  in_parts(y.numel() / out, out, [&](int64_t first, int64_t n) {
    const auto count = std::uint32_t(n * out);
    visit(x.dtype(), [&]<class N>(N) {
      with_lanes(s, [&]<int kLanes>(std::integral_constant<int, kLanes>) {
        average<N, kLanes><<<blocks(count, kLanes), kThreads, 0, stream>>>(p, x.data + first * in * size,
                                                                           y.data + first * out * size, count);
      });
    });
  });
  c.fail(launched(index));
}
}  // namespace
}  // namespace pooling

const pool_kernels* pool() {
  using namespace pooling;
  static constexpr pool_kernels table{
      .max = largest_of, .scatter = scatter, .gather = gather, .mean = mean, .mean_gradient = mean_gradient};
  return &table;
}

}  // namespace neura::cuda
