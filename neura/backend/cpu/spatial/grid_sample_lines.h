// What sampling does with a block of points: of a channel, or of an image whose channels are innermost, a whole
// number of registers of them; one table per instruction set.
#pragma once
#include <cstdint>

#include "neura/backend/kernels/grid_sample.h"

namespace neura {

inline constexpr int kSamplePoints = 64, kSampleElements = 16;  // of a block; of a point: 4 * 4, or 2 * 2 * 2
template <class T> struct SampleBlock {
  int points, count;                           // elements of each point
  const std::int64_t (*index)[kSamplePoints];  // [element][point]; negative: outside of the image
  const T (*weight)[kSamplePoints];
};
template <class T> struct SamplePlaces {  // of a block of points in two dimensions, from places on
  std::int64_t (*index)[kSamplePoints];
  T (*weight)[kSamplePoints], (*slope)[kSamplePoints];  // slopes by grid component, then element; null: unwanted
  bool inside;                                          // are all elements in the image?
};
// image[element] and values[point] are rows of numbers, `step` and `columns` apart; the first `columns` take part.
template <class T> struct SampleLines {
  std::int64_t lanes;
  // Positions of points in an image of size[0] x size[1]. false: one of them is not finite, or too far away for this,
  // and nothing is known.
  bool (*place)(const T* grid, int points, const std::int64_t* size, const GridSampling&, SamplePlaces<T>&);
  // to[j * step + i] = from[i * width + j]
  void (*turn)(const T* from, std::int64_t width, std::int64_t rows, std::int64_t columns, T* to, std::int64_t step);
  // values[channel][i] = image[channel][index[0][i]], channels `plane` and `stride` apart; inside: are all elements?
  void (*pick)(const SampleBlock<T>&, bool inside, const T* image, std::int64_t plane, std::int64_t channels, T* values,
               std::int64_t stride);
  // values[i] = sum over k of weight[k][i] * plane[index[k][i]], of one channel in place; size: of the plane
  void (*gather)(const SampleBlock<T>&, const T* plane, std::int64_t size, T* values);
  // values[i] = sum over k of weight[k][i] * image[index[k][i]]
  void (*read)(const SampleBlock<T>&, const T* image, std::int64_t step, std::int64_t columns, T* values);
  // image[index[k][i]] += weight[k][i] * values[i]
  void (*spread)(const SampleBlock<T>&, const T* values, T* image, std::int64_t step, std::int64_t columns);
  // products[k][i] += the inner product of image[index[k][i]] and values[i]
  void (*products)(const SampleBlock<T>&, const T* image, const T* values, std::int64_t step, std::int64_t columns,
                   T (*products)[kSamplePoints]);
};
struct SampleTable {
  SampleLines<float> singles;
  SampleLines<double> doubles;
};
const SampleTable& sample_table();

}  // namespace neura
