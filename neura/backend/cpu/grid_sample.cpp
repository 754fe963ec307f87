// Sampling of images at points. A block of points becomes lists of elements and weights once; then each channel is read
// by them. Gradients of an image are summed by one thread per channel, so that their order is fixed.
#include <algorithm>
#include <cmath>

#include "neura/backend/cpu/planar.h"
#include "neura/backend/cpu/pool.h"
#include "neura/core/parallel.h"

namespace neura {
namespace {

using std::int64_t;

// What one coordinate of a point means along its dimension: elements (-1: outside), their weights, and the derivatives
// of these by the coordinate.
template <class T> struct Line {
  int count = 0;
  int64_t index[4];
  T weight[4], slope[4];
  void add(T at, int64_t size, T w, T s) {
    const bool inside = at >= 0 && at <= T(size - 1);  // false for NaN
    index[count] = inside ? int64_t(at) : -1, weight[count] = w, slope[count] = s, ++count;
  }
};

template <class T> T clipped(T p, int64_t size, T& factor) {
  if (!(p > 0)) return factor = 0, T(0);
  const T top = T(size - 1);
  return p >= top ? (factor = 0, top) : p;
}
// Mirrored at both ends until it lies between them: at the outer elements' centres, or at their edges.
template <class T> T mirrored(T p, int64_t size, bool align_corners, T& factor) {
  const T low = align_corners ? T(0) : T(-0.5), span = T(align_corners ? size - 1 : size);
  if (span == 0) return factor = 0, T(0);
  if (p < low) factor = -factor;
  const T distance = std::abs(p - low), rest = std::fmod(distance, span);
  if (std::fmod(std::floor(distance / span), T(2)) == 0) return low + rest;
  factor = -factor;
  return low + (span - rest);
}
template <class T> T padded(T p, int64_t size, const GridSampling& s, T& factor) {
  if (s.padding == SamplePadding::zeros) return p;
  if (s.padding == SamplePadding::reflection) p = mirrored(p, size, s.align_corners, factor);
  return clipped(p, size, factor);
}

// Keys's kernel with a = -0.75 at t + 1, t, 1 - t and 2 - t, and its derivatives by t.
template <class T> void cubic(T t, T (&weight)[4], T (&slope)[4]) {
  constexpr T a = T(-0.75);
  const auto near = [](T x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](T x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  const auto near_slope = [](T x) { return (3 * (a + 2) * x - 2 * (a + 3)) * x; };
  const auto far_slope = [](T x) { return (3 * a * x - 10 * a) * x + 8 * a; };
  weight[0] = far(t + 1), weight[1] = near(t), weight[2] = near(1 - t), weight[3] = far(2 - t);
  slope[0] = far_slope(t + 1), slope[1] = near_slope(t), slope[2] = -near_slope(1 - t), slope[3] = -far_slope(2 - t);
}

template <class T> void find(Line<T>& line, T coordinate, int64_t size, const GridSampling& s) {
  T factor = T(s.align_corners ? size - 1 : size) / 2;      // the derivative of p by the coordinate
  if (std::isnan(coordinate)) coordinate = -1, factor = 0;  // as torch documents it
  const T p = s.align_corners ? (coordinate + 1) / 2 * T(size - 1) : ((coordinate + 1) * T(size) - 1) / 2;
  if (s.mode == Sampling::cubic) {
    const T low = std::floor(p);
    T weight[4], slope[4];
    cubic(p - low, weight, slope);
    for (int k = 0; k < 4; ++k) {  // each element is padded by itself
      T unused = 1;
      line.add(std::nearbyint(padded(low + T(k - 1), size, s, unused)), size, weight[k], slope[k] * factor);
    }
    return;
  }
  const T q = padded(p, size, s, factor);
  if (s.mode == Sampling::nearest) return line.add(std::nearbyint(q), size, 1, 0);  // ties to even
  const T low = std::floor(q), part = q - low;
  line.add(low, size, 1 - part, -factor), line.add(low + 1, size, part, factor);
}

struct Sizes {
  int dims;
  int64_t n, channels, in[3], plane = 1, points = 1;  // elements of an image, points of a grid
  Sizes(const Spec& grid, const Shape& x) : dims(grid.rank - 2), n(x[0]), channels(x[1]) {
    for (int d = 0; d < dims; ++d) in[d] = x[d + 2], plane *= in[d], points *= grid.shape[d + 1];
  }
};

constexpr int kPoints = 64, kMost = 16;  // points of a block; elements of a point: 4 * 4, or 2 * 2 * 2
constexpr int64_t blocks_of(const Sizes& z) { return (z.points + kPoints - 1) / kPoints; }

template <class T> struct Block {
  int64_t first;
  int points, count = 0;  // elements of each point
  int64_t index[kMost][kPoints];
  T weight[kMost][kPoints], slope[2 * kMost][kPoints];  // slopes by grid component, then element

  Block(const T* grid, const Sizes& z, const GridSampling& s, int64_t image, int64_t block)
      : first(block * kPoints), points(int(std::min<int64_t>(kPoints, z.points - first))) {
    grid += (image * z.points + first) * z.dims;
    for (int i = 0; i < points; ++i, grid += z.dims) add(i, grid, z, s);
  }
  void add(int i, const T* point, const Sizes& z, const GridSampling& s) {
    Line<T> line[3];
    for (int d = 0; d < z.dims; ++d) find(line[d], point[z.dims - 1 - d], z.in[d], s);
    const int each = line[0].count;
    count = z.dims == 3 ? each * each * each : each * each;
    for (int k = 0; k < count; ++k) {
      const int at[3] = {z.dims == 3 ? k / (each * each) : k / each, k / (z.dims == 3 ? each : 1) % each, k % each};
      int64_t place = 0;
      T w = 1, by[3] = {1, 1, 1};
      for (int d = 0; d < z.dims; ++d) {
        const int64_t one = line[d].index[at[d]];
        place = place < 0 || one < 0 ? -1 : place * z.in[d] + one;
        w *= line[d].weight[at[d]];
        for (int e = 0; e < z.dims; ++e) by[e] *= e == d ? line[d].slope[at[d]] : line[d].weight[at[d]];
      }
      index[k][i] = place, weight[k][i] = w;
      for (int d = 0; d < z.dims; ++d) slope[(z.dims - 1 - d) * count + k][i] = by[d];
    }
  }
};
int64_t grain(const Sizes& z) { return std::max<int64_t>(1, kSerial / (kPoints * 4 * (z.channels + 8))); }

template <class T> void sample_of(View x, View grid, View y, const GridSampling& s) {
  const Sizes z(*grid.spec, x.spec->sizes());
  const int64_t blocks = blocks_of(z);
  parallel_for(z.n * blocks, grain(z), [&](int64_t unit, int64_t end) {
    for (; unit < end; ++unit) {
      const int64_t image = unit / blocks;
      const Block<T> b(grid.as<T>(), z, s, image, unit % blocks);
      for (int64_t c = image * z.channels; c < (image + 1) * z.channels; ++c) {
        const T* const from = x.as<T>() + c * z.plane;
        T sum[kPoints] = {};
        for (int k = 0; k < b.count; ++k)
          for (int i = 0; i < b.points; ++i)
            if (b.index[k][i] >= 0) sum[i] += b.weight[k][i] * from[b.index[k][i]];
        std::copy_n(sum, b.points, y.as<T>() + c * z.points + b.first);
      }
    }
  });
}

template <class T> void image_gradient(View g, View grid, View gx, const GridSampling& s) {
  const Sizes z(*grid.spec, gx.spec->sizes());
  const int64_t wanted = (get_num_threads() + z.n - 1) / z.n, each = (z.channels + wanted - 1) / wanted;
  const int64_t parts = (z.channels + each - 1) / each, work = each * (z.plane + 4 * z.points) + 8 * z.points;
  parallel_for(z.n * parts, std::max<int64_t>(1, kSerial / (work + 1)), [&](int64_t unit, int64_t end) {
    for (; unit < end; ++unit) {
      const int64_t image = unit / parts, part = unit % parts;
      const int64_t begin = image * z.channels + part * each;
      const int64_t last = std::min(begin + each, (image + 1) * z.channels);
      std::fill(gx.as<T>() + begin * z.plane, gx.as<T>() + last * z.plane, T(0));
      for (int64_t block = 0; block < blocks_of(z); ++block) {
        const Block<T> b(grid.as<T>(), z, s, image, block);
        for (int64_t c = begin; c < last; ++c) {
          const T* const from = g.as<T>() + c * z.points + b.first;
          T* const to = gx.as<T>() + c * z.plane;
          for (int k = 0; k < b.count; ++k)
            for (int i = 0; i < b.points; ++i)
              if (b.index[k][i] >= 0) to[b.index[k][i]] += b.weight[k][i] * from[i];
        }
      }
    }
  });
}

template <class T> void grid_gradient(View g, View x, View grid, View ggrid, const GridSampling& s) {
  const Sizes z(*grid.spec, x.spec->sizes());
  const int64_t blocks = blocks_of(z);
  parallel_for(z.n * blocks, grain(z), [&](int64_t unit, int64_t end) {
    for (; unit < end; ++unit) {
      const int64_t image = unit / blocks;
      const Block<T> b(grid.as<T>(), z, s, image, unit % blocks);
      T sum[3][kPoints] = {};
      for (int64_t c = image * z.channels; c < (image + 1) * z.channels && s.mode != Sampling::nearest; ++c) {
        const T* const from = x.as<T>() + c * z.plane;
        const T* const in = g.as<T>() + c * z.points + b.first;
        for (int k = 0; k < b.count; ++k)
          for (int i = 0; i < b.points; ++i) {
            if (b.index[k][i] < 0) continue;
            const T product = in[i] * from[b.index[k][i]];
            for (int d = 0; d < z.dims; ++d) sum[d][i] += product * b.slope[d * b.count + k][i];
          }
      }
      T* to = ggrid.as<T>() + (image * z.points + b.first) * z.dims;
      for (int i = 0; i < b.points; ++i)
        for (int d = 0; d < z.dims; ++d) *to++ = sum[d][i];
    }
  });
}

bool is_half(const View& v) { return bit(v.dtype()) & dtypes::halves; }

}  // namespace

void sample(Context& c, View x, View grid, View y, const GridSampling& s) {
  if (!y.numel()) return;
  if (is_half(x)) {
    const FloatCopy fx(c, x), fgrid(c, grid), fy(c, y, false);
    sample_of<float>(fx.view(), fgrid.view(), fy.view(), s);
    return fy.store(y);
  }
  if (x.dtype() == DType::float64) sample_of<double>(x, grid, y, s);
  else sample_of<float>(x, grid, y, s);
}

void sample_gradient(Context& c, View g, View x, View grid, View gx, View ggrid, const GridSampling& s) {
  if (is_half(grid)) {
    const FloatCopy fg(c, g), fx(c, x), fgrid(c, grid), fgx(c, gx, false), fggrid(c, ggrid, false);
    const auto seen = [](const View& v, const FloatCopy& copy) { return v ? copy.view() : View(); };
    sample_gradient(c, fg.view(), seen(x, fx), fgrid.view(), seen(gx, fgx), seen(ggrid, fggrid), s);
    if (gx) fgx.store(gx);
    if (ggrid) fggrid.store(ggrid);
    return;
  }
  const bool wide = grid.dtype() == DType::float64;
  if (gx && gx.numel()) wide ? image_gradient<double>(g, grid, gx, s) : image_gradient<float>(g, grid, gx, s);
  if (ggrid && ggrid.numel())
    wide ? grid_gradient<double>(g, x, grid, ggrid, s) : grid_gradient<float>(g, x, grid, ggrid, s);
}

}  // namespace neura
