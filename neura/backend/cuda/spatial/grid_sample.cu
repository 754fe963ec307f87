// Sampling of images at points: a thread makes one point of some channels. Halves are computed as float32 copies.
#include "neura/backend/cuda/pointwise/execute.h"
#include "neura/backend/cuda/runtime/launch.h"
#include "neura/backend/cuda/runtime/precision.h"
#include "neura/backend/cuda/runtime/scratch.h"
#include "neura/backend/kernels/grid_sample.h"
#include "neura/backend/number/prelude.h"

namespace neura::cuda {
namespace {

using std::int64_t;
#include "neura/backend/number/grid_sample.h"

struct Sizes {
  GridSampling s;
  int64_t n, channels, in[3], plane = 1, points = 1;  // elements of an image, points of a grid
  int64_t part;                                       // channels of a thread
};

// What a point means: elements of the image (-1: outside), their weights, and the derivatives of these.
template <class T, int kDims, int kEach> struct Point {
  static constexpr int kCount = kDims == 3 ? kEach * kEach * kEach : kEach * kEach;
  Line<T> line[kDims];
  __device__ Point(const T* point, const Sizes& z) {
#pragma unroll
    for (int d = 0; d < kDims; ++d) find(line[d], point[kDims - 1 - d], z.in[d], z.s);
  }
  __device__ static int element(int k, int d) {
    return d == kDims - 1 ? k % kEach : d == kDims - 2 ? k / kEach % kEach : k / (kEach * kEach);
  }
  __device__ int64_t place(int k, const Sizes& z) const {
    int64_t at = 0;
#pragma unroll
    for (int d = 0; d < kDims; ++d) {
      const int64_t one = line[d].index[element(k, d)];
      at = at < 0 || one < 0 ? -1 : at * z.in[d] + one;
    }
    return at;
  }
  // The weight, or its derivative by the coordinate along dimension `by`
  __device__ T weight(int k, int by = -1) const {
    T w = 1;
#pragma unroll
    for (int d = 0; d < kDims; ++d) w *= d == by ? line[d].slope[element(k, d)] : line[d].weight[element(k, d)];
    return w;
  }
};

template <class T, int kDims, int kEach> __global__ void __launch_bounds__(kGridThreads)
    take_points(const __grid_constant__ Sizes z, const T* x, const T* grid, T* y) {
  const int64_t i = int64_t(blockIdx.x) * kGridThreads + threadIdx.x;
  if (i >= z.n * z.points) return;
  const int64_t image = i / z.points, point = i - image * z.points;
  const Point<T, kDims, kEach> p(grid + i * kDims, z);
  int64_t place[p.kCount];
  T weight[p.kCount];
#pragma unroll
  for (int k = 0; k < p.kCount; ++k) place[k] = p.place(k, z), weight[k] = p.weight(k);
  const int64_t begin = blockIdx.y * z.part, end = begin + z.part < z.channels ? begin + z.part : z.channels;
  for (int64_t c = image * z.channels + begin; c < image * z.channels + end; ++c) {
    T sum = 0;
#pragma unroll
    for (int k = 0; k < p.kCount; ++k)
      if (place[k] >= 0) sum += weight[k] * x[c * z.plane + place[k]];
    y[c * z.points + point] = sum;
  }
}

// Adds to gx by atomics, in an arbitrary order of threads.
template <class T, int kDims, int kEach> __global__ void __launch_bounds__(kGridThreads)
    scatter_points(const __grid_constant__ Sizes z, const T* g, const T* grid, T* gx) {
  const int64_t i = int64_t(blockIdx.x) * kGridThreads + threadIdx.x;
  if (i >= z.n * z.points) return;
  const int64_t image = i / z.points, point = i - image * z.points;
  const Point<T, kDims, kEach> p(grid + i * kDims, z);
  const int64_t begin = blockIdx.y * z.part, end = begin + z.part < z.channels ? begin + z.part : z.channels;
  for (int k = 0; k < p.kCount; ++k) {
    const int64_t place = p.place(k, z);
    const T weight = p.weight(k);
    if (place < 0) continue;
    for (int64_t c = image * z.channels + begin; c < image * z.channels + end; ++c)
      atomicAdd(gx + c * z.plane + place, weight * g[c * z.points + point]);
  }
}
// The same in the order of the points: a thread for each channel.
template <class T, int kDims, int kEach> __global__ void __launch_bounds__(kGridThreads)
    scatter_in_order(const __grid_constant__ Sizes z, const T* g, const T* grid, T* gx) {
  const int64_t c = int64_t(blockIdx.x) * kGridThreads + threadIdx.x;
  if (c >= z.n * z.channels) return;
  const T* point = grid + c / z.channels * z.points * kDims;
  for (int64_t i = 0; i < z.points; ++i, point += kDims) {
    const Point<T, kDims, kEach> p(point, z);
    for (int k = 0; k < p.kCount; ++k)
      if (const int64_t place = p.place(k, z); place >= 0) gx[c * z.plane + place] += p.weight(k) * g[c * z.points + i];
  }
}

template <class T, int kDims, int kEach> __global__ void __launch_bounds__(kGridThreads)
    move_points(const __grid_constant__ Sizes z, const T* g, const T* x, const T* grid, T* ggrid) {
  const int64_t i = int64_t(blockIdx.x) * kGridThreads + threadIdx.x;
  if (i >= z.n * z.points) return;
  const int64_t image = i / z.points, point = i - image * z.points;
  const Point<T, kDims, kEach> p(grid + i * kDims, z);
  T sum[kDims] = {};
  if (kEach > 1)
    for (int k = 0; k < p.kCount; ++k) {
      const int64_t place = p.place(k, z);
      if (place < 0) continue;
      T product = 0;
      for (int64_t c = image * z.channels; c < (image + 1) * z.channels; ++c)
        product += g[c * z.points + point] * x[c * z.plane + place];
#pragma unroll
      for (int d = 0; d < kDims; ++d) sum[d] += product * p.weight(k, d);
    }
#pragma unroll
  for (int d = 0; d < kDims; ++d) ggrid[i * kDims + kDims - 1 - d] = sum[d];
}

Sizes sizes_of(const View& grid, const Spec& x, const GridSampling& s) {
  Sizes z{.s = s, .n = x.shape[0], .channels = x.shape[1], .in = {1, 1, 1}, .part = 1};
  for (int d = 0; d < grid.rank() - 2; ++d)
    z.in[d] = x.shape[d + 2], z.plane *= x.shape[d + 2], z.points *= grid.size(d + 1);
  constexpr int64_t enough = 1 << 18;  // threads that keep a device busy
  const int64_t parts =
      std::clamp<int64_t>(enough / std::max<int64_t>(1, z.n * z.points), 1, std::clamp<int64_t>(z.channels, 1, 65535));
  z.part = ceiling_of(std::max<int64_t>(1, z.channels), parts);
  return z;
}
Grid grid_of(const Sizes& z) {
  Grid g = grid_over(z.n * z.points);
  g.y = ceiling_of(z.channels, z.part);
  return g;
}

// f(a number, dimensions, elements of a line)
template <class F> void with_kinds(const View& grid, const GridSampling& s, F&& f) {
  const auto typed = [&]<class T>(T) {
    const bool cubic = s.mode == Sampling::cubic, nearest = s.mode == Sampling::nearest;
    if (grid.rank() == 5) nearest ? f.template operator()<T, 3, 1>() : f.template operator()<T, 3, 2>();
    else if (cubic) f.template operator()<T, 2, 4>();
    else nearest ? f.template operator()<T, 2, 1>() : f.template operator()<T, 2, 2>();
  };
  grid.dtype() == DType::float64 ? typed(double()) : typed(float());
}

// x as float32 if it is half, else itself; absent stays absent.
struct Wide {
  Spec spec;
  View view;
  Failed take(Scratch& scratch, const View& x, bool read) {
    view = x;
    if (!x || !(bit(x.dtype()) & dtypes::halves)) return nullptr;
    spec = Spec::dense(DType::float32, x.spec->sizes(), x.spec->device);
    view = {nullptr, &spec};
    if (Failed f = scratch.take(std::max<std::size_t>(spec.bytes(), 1), &view.data)) return f;
    return read ? assign(view, x) : nullptr;
  }
  Failed store(const View& to) const { return to && view.data != to.data ? assign(to, view) : nullptr; }
};

Failed sample_of(int index, const View& x, const View& grid, const View& y, const GridSampling& s) {
  Scratch scratch(index, current_stream(index));
  Wide wx, wgrid, wy;
  if (Failed f = wx.take(scratch, x, true)) return f;
  if (Failed f = wgrid.take(scratch, grid, true)) return f;
  if (Failed f = wy.take(scratch, y, false)) return f;
  const Sizes z = sizes_of(grid, *x.spec, s);
  with_kinds(wgrid.view, s, [&]<class T, int kDims, int kEach>() {
    launch_kernel(take_points<T, kDims, kEach>, grid_of(z), current_stream(index), z, wx.view.as<T>(),
                  wgrid.view.as<T>(), wy.view.as<T>());
  });
  if (Failed f = launched(index)) return f;
  return wy.store(y);
}

Failed image_gradient(int index, const View& g, const View& grid, const View& gx, const GridSampling& s) {
  const Sizes z = sizes_of(grid, *gx.spec, s);
  cudaStream_t const stream = current_stream(index);
  NEURA_CUDA_TRY(cudaMemsetAsync(gx.data, 0, gx.spec->bytes(), stream), "grid_sample");
  with_kinds(grid, s, [&]<class T, int kDims, int kEach>() {
    if (deterministic_algorithms())
      launch_kernel(scatter_in_order<T, kDims, kEach>, grid_over(z.n * z.channels), stream, z, g.as<T>(), grid.as<T>(),
                    gx.as<T>());
    else launch_kernel(scatter_points<T, kDims, kEach>, grid_of(z), stream, z, g.as<T>(), grid.as<T>(), gx.as<T>());
  });
  return launched(index);
}

Failed gradients_of(int index, const View& g, const View& x, const View& grid, const View& gx, const View& ggrid,
                    const GridSampling& s) {
  cudaStream_t const stream = current_stream(index);
  Scratch scratch(index, stream);
  Wide wg, wx, wgrid, wgx, wggrid;
  if (Failed f = wg.take(scratch, g, true)) return f;
  if (Failed f = wgrid.take(scratch, grid, true)) return f;
  if (gx && gx.numel()) {
    if (Failed f = wgx.take(scratch, gx, false)) return f;
    if (Failed f = image_gradient(index, wg.view, wgrid.view, wgx.view, s)) return f;
    if (Failed f = wgx.store(gx)) return f;
  }
  if (!ggrid || !ggrid.numel()) return nullptr;
  if (Failed f = wx.take(scratch, x, true)) return f;
  if (Failed f = wggrid.take(scratch, ggrid, false)) return f;
  const Sizes z = sizes_of(grid, *x.spec, s);
  with_kinds(wgrid.view, s, [&]<class T, int kDims, int kEach>() {
    launch_kernel(move_points<T, kDims, kEach>, grid_over(z.n * z.points), stream, z, wg.view.as<T>(), wx.view.as<T>(),
                  wgrid.view.as<T>(), wggrid.view.as<T>());
  });
  if (Failed f = launched(index)) return f;
  return wggrid.store(ggrid);
}

void forward(Context& c, View x, View grid, View y, const GridSampling& s) {
  const OnDevice on(c.device.index);
  if (y.numel()) c.fail(sample_of(c.device.index, x, grid, y, s));
}
void backward(Context& c, View g, View x, View grid, View gx, View ggrid, const GridSampling& s) {
  const OnDevice on(c.device.index);
  c.fail(gradients_of(c.device.index, g, x, grid, gx, ggrid, s));
}

}  // namespace

const grid_sample_kernels* grid_sample() {
  static constexpr grid_sample_kernels table{.forward = forward, .backward = backward};
  return &table;
}

}  // namespace neura::cuda
