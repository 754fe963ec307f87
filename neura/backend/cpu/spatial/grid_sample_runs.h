// Sampling of images of few channels in two dimensions, in place: the elements of a point are a few rows of the image,
// of which each is a run of elements side by side. One table per instruction set.
#pragma once
#include <cstdint>

#include "neura/backend/kernels/grid_sample.h"

namespace neura {

// At most kSamplePoints points, and the channels of an image that they are read from.
template <class T> struct SampleRuns {
  const T* grid;  // of the first point
  int points;
  const std::int64_t* size;              // height, width
  std::int64_t channels, plane, stride;  // channels of the image are `plane` apart, those of the values `stride`
  GridSampling s;
};
template <class T> struct RunLines {
  std::int64_t lanes;
  void (*read)(const SampleRuns<T>&, const T* image, T* values);
  // The gradient of the points from that of their values.
  void (*slopes)(const SampleRuns<T>&, const T* image, const T* values, T* gradient);
  // image[element][column] += weight * values[point][column], one point after the other; columns: see columns_of.
  void (*spread)(const SampleRuns<T>&, const T* values, T* image, std::int64_t columns);
  // to[i][column] from the rows of channels, `stride` apart, and back, of `count` elements each; 2 or 4 columns.
  void (*join)(const T* rows, std::int64_t stride, std::int64_t channels, std::int64_t count, std::int64_t columns,
               T* to);
  void (*split)(const T* from, std::int64_t columns, std::int64_t channels, std::int64_t count, T* rows,
                std::int64_t stride);

  // Columns for that many channels: one, a part of a register, or whole ones.
  std::int64_t columns_of(std::int64_t channels) const {
    if (channels == 1) return 1;
    for (std::int64_t part = 16 / sizeof(T); part < lanes; part *= 2)
      if (channels <= part) return part;
    return (channels + lanes - 1) / lanes * lanes;
  }
};
struct RunTable {
  RunLines<float> singles;
  RunLines<double> doubles;
};
const RunTable& sample_run_table();

}  // namespace neura
