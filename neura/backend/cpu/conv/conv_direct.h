// Convolution of float and double without a matrix of patches: a tile of sums, of some filters for some results, reads
// each value from the padded image itself.
#pragma once
#include <utility>
#include <vector>

#include "neura/backend/cpu/conv/conv.h"

namespace neura {

struct DirectTap {  // a value of the window: how far from the first in the image, and which of the patch
  int64_t offset, row;
};
template <class T> struct DirectTile {  // sums of `results` results and of one or two vectors of filters
  int64_t results, vectors;
  const T* image;
  const int64_t* places;                  // of each result's first value in the image
  const int64_t* rows;                    // of each result in sums
  const DirectTap* taps;                  // of `together` channels
  int64_t tap_count, together, channels;  // tap_count: of one channel
  int64_t plane;                          // from a channel of the image to the next
  const T* weight;                        // [channels][weight_step / filters of the tile][filters of the tile]
  int64_t weight_step;
  const T* init;  // what the sums of a filter begin with; null: with what is there
  T* sums;        // [row][filters of the tile]
};
template <class T> struct DirectSums {  // to be stored: y[filter][result] = sums[result][filter]
  const T* sums;
  int64_t results, filters, width;  // width: filters with those after the last
  T* y;
  int64_t y_row;  // from a filter to the next
};
template <class T> struct DirectLines {  // of a weight, for `width` filters: a whole number of vectors
  const T *from, *end;                   // end: of what may be read
  int64_t stride, lines, size, width;
  bool backwards = false;
};

template <class T> struct DirectKernels {  // of one instruction set
  int results, width, lanes;               // of the largest tile, which is two vectors wide; the smallest: results / 2
  void (*tile)(const DirectTile<T>&);
  void (*store)(const DirectSums<T>&);
  void (*turn)(const DirectLines<T>&, T* to);  // to[value][line], or the last value first
};
template <class T> const DirectKernels<T>& direct_kernels();

struct DirectRange {
  int64_t begin = 0, end = 0;
  bool empty() const { return begin >= end; }
  bool operator==(const DirectRange&) const = default;
};
struct DirectBox {  // places of a window
  DirectRange along[3];
  bool operator==(const DirectBox&) const = default;
};
// The values of windows that meet the input, of `together` channels: a loop over few ones costs time at its end.
class DirectTaps {
 public:
  template <class T> DirectTaps(const ConvShape&, const PaddedImage<T>&);
  struct Part {
    int64_t first, count;  // of taps; count: of one channel
  };
  Part of(const DirectBox&);

  int64_t together;
  std::vector<DirectTap> taps;

 private:
  int64_t kernel_[3];
  std::vector<int64_t> offsets_;
  std::vector<std::pair<DirectBox, Part>> known_;
};

// How results are put together into tiles: those whose windows meet the input in the same places, so that a tile leaves
// out what is padding for all of its results.
class DirectPlan {
 public:
  struct Tile {
    int64_t first, results;  // of places and rows
    DirectTaps::Part taps;
  };
  // Results [begin, end) of each of `images` images that are `stride` apart; tiles of at most `most` results, and at
  // least half as many, which there must be.
  template <class T> DirectPlan(const ConvShape&, const PaddedImage<T>&, DirectTaps&, int64_t images, int64_t stride,
                                int64_t begin, int64_t end, int64_t most);

  int64_t images, begin, end;
  std::vector<int64_t> places, rows;
  std::vector<Tile> tiles;

 private:
  struct Class {  // results whose windows meet the input in the same places
    int64_t end;  // of its entries in places
    DirectBox met;
  };
  void cut(DirectTaps&, int64_t begin, int64_t end, int64_t most, const Class*);
};

// The weight that a convolution sees: that of filter f, channel c and place k is at
// data[((group * filters + f) * channels + c) * kernel + k] or, mirrored, at
// data[((group * channels + c) * filters + f) * kernel + kernel - 1 - k].
template <class T> struct DirectWeight {
  const T* data;
  bool mirrored = false;
};

// Whether tiles fit: enough filters and results to fill them, enough values in a window to be worth their stores.
template <class T> bool fills_direct(const ConvShape&);  // enough filters
template <class T> bool fits_direct(const ConvShape&);
template <class T> bool weight_fits_direct(const ConvShape&);
template <class T> void direct_forward(Context&, const ConvShape&, const T* x, DirectWeight<T>, const T* bias, T* y);
template <class T> void direct_weight_gradient(Context&, const ConvShape&, const T* x, const T* g, T* w);

}  // namespace neura
