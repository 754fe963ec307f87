// Sampling of images at points. A block of points becomes lists of elements and weights once; then each channel is read
// by them. Gradients of an image are summed by one thread per channel, so that their order is fixed.
#include <algorithm>
#include <cmath>

#include "neura/backend/cpu/planar.h"
#include "neura/backend/cpu/pool.h"
#include "neura/backend/number/prelude.h"
#include "neura/core/parallel.h"

namespace neura {
namespace {

using std::int64_t;

#include "neura/backend/number/sampling.h"

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
