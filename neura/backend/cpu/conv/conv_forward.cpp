// Results of a convolution: weight [filters, patch] times patches [patch, results], a sliver of results at a time.
#include <algorithm>

#include "neura/backend/cpu/conv/conv.h"
#include "neura/backend/cpu/conv/conv_direct.h"
#include "neura/backend/cpu/product/gemm_batched.h"

namespace neura {
namespace {

template <class T> void product(Context& c, const ConvShape& s, const T* x, const T* w, const T* bias, T* y) {
  const int64_t size = s.out_size();
  ProductBatch<T> p;
  p.rank = 2, p.batch[0] = s.n, p.batch[1] = s.groups;
  p.m = s.group_filters(), p.n = size, p.k = s.group_channels();
  p.a = {w, {0, p.m * p.k}, p.k, 1};
  p.b = {x, {s.channels * size, p.k * size}, size, 1};
  p.y = {y, {s.filters * size, p.m * size}, size, 1};
  if (bias) p.init = {bias, {0, p.m}, 1, 0};
  multiply(c, p);
}

template <class T> class Forward {
 public:
  Forward(const ConvShape& s, const T* x, const T* w, const T* bias, T* y)
      : s_(s), x_(x), w_(w), bias_(bias), y_(y), image_(s, few_filters(s) ? s.group_channels() : s.channels) {}

  void run(Context& c) {
    int64_t* const offsets = c.scratch_of<int64_t>(s_.channels * s_.kernel_size());
    image_.offsets(offsets), offsets_ = offsets;
    if (few_filters(s_)) return filters(c);
    if (!direct_) pack_weight(c);
    const int64_t at_once = std::clamp<int64_t>((int64_t{4} << 20) / (image_.space() * int64_t(sizeof(T))), 1, s_.n);
    T* const images = c.scratch_of<T>(image_.space() * at_once);
    images_ = images;
    for (int64_t first = 0; first < s_.n; first += at_once) {
      const int64_t count = std::min(at_once, s_.n - first);
      parallel_for(
          count * s_.channels, std::max<int64_t>(1, kSerial / image_.plane()), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
              const int64_t n = i / s_.channels, ch = i % s_.channels;
              image_.load(x_ + (first + n) * s_.channels * s_.in_size(), ch, ch + 1, images + n * image_.space());
            }
          });
      results(c, first, count);
    }
  }

 private:
  static constexpr int64_t kRun = 8;     // slivers that a thread takes at once, and units wanted
  static constexpr int64_t kRows = 140;  // filters whose weights stay in the cache
  static constexpr int64_t kLarge = 1 << 17;

  struct Part {  // filters of a group
    int64_t group, first_rows, end_rows;
  };

  int64_t row_begin(int64_t r) const { return part_begin(s_.group_filters(), row_parts_, r); }
  int64_t depth_begin(int64_t d) const { return part_begin(patch_, depths_, d); }

