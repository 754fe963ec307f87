// Pooling. A thread makes one result; of a large window a warp or a block does.
#include "neura/backend/cuda/spatial/pool.cuh"

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

// The means of such windows. Elements are added in the order of the window, as `average` does.
template <int V> __global__ void __launch_bounds__(kThreads)
    average_of_four(const char* x, char* y, float divisor, const __grid_constant__ Fours f, std::uint32_t count) {
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  float v[2][2 * V], mean[V];
  const char* const upper = x + f.offset(i, 2 * V);
  load_pack(v[0], upper, f.dtype, 0), load_pack(v[1], upper + f.row_bytes, f.dtype, 0);
#pragma unroll
  for (int o = 0; o < V; ++o) {
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) sum += v[k / 2][2 * o + k % 2];
    mean[o] = sum / divisor;
  }
  store_pack(mean, y, f.dtype, V * i);
}

// Windows of 3 x 3 that overlap: they move by two, with a border of one. A thread has two of them, side by side, and
// reads of each row a pack of four elements and the one before.
struct Nines {
  Division pairs, rows;  // of results in a row, rows in an image
  std::uint32_t height, width;
  DType dtype;
  std::uint8_t size;
};
__global__ void __launch_bounds__(kThreads)
    largest_of_nine(const char* x, char* y, Bytes<2>* places, const __grid_constant__ Nines p, std::uint32_t count) {
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  const std::uint32_t line = quotient(i, p.pairs), pair = i - line * p.pairs.divisor;
  const std::uint32_t image = quotient(line, p.rows), row = line - image * p.rows.divisor;
  float v[3][5];
  bool there[3];
#pragma unroll
  for (std::uint32_t k = 0; k < 3; ++k) {
    const std::uint32_t at = 2 * row + k - 1;  // above the first row: a large number
    there[k] = at < p.height;
    if (!there[k]) continue;
    const char* const from = x + ((std::size_t(image) * p.height + at) * p.width + 4 * pair) * p.size;
    float four[4];
    load_pack(four, from, p.dtype, 0);
    v[k][0] = pair ? load_simple<float>(from - p.size, p.dtype, 0) : 0.0f;
#pragma unroll
    for (int j = 0; j < 4; ++j) v[k][j + 1] = four[j];
  }
  float best[2] = {};
  Bytes<2> place;
#pragma unroll
  for (int o = 0; o < 2; ++o) {
    int found = -1;
#pragma unroll
    for (int k = 0; k < 9; ++k) {
      const float next = v[k / 3][2 * o + k % 3];
      const bool inside = there[k / 3] && (o || k % 3 || pair);
      if (inside && (found < 0 || next > best[o] || next != next)) best[o] = next, found = k;
    }
    place.v[o] = std::uint8_t(found);
  }
  store_pack(best, y, p.dtype, 2 * i);
  places[i] = place;
}
bool are_nines(const PoolShape& s, const View& x, const View& y, const View& places) {
  bool fits = !s.adaptive && accumulation(x.dtype()) == DType::float32 && places.dtype() == DType::uint8 &&
              s.kernel[0] == 1 && s.in[0] == s.out[0] && s.stride[0] == 1 && s.padding[0] == 0 &&
              s.in[2] == 2 * s.out[2] && s.out[2] % 2 == 0 && s.in_size() <= kMostResults;
  for (int d = 1; d < 3; ++d)
    fits = fits && s.kernel[d] == 3 && s.stride[d] == 2 && s.dilation[d] == 1 && s.padding[d] == 1;
  const auto at = [](const View& v) { return reinterpret_cast<std::uintptr_t>(v.data); };
  const auto size = std::uintptr_t(size_of(x.dtype()));
  return fits && at(x) % (4 * size) == 0 && at(y) % (2 * size) == 0 && at(places) % 2 == 0;
}
void take_nines(const PoolShape& s, const View& x, const View& y, const View& places, cudaStream_t stream) {
  const int64_t size = size_of(x.dtype()), in = s.in_size(), each = s.out_size() / 2;
  const Nines p{division(std::uint32_t(s.out[2] / 2)),
                division(std::uint32_t(s.out[1])),
                std::uint32_t(s.in[1]),
                std::uint32_t(s.in[2]),
                x.dtype(),
                std::uint8_t(size)};
  in_parts(y.numel() / s.out_size(), each, [&](int64_t first, int64_t n) {
    const auto count = std::uint32_t(n * each);
    largest_of_nine<<<blocks(count), kThreads, 0, stream>>>(
        x.data + first * in * size, y.data + first * each * 2 * size, places.as<Bytes<2>>() + first * each, p, count);
  });
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
  if (are_nines(s, x, y, places)) return take_nines(s, x, y, places, stream), c.fail(launched(index));
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
  if (const int tiles = fours_of(s, x, y)) {
    const float divisor = s.divisor ? float(s.divisor) : 4.0f;
    each_four(s, tiles, y.numel(), x.dtype(), [&]<int V>(Tiles<V>, const Fours& f, int64_t first, std::uint32_t count) {
      average_of_four<V><<<blocks(count), kThreads, 0, stream>>>(x.data + first * 4 * V * size,
                                                                 y.data + first * V * size, divisor, f, count);
    });
    return c.fail(launched(index));
  }
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
