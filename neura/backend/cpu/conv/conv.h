// Convolution of float and double as a product with patches that are gathered on the way: a few rows or columns of the
// matrix of patches exist at a time, in the cache.
#pragma once
#include "neura/backend/cpu/parallel_units.h"
#include "neura/backend/kernels/conv.h"

namespace neura {

struct Segment {  // consecutive results of one line: where their first value is in the image, and in a row of patches
  int64_t from, to, size;
};
template <class T> struct PatchRows {  // rows of the matrix of patches, for some consecutive results
  const int64_t* offsets;              // of each row in the image
  int64_t rows;
  const Segment* segments;
  int64_t count;
};

template <class T> struct ConvKernels {  // of one instruction set
  // Writes whole vectors where `pitch` leaves room for them, and may read up to 64 bytes after the image.
  void (*gather)(const T* image, const PatchRows<T>&, T* to, int64_t pitch);
  void (*scatter)(T* image, const PatchRows<T>&, const T* from, int64_t pitch);  // adds; exact
  // One filter without a matrix of patches: y[result] = bias + sum over rows of w[row] * its value.
  void (*filter)(const T* image, const PatchRows<T>&, const T* w, T bias, T* y);
  void (*weigh)(const T* image, const PatchRows<T>&, const T* g, T* w);  // w[row] += sum over results of g * its value
};
template <class T> const ConvKernels<T>& conv_kernels_of();

// Depthwise: a group of one or two filters is too little for a tile.
inline bool few_filters(const ConvShape& s) { return s.group_filters() <= 2 && s.patch() <= 64; }

inline bool is_product(const ConvShape& s) {  // windows of one value each: the image is the matrix of patches
  bool yes = true;
  for (int d = 0; d < 3; ++d)
    yes = yes && s.kernel[d] == 1 && s.stride[d] == 1 && s.padding[d] == 0 && s.out[d] == s.in[d];
  return yes;
}

template <class T> void conv_forward(Context&, const ConvShape&, const T* x, const T* w, const T* bias, T* y);
template <class T> void conv_input_gradient(Context&, const ConvShape&, const T* g, const T* w, T* x);
template <class T> void conv_weight_gradient(Context&, const ConvShape&, const T* x, const T* g, T* w);

inline constexpr int64_t kConvDepth = 512, kConvPixels = 512;  // values summed in one go; results in a block
inline constexpr int64_t kPatchSlack = 64;                     // bytes that gather writes too much

// An image with zeros around it, so that every window is inside. Steps cut it into phases, each an image of its own:
// consecutive results see consecutive values of one phase.
template <class T> class PaddedImage {
 public:
  PaddedImage(const ConvShape& s, int64_t channels);
  int64_t size() const { return plane_ * channels_; }  // elements of the copy
  int64_t space() const {
    return (size() + 64 / int64_t(sizeof(T)) + 15) / 16 * 16;
  }  // with what gather reads too much
  int64_t plane() const { return plane_; }
  void load(const T* image, int64_t channel_begin, int64_t channel_end, T* padded) const;
  void store(const T* padded, T* image) const;  // without the zeros
  void offsets(int64_t* to) const;              // of every row of patches: channels x kernel
  // The offset of the first value under a result's window.
  int64_t place(int64_t z, int64_t y, int64_t x) const { return (z * size_[1] + y) * size_[2] + x; }
  // Segments of results [begin, end); `to` has room for as many.
  int64_t segments(int64_t begin, int64_t end, Segment* to) const;

 private:
  template <class F> void each_run(F f) const;
  void load_phase(const T* image, const int64_t (&phase)[3], T* to) const;

  const ConvShape& s_;
  int64_t channels_, size_[3], phases_[3], phase_, plane_;  // size_: of a phase; phase_, plane_: elements
  int64_t begin_[3], end_[3];                               // of the input within the padded image, in each dimension
};

}  // namespace neura