  void pack_weight(Context& c) {
    const int64_t rows = s_.group_filters();
    T* const to = c.scratch_of<T>(s_.filters * patch_);
    parallel_for(s_.groups * row_parts_, std::max<int64_t>(1, kSerial / (rows * patch_)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i)
                     for (int64_t d = 0; d < depths_; ++d) {
                       const int64_t g = i / row_parts_, row = row_begin(i % row_parts_),
                                     count = row_begin(i % row_parts_ + 1) - row;
                       const int64_t k = depth_begin(d), depth = depth_begin(d + 1) - k;
                       kernels_.pack_a(w_ + (g * rows + row) * patch_ + k, patch_, 1, count, depth,
                                       to + packed_at(g, k, depth, row));
                     }
                 });
    packed_ = to;
  }
  int64_t packed_at(int64_t g, int64_t k, int64_t depth, int64_t row) const {
    return (g * patch_ + k) * s_.group_filters() + row * depth;
  }

  void results(Context& c, int64_t first, int64_t count) const {
    const int64_t slivers = parts(s_.out_size(), kernels_.width), all = count * slivers;
    const int64_t run_size = std::clamp<int64_t>(all / kRun, 1, kRun), runs = parts(all, run_size);
    const int64_t cuts = std::min(row_parts_, parts(kRun, runs * s_.groups));  // of the filters, where runs are few
    const int64_t panel = at_once_ * sliver_space_ + (kPatchSlack / int64_t(sizeof(T)) + 15) / 16 * 16;
    const int64_t space = panel + at_once_ * kernels_.width * int64_t(sizeof(Segment) / sizeof(T));
    const double work = double(count) * double(s_.filters) * double(s_.out_size()) * double(patch_);
    parallel_units<T>(c, runs * s_.groups * cuts, space, work, [&](int64_t unit, T* workspace) {
      const int64_t cut = unit % cuts, g = unit / cuts % s_.groups, begin = unit / cuts / s_.groups * run_size;
      const int64_t end = std::min(all, begin + run_size);
      const Part filters{g, part_begin(row_parts_, cuts, cut), part_begin(row_parts_, cuts, cut + 1)};
      for (int64_t i = begin; i < end; i += at_once_)
        run(first, filters, i, std::min(end, i + at_once_), workspace, reinterpret_cast<Segment*>(workspace + panel));
    });
  }

  void filters(Context& c) const {  // of each group on its part of each image
    const int64_t size = s_.out_size(), blocks = parts(size, kConvPixels), rows = s_.group_filters();
    const double work = double(s_.n) * double(s_.filters) * double(size) * double(patch_) * 4;
    const int64_t space = image_.space() + kConvPixels * int64_t(sizeof(Segment) / sizeof(T));
    parallel_units<T>(c, s_.n * s_.groups, space, work, [&](int64_t unit, T* image) {
      const int64_t n = unit / s_.groups, g = unit % s_.groups;
      image_.load(x_ + (n * s_.channels + g * s_.group_channels()) * s_.in_size(), 0, s_.group_channels(), image);
      Segment* const segments = reinterpret_cast<Segment*>(image + image_.space());
      for (int64_t i = 0; i < blocks; ++i) {
        const int64_t begin = part_begin(size, blocks, i), end = part_begin(size, blocks, i + 1);
        const PatchRows<T> p{offsets_, patch_, segments, image_.segments(begin, end, segments)};
        for (int64_t o = g * rows; o < (g + 1) * rows; ++o)
          gather_.filter(image, p, w_ + o * patch_, bias_ ? bias_[o] : T(0), y_ + (n * s_.filters + o) * size + begin);
      }
    });
  }

  // Slivers [begin, end) of all images: their patches are gathered, then each block of filters sees all of them.
  void run(int64_t first, const Part& filters, int64_t begin, int64_t end, T* panel, Segment* segments) const {
    const int64_t g = filters.group;
    const int64_t size = s_.out_size(), width = kernels_.width, slivers = parts(size, width);
    for (int64_t d = 0; d < depths_; ++d) {
      const int64_t k = depth_begin(d), depth = depth_begin(d + 1) - k;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t at = i % slivers * width;
        const T* const image = images_ + i / slivers * image_.space() + g * s_.group_channels() * image_.plane();
        Segment* const own = segments + (i - begin) * width;
        PatchRows<T> p{offsets_ + k, depth, own, image_.segments(at, std::min(size, at + width), own)};
        gather_.gather(image, p, panel + (i - begin) * sliver_space_, width);
      }
      for (int64_t r = filters.first_rows; r < filters.end_rows; ++r)
        for (int64_t i = begin; i < end; ++i) {
          const int64_t at = i % slivers * width, row = row_begin(r), n = first + i / slivers;
          GemmBlock<T> b;
          b.rows = row_begin(r + 1) - row, b.columns = std::min(width, size - at), b.depth = depth;
          if (direct_) b.a = {w_ + (g * s_.group_filters() + row) * patch_ + k, false, patch_, 1};
          else b.a = {packed_ + packed_at(g, k, depth, row)};
          b.b = {panel + (i - begin) * sliver_space_};
          b.c = y_ + (n * s_.filters + g * s_.group_filters() + row) * size + at, b.c_row = size;
          if (k) b.epilogue = {1, b.c, size, 1};
          else if (bias_) b.epilogue = {1, bias_ + g * s_.group_filters() + row, 1, 0};
          kernels_.block(b);
        }
    }
  }

  const ConvShape& s_;
  const T *x_, *w_, *bias_;
  T* y_;
  const PaddedImage<T> image_;
  const int64_t patch_ = s_.patch(), depths_ = parts(patch_, kConvDepth);
  const GemmKernels<T>& kernels_ = gemm_kernels<T>();
  const ConvKernels<T>& gather_ = conv_kernels_of<T>();
  const int64_t row_parts_ = parts(s_.group_filters(), kRows);
  // A few slivers of results are too few for packing the weight to pay.
  const bool direct_ = s_.n * parts(s_.out_size(), kernels_.width) <= 4;
  // One sliver at a time stays in the first cache; of large weights, which do not stay anywhere, several use each part.
  const int64_t at_once_ = s_.group_filters() * patch_ > kLarge ? kRun : 1;
  const int64_t sliver_space_ = parts(patch_, depths_) * kernels_.width;
  const T *packed_ = nullptr, *images_ = nullptr;
  const int64_t* offsets_ = nullptr;
};

}  // namespace

template <class T> void conv_forward(Context& c, const ConvShape& s, const T* x, const T* w, const T* bias, T* y) {
  if (!s.n || !s.filters || !s.out_size()) return;
  if (is_product(s)) return product(c, s, x, w, bias, y);
  if (!s.patch()) {
    for (int64_t i = 0; i < s.n * s.filters; ++i)
      std::fill_n(y + i * s.out_size(), s.out_size(), bias ? bias[i % s.filters] : T(0));
    return;
  }
  if (fits_direct<T>(s)) return direct_forward<T>(c, s, x, {w}, bias, y);
  Forward<T>(s, x, w, bias, y).run(c);
}
template void conv_forward(Context&, const ConvShape&, const float*, const float*, const float*, float*);
template void conv_forward(Context&, const ConvShape&, const double*, const double*, const double*, double*);

}  // namespace neura
