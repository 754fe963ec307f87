// Sampling of images at points. Planes of few channels are read in place (grid_sample_narrow.h). Else a block of points
// becomes lists of elements and weights once, and a copy is made whose channels are innermost, so that a point reads
// whole registers of channels. Gradients of an image are summed by one thread per channel: their order is fixed.
#include <algorithm>
#include <cmath>

#include "neura/backend/cpu/split_complex.h"
#include "neura/backend/cpu/spatial/grid_sample_narrow.h"
#include "neura/backend/number/prelude.h"

namespace neura {
namespace {

using std::int64_t;

#include "neura/backend/number/grid_sample.h"

using Sizes = SampleSizes;
constexpr int kPoints = kSamplePoints, kMost = kSampleElements;

template <class T> struct Block {
  int64_t first;
  int points, count = 0;  // elements of each point
  bool inside = true;     // are all of them?
  int64_t index[kMost][kPoints];
  T weight[kMost][kPoints], slope[2 * kMost][kPoints];  // slopes by grid component, then element

  Block(const T* grid, const Sizes& z, const GridSampling& s, int64_t image, int64_t block, bool slopes)
      : first(block * kPoints), points(int(std::min<int64_t>(kPoints, z.points - first))) {
    grid += (image * z.points + first) * z.dims;
    if (z.dims == 2) {
      SamplePlaces<T> places{index, weight, slopes ? slope : nullptr, true};
      if (sample_lines<T>().place(grid, points, z.in, s, places)) {
        count = s.mode == Sampling::nearest ? 1 : s.mode == Sampling::linear ? 4 : 16, inside = places.inside;
        return;
      }
    }
    for (int i = 0; i < points; ++i, grid += z.dims) add(i, grid, z, s, slopes);
  }
  void add(int i, const T* point, const Sizes& z, const GridSampling& s, bool slopes) {
    Line<T> line[3];
    for (int d = 0; d < z.dims; ++d) find(line[d], point[z.dims - 1 - d], z.in[d], s);
    const int each = line[0].count;
    count = z.dims == 3 ? each * each * each : each * each;
    z.dims == 3 ? cross_three(i, line, each, z, slopes) : cross_two(i, line, each, z, slopes);
  }
  void cross_two(int i, const Line<T>* line, int each, const Sizes& z, bool slopes) {
    for (int r = 0, k = 0; r < each; ++r)
      for (int c = 0; c < each; ++c, ++k) {
        const int64_t row = line[0].index[r], column = line[1].index[c];
        const int64_t place = row < 0 || column < 0 ? -1 : row * z.in[1] + column;
        index[k][i] = place, weight[k][i] = place < 0 ? 0 : line[0].weight[r] * line[1].weight[c];
        inside &= place >= 0;
        if (!slopes) continue;
        slope[k][i] = line[0].weight[r] * line[1].slope[c];
        slope[count + k][i] = line[0].slope[r] * line[1].weight[c];
      }
  }
  void cross_three(int i, const Line<T>* line, int each, const Sizes& z, bool slopes) {
    int at[3] = {};
    for (int k = 0; k < count; ++k) {
      int64_t place = 0;
      T w = 1, by[3] = {1, 1, 1};
      for (int d = 0; d < 3; ++d) {
        const int64_t one = line[d].index[at[d]];
        place = place < 0 || one < 0 ? -1 : place * z.in[d] + one;
        w *= line[d].weight[at[d]];
        if (slopes)
          for (int e = 0; e < 3; ++e) by[e] *= e == d ? line[d].slope[at[d]] : line[d].weight[at[d]];
      }
      index[k][i] = place, weight[k][i] = place < 0 ? 0 : w, inside &= place >= 0;
      if (slopes)
        for (int d = 0; d < 3; ++d) slope[(2 - d) * count + k][i] = by[d];
      for (int d = 2; d >= 0 && ++at[d] == each; --d) at[d] = 0;
    }
  }
  SampleBlock<T> lists() const { return {points, count, index, weight}; }
};
template <class T> int64_t whole_registers(int64_t columns) {
  const int64_t lanes = sample_lines<T>().lanes;
  return (columns + lanes - 1) / lanes * lanes;
}
// Images whose channels are innermost, as many at a time as are in caches of the second level, or one.
constexpr int64_t kTogether = 4 << 20;
template <class T> struct Wide {
  const Sizes& z;
  const int64_t width, together;
  T* const data;
  Wide(Context& c, const Sizes& sizes)
      : z(sizes),
        width(whole_registers<T>(z.channels)),
        together(std::clamp<int64_t>(kTogether / (z.plane * width * int64_t(sizeof(T))), 1, z.n)),
        data(c.scratch_of<T>(together * z.plane * width)) {}
  // Whether the copy pays: a single element is read faster in place.
  static bool fits(const Sizes& z, const GridSampling& s) {
    return s.mode != Sampling::nearest && z.channels * 2 >= sample_lines<T>().lanes && z.points * 4 >= z.plane;
  }
  T* image(int64_t i) const { return data + i % together * z.plane * width; }

  void load(const T* x, int64_t first, int64_t count) const {
    const int64_t parts = (z.plane + kPoints - 1) / kPoints;
    parallel_for(count * parts, std::max<int64_t>(1, kSerial / (kPoints * width)), [&](int64_t unit, int64_t end) {
      for (; unit < end; ++unit) {
        const int64_t i = first + unit / parts, begin = unit % parts * kPoints,
                      n = std::min<int64_t>(kPoints, z.plane - begin);
        T* const to = image(i) + begin * width;
        sample_lines<T>().turn(x + i * z.channels * z.plane + begin, z.plane, z.channels, n, to, width);
        for (int64_t k = 0; k < n; ++k) std::fill(to + k * width + z.channels, to + (k + 1) * width, T(0));
      }
    });
  }
  // f(first image, how many) for all of them.
  template <class F> void for_groups(const F& f) const {
    for (int64_t first = 0; first < z.n; first += together) f(first, std::min(together, z.n - first));
  }
  // f(first channel, channels, these rounded up to registers) for all of [begin, end)
  template <class F> static void for_columns(int64_t begin, int64_t end, const F& f) {
    for (int64_t c = begin; c < end; c += kSampleColumns) {
      const int64_t n = std::min(kSampleColumns, end - c);
      f(c, n, whole_registers<T>(n));
    }
  }
  // f(image, its pixels, block of its points, room for the values of a block) for the blocks of all images: an image
  // for each thread, or all threads at a few of them.
  template <class F> void for_blocks(const T* x, const T* grid, const GridSampling& s, bool slopes, const F& f) const {
    const int64_t blocks = blocks_of(z);
    const auto run = [&](int64_t image, int64_t begin, int64_t end) {
      alignas(64) T values[kPoints * kSampleColumns];
      for (; begin < end; ++begin) f(image, this->image(image), Block<T>(grid, z, s, image, begin, slopes), values);
    };
    for_groups([&](int64_t first, int64_t count) {
      if (count >= get_num_threads())
        return parallel_for(count, 1, [&](int64_t i, int64_t end) {
          for (; i < end; ++i) load(x, first + i, 1), run(first + i, 0, blocks);
        });
      load(x, first, count);
      for (int64_t i = first; i < first + count; ++i)
        parallel_for(blocks, grain(z), [&](int64_t begin, int64_t end) { run(i, begin, end); });
    });
  }
};
// The values of a block of points, [points, columns].
template <class T>
void take_values(const T* g, const Sizes& z, const Block<T>& b, int64_t channels, int64_t columns, T* to) {
  sample_lines<T>().turn(g + b.first, z.points, channels, b.points, to, columns);
  for (int i = 0; i < b.points; ++i) std::fill(to + i * columns + channels, to + (i + 1) * columns, T(0));
}

// Whether reading in place is faster than that copy.
constexpr int64_t kNarrow = 12;  // channels
template <class T> bool is_narrow(const Sizes& z, const GridSampling& s) {
  return NarrowSample<T>::takes(z, s) && (z.channels <= kNarrow || !Wide<T>::fits(z, s));
}

template <class T> void sample_wide(Context& c, View x, View grid, View y, const GridSampling& s, const Sizes& z) {
  const Wide<T> wide(c, z);
  wide.for_blocks(x.as<T>(), grid.as<T>(), s, false, [&](int64_t image, const T* pixels, const Block<T>& b, T* values) {
    T* const to = y.as<T>() + image * z.channels * z.points + b.first;
    wide.for_columns(0, z.channels, [&](int64_t begin, int64_t n, int64_t columns) {
      sample_lines<T>().read(b.lists(), pixels + begin, wide.width, columns, values);
      sample_lines<T>().turn(values, columns, b.points, n, to + begin * z.points, z.points);
    });
  });
}

// Several blocks of points at a time, so that each channel of an image is in the cache for all of them.
template <class T> void sample_nearest(View x, View grid, View y, const GridSampling& s, const Sizes& z) {
  constexpr int64_t kBlocks = 16;
  const int64_t blocks = blocks_of(z), groups = (blocks + kBlocks - 1) / kBlocks;
  parallel_for(z.n * groups, std::max<int64_t>(1, grain(z) / kBlocks), [&](int64_t unit, int64_t end) {
    int64_t index[kBlocks][kPoints];
    for (; unit < end; ++unit) {
      const int64_t image = unit / groups, begin = unit % groups * kBlocks, stop = std::min(begin + kBlocks, blocks);
      bool inside = true;
      int points = 0;
      for (int64_t block = begin; block < stop; ++block) {
        const int64_t first = block * kPoints;
        const int n = int(std::min<int64_t>(kPoints, z.points - first));
        SamplePlaces<T> places{index + (block - begin), nullptr, nullptr, true};
        points += n;
        if (z.dims == 2 && sample_lines<T>().place(grid.as<T>() + (image * z.points + first) * 2, n, z.in, s, places)) {
          inside &= places.inside;
          continue;
        }
        const Block<T> b(grid.as<T>(), z, s, image, block, false);
        std::copy(b.index[0], b.index[0] + n, index[block - begin]), inside &= b.inside;
      }
      const int64_t plane = image * z.channels;
      sample_lines<T>().pick({points, 1, index, nullptr}, inside, x.as<T>() + plane * z.plane, z.plane, z.channels,
                             y.as<T>() + plane * z.points + begin * kPoints, z.points);
    }
  });
}

template <class T> void sample_of(Context& c, View x, View grid, View y, const GridSampling& s) {
  const Sizes z(*grid.spec, x.spec->sizes());
  if (is_narrow<T>(z, s))
    return NarrowSample<T>{z, s, grid.as<T>()}.for_blocks([&](int64_t image, int64_t first, const SampleRuns<T>& b) {
      sample_run_lines<T>().read(b, x.as<T>() + image * z.channels * z.plane,
                                 y.as<T>() + image * z.channels * z.points + first);
    });
  if (Wide<T>::fits(z, s)) return sample_wide<T>(c, x, grid, y, s, z);
  if (s.mode == Sampling::nearest) return sample_nearest<T>(x, grid, y, s, z);
  const int64_t blocks = blocks_of(z);
  parallel_for(z.n * blocks, grain(z), [&](int64_t unit, int64_t end) {
    for (; unit < end; ++unit) {
      const int64_t image = unit / blocks;
      const Block<T> b(grid.as<T>(), z, s, image, unit % blocks, false);
      for (int64_t c = image * z.channels; c < (image + 1) * z.channels; ++c) {
        sample_lines<T>().gather(b.lists(), x.as<T>() + c * z.plane, z.plane, y.as<T>() + c * z.points + b.first);
      }
    }
  });
}

template <class T>
void image_gradient_wide(Context& c, View g, View grid, View gx, const GridSampling& s, const Sizes& z) {
  const Wide<T> wide(c, z);
  const int64_t lanes = sample_lines<T>().lanes, wanted = (get_num_threads() + wide.together - 1) / wide.together;
  const int64_t each = (wide.width / lanes + wanted - 1) / wanted * lanes, parts = (wide.width + each - 1) / each;
  wide.for_groups([&](int64_t first, int64_t count) {
    parallel_for(count * parts, 1, [&](int64_t unit, int64_t end) {
      alignas(64) T values[kPoints * kSampleColumns];
      for (; unit < end; ++unit) {
        const int64_t image = first + unit / parts, begin = unit % parts * each;
        const int64_t stop = std::min(begin + each, wide.width), last = std::min(stop, z.channels);
        T* const sums = wide.image(image);
        for (int64_t i = 0; i < z.plane; ++i)
          std::fill(sums + i * wide.width + begin, sums + i * wide.width + stop, T(0));
        for (int64_t block = 0; block < blocks_of(z); ++block) {
          const Block<T> b(grid.as<T>(), z, s, image, block, false);
          wide.for_columns(begin, last, [&](int64_t at, int64_t n, int64_t columns) {
            take_values(g.as<T>() + (image * z.channels + at) * z.points, z, b, n, columns, values);
            sample_lines<T>().spread(b.lists(), values, sums + at, wide.width, columns);
          });
        }
        for (int64_t i = 0; i < z.plane; i += kPoints)
          sample_lines<T>().turn(sums + i * wide.width + begin, wide.width, std::min<int64_t>(kPoints, z.plane - i),
                                 last - begin, gx.as<T>() + (image * z.channels + begin) * z.plane + i, z.plane);
      }
    });
  });
}

template <class T> void image_gradient(Context& c, View g, View grid, View gx, const GridSampling& s) {
  const Sizes z(*grid.spec, gx.spec->sizes());
  if (NarrowSample<T>::takes(z, s)) return NarrowSums<T>{{z, s, grid.as<T>()}}.run(c, g.as<T>(), gx.as<T>());
  if (Wide<T>::fits(z, s)) return image_gradient_wide<T>(c, g, grid, gx, s, z);
  const int64_t wanted = (get_num_threads() + z.n - 1) / z.n, each = (z.channels + wanted - 1) / wanted;
  const int64_t parts = (z.channels + each - 1) / each, work = each * (z.plane + 4 * z.points) + 8 * z.points;
  parallel_for(z.n * parts, std::max<int64_t>(1, kSerial / (work + 1)), [&](int64_t unit, int64_t end) {
    for (; unit < end; ++unit) {
      const int64_t image = unit / parts, part = unit % parts;
      const int64_t begin = image * z.channels + part * each;
      const int64_t last = std::min(begin + each, (image + 1) * z.channels);
      std::fill(gx.as<T>() + begin * z.plane, gx.as<T>() + last * z.plane, T(0));
      for (int64_t block = 0; block < blocks_of(z); ++block) {
        const Block<T> b(grid.as<T>(), z, s, image, block, false);
        for (int64_t c = begin; c < last; ++c) {
          const T* const from = g.as<T>() + c * z.points + b.first;
          T* const to = gx.as<T>() + c * z.plane;
          for (int k = 0; k < b.count; ++k)
            for (int i = 0; i < b.points; ++i)
              if (b.inside || b.index[k][i] >= 0) to[b.index[k][i]] += b.weight[k][i] * from[i];
        }
      }
    }
  });
}

template <class T>
void grid_gradient_wide(Context& c, View g, View x, View grid, View ggrid, const GridSampling& s, const Sizes& z) {
  const Wide<T> wide(c, z);
  wide.for_blocks(x.as<T>(), grid.as<T>(), s, true, [&](int64_t image, const T* pixels, const Block<T>& b, T* values) {
    T products[kMost][kPoints] = {};
    wide.for_columns(0, z.channels, [&](int64_t begin, int64_t n, int64_t columns) {
      take_values(g.as<T>() + (image * z.channels + begin) * z.points, z, b, n, columns, values);
      sample_lines<T>().products(b.lists(), pixels + begin, values, wide.width, columns, products);
    });
    T* to = ggrid.as<T>() + (image * z.points + b.first) * z.dims;
    for (int i = 0; i < b.points; ++i)
      for (int d = 0; d < z.dims; ++d, ++to) {
        *to = 0;
        for (int k = 0; k < b.count; ++k)
          if (b.index[k][i] >= 0) *to += products[k][i] * b.slope[d * b.count + k][i];
      }
  });
}

template <class T> void grid_gradient(Context& c, View g, View x, View grid, View ggrid, const GridSampling& s) {
  const Sizes z(*grid.spec, x.spec->sizes());
  if (s.mode == Sampling::nearest) {
    std::fill_n(ggrid.as<T>(), ggrid.numel(), T(0));
    return;
  }
  if (is_narrow<T>(z, s))
    return NarrowSample<T>{z, s, grid.as<T>()}.for_blocks([&](int64_t image, int64_t first, const SampleRuns<T>& b) {
      sample_run_lines<T>().slopes(b, x.as<T>() + image * z.channels * z.plane,
                                   g.as<T>() + image * z.channels * z.points + first,
                                   ggrid.as<T>() + (image * z.points + first) * 2);
    });
  if (Wide<T>::fits(z, s)) return grid_gradient_wide<T>(c, g, x, grid, ggrid, s, z);
  const int64_t blocks = blocks_of(z);
  parallel_for(z.n * blocks, grain(z), [&](int64_t unit, int64_t end) {
    for (; unit < end; ++unit) {
      const int64_t image = unit / blocks;
      const Block<T> b(grid.as<T>(), z, s, image, unit % blocks, true);
      T sum[3][kPoints] = {};
      for (int64_t c = image * z.channels; c < (image + 1) * z.channels; ++c) {
        const T* const from = x.as<T>() + c * z.plane;
        const T* const in = g.as<T>() + c * z.points + b.first;
        for (int k = 0; k < b.count; ++k)
          for (int i = 0; i < b.points; ++i) {
            if (!b.inside && b.index[k][i] < 0) continue;
            const T product = in[i] * from[b.index[k][i]];
            sum[0][i] += product * b.slope[k][i], sum[1][i] += product * b.slope[b.count + k][i];
            if (z.dims == 3) sum[2][i] += product * b.slope[2 * b.count + k][i];
          }
      }
      T* to = ggrid.as<T>() + (image * z.points + b.first) * z.dims;
      for (int i = 0; i < b.points; ++i)
        for (int d = 0; d < z.dims; ++d) *to++ = sum[d][i];
    }
  });
}

bool is_half(const View& v) { return bit(v.dtype()) & dtypes::halves; }

void forward(Context& c, View x, View grid, View y, const GridSampling& s) {
  if (!y.numel()) return;
  if (is_half(x)) {
    const FloatCopy fx(c, x), fgrid(c, grid), fy(c, y, false);
    sample_of<float>(c, fx.view(), fgrid.view(), fy.view(), s);
    return fy.store(y);
  }
  if (x.dtype() == DType::float64) sample_of<double>(c, x, grid, y, s);
  else sample_of<float>(c, x, grid, y, s);
}

void backward(Context& c, View g, View x, View grid, View gx, View ggrid, const GridSampling& s) {
  if (is_half(grid)) {
    const FloatCopy fg(c, g), fx(c, x), fgrid(c, grid), fgx(c, gx, false), fggrid(c, ggrid, false);
    const auto seen = [](const View& v, const FloatCopy& copy) { return v ? copy.view() : View(); };
    backward(c, fg.view(), seen(x, fx), fgrid.view(), seen(gx, fgx), seen(ggrid, fggrid), s);
    if (gx) fgx.store(gx);
    if (ggrid) fggrid.store(ggrid);
    return;
  }
  const bool wide = grid.dtype() == DType::float64;
  if (gx && gx.numel()) wide ? image_gradient<double>(c, g, grid, gx, s) : image_gradient<float>(c, g, grid, gx, s);
  if (ggrid && ggrid.numel())
    wide ? grid_gradient<double>(c, g, x, grid, ggrid, s) : grid_gradient<float>(c, g, x, grid, ggrid, s);
}

}  // namespace

const grid_sample_kernels* cpu_grid_sample() {
  static constexpr grid_sample_kernels kernels = {.forward = &forward, .backward = &backward};
  return &kernels;
}

}  // namespace neura
