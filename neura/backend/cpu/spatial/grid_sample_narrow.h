// Sampling of two-dimensional images of few channels: splits the work among threads and calls the kernels of
// grid_sample_runs.h. In gradients of images, the channels that one thread adds are side by side.
#pragma once
#include <algorithm>

#include "neura/backend/cpu/rowwise.h"
#include "neura/backend/cpu/spatial/grid_sample_lines.h"
#include "neura/backend/cpu/spatial/grid_sample_runs.h"

namespace neura {

struct SampleSizes {
  int dims;
  std::int64_t n, channels, in[3], plane = 1, points = 1;  // elements of an image, points of a grid
  SampleSizes(const Spec& grid, const Shape& x) : dims(grid.rank - 2), n(x[0]), channels(x[1]) {
    for (int d = 0; d < dims; ++d) in[d] = x[d + 2], plane *= in[d], points *= grid.shape[d + 1];
  }
};
constexpr std::int64_t blocks_of(const SampleSizes& z) { return (z.points + kSamplePoints - 1) / kSamplePoints; }
inline std::int64_t grain(const SampleSizes& z) {  // blocks
  return std::max<std::int64_t>(1, kSerial / (kSamplePoints * 4 * (z.channels + 8)));
}
inline constexpr std::int64_t kSampleColumns = 64;  // channels of a block of points that are on their way at once

template <class T> const SampleLines<T>& sample_lines() {
  if constexpr (sizeof(T) == 4) return sample_table().singles;
  else return sample_table().doubles;
}
template <class T> const RunLines<T>& sample_run_lines() {
  if constexpr (sizeof(T) == 4) return sample_run_table().singles;
  else return sample_run_table().doubles;
}

template <class T> struct NarrowSample {
  const SampleSizes& z;
  const GridSampling& s;
  const T* grid;

  static bool takes(const SampleSizes& z, const GridSampling& s) {
    return z.dims == 2 && s.mode != Sampling::nearest &&
           sample_run_lines<T>().lanes >= (s.mode == Sampling::cubic ? 4 : 2);
  }
  SampleRuns<T> block(std::int64_t image, std::int64_t block, std::int64_t channels) const {
    const std::int64_t first = block * kSamplePoints;
    const int points = int(std::min<std::int64_t>(kSamplePoints, z.points - first));
    return {grid + (image * z.points + first) * 2, points, z.in, channels, z.plane, z.points, s};
  }
  // f(image, first point, that block) for all blocks, shared among threads.
  template <class F> void for_blocks(const F& f) const {
    const std::int64_t blocks = blocks_of(z);
    parallel_for(z.n * blocks, grain(z), [&](std::int64_t unit, std::int64_t end) {
      for (; unit < end; ++unit) {
        const std::int64_t image = unit / blocks, at = unit % blocks;
        f(image, at * kSamplePoints, block(image, at, z.channels));
      }
    });
  }
};

// The gradient of images: of each the channels that one thread adds are summed in an image of theirs alone, channels
// innermost, and written where they belong at the end.
template <class T> struct NarrowSums {
  const NarrowSample<T> sample;
  const SampleSizes& z = sample.z;
  const RunLines<T>& lines = sample_run_lines<T>();

  void run(Context& c, const T* g, T* gx) const {
    const std::int64_t wanted = (get_num_threads() + z.n - 1) / z.n;
    const std::int64_t most = z.points * 4 < z.plane ? 1 : kSampleColumns;  // of few points sums are made in place
    const std::int64_t each = std::min((z.channels + wanted - 1) / wanted, most),
                       parts = (z.channels + each - 1) / each;
    const std::int64_t work = each * (z.plane + 4 * z.points) + 8 * z.points;
    const std::int64_t space = each == 1 ? 0 : (z.plane * lines.columns_of(each) + 15) / 16 * 16;
    Slots slots;
    T* const all = c.scratch_of<T>(space * slots.count);
    parallel_for(z.n * parts, std::max<std::int64_t>(1, kSerial / (work + 1)),
                 [&](std::int64_t unit, std::int64_t end) {
                   const int slot = slots.take();
                   for (; unit < end; ++unit) {
                     const std::int64_t image = unit / parts, begin = unit % parts * each,
                                        n = std::min(each, z.channels - begin);
                     T* const to = gx + (image * z.channels + begin) * z.plane;
                     const std::int64_t columns = lines.columns_of(n);
                     T* const sums = columns == 1 ? to : all + slot * space;
                     add(image, g + (image * z.channels + begin) * z.points, n, columns, sums);
                     if (columns > 1) split(sums, n, columns, to);
                   }
                   slots.give(slot);
                 });
  }

 private:
  void add(std::int64_t image, const T* g, std::int64_t channels, std::int64_t columns, T* sums) const {
    alignas(64) T values[kSamplePoints * kSampleColumns];
    std::fill(sums, sums + z.plane * columns, T(0));
    for (std::int64_t block = 0; block < blocks_of(z); ++block) {
      const SampleRuns<T> b = sample.block(image, block, channels);
      const T* const from = g + block * kSamplePoints;
      if (columns > 1) join(from, b.points, channels, columns, values);
      lines.spread(b, columns > 1 ? values : from, sums, columns);
    }
  }
  void join(const T* g, std::int64_t points, std::int64_t channels, std::int64_t columns, T* to) const {
    if (columns <= 4) return lines.join(g, z.points, channels, points, columns, to);
    sample_lines<T>().turn(g, z.points, channels, points, to, columns);
    for (std::int64_t i = 0; i < points; ++i) std::fill(to + i * columns + channels, to + (i + 1) * columns, T(0));
  }
  void split(const T* sums, std::int64_t channels, std::int64_t columns, T* to) const {
    if (columns <= 4) return lines.split(sums, columns, channels, z.plane, to, z.plane);
    for (std::int64_t i = 0; i < z.plane; i += kSamplePoints)
      sample_lines<T>().turn(sums + i * columns, columns, std::min<std::int64_t>(kSamplePoints, z.plane - i), channels,
                             to + i, z.plane);
  }
};

}  // namespace neura
