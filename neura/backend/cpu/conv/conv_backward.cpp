// Derivatives of a convolution: with respect to its input, products summed back into the image; with respect to its
// weight, patches times gradients, summed over fixed blocks of images and these in order: the same for any threads.
#include <algorithm>

#include "neura/backend/cpu/conv/conv.h"
#include "neura/backend/cpu/conv/conv_direct.h"
#include "neura/backend/cpu/product/gemm_batched.h"

namespace neura {
namespace {

constexpr int64_t round16(int64_t n) { return (n + 15) / 16 * 16; }
constexpr int64_t kSlivers = 4;  // of a first operand that use a sliver of the second while it is in the first cache
template <class T> constexpr int64_t segment_space() { return kConvPixels * int64_t(sizeof(Segment) / sizeof(T)); }

template <class T> class InputGradient {
 public:
  InputGradient(const ConvShape& s, const T* g, const T* w, T* x) : s_(s), g_(g), w_(w), x_(x) {}

  void run(Context& c) {
    // A channel of the input is summed by one thread; few images and groups are cut into channels.
    const int64_t wanted = parts(8, s_.n * s_.groups);
    cuts_ = std::clamp<int64_t>(wanted, 1, s_.group_channels());
    pack_weight(c);
    const int64_t channels = parts(s_.group_channels(), cuts_);
    int64_t* const offsets = c.scratch_of<int64_t>(channels * s_.kernel_size());
    PaddedImage<T>(s_, channels).offsets(offsets), offsets_ = offsets;
    panel_ = round16(parts(block_, kernels_.width) * kernels_.width * filters_);
    const int64_t image = PaddedImage<T>(s_, channels).space(), rows = round16(rows_ * block_);
    const double work = double(s_.n) * double(s_.filters) * double(s_.out_size()) * double(s_.patch());
    parallel_units<T>(c, s_.n * s_.groups * cuts_, image + panel_ + rows + segment_space<T>(), work,
                      [&](int64_t u, T* space) {
                        part(u / cuts_ / s_.groups, u / cuts_ % s_.groups, u % cuts_, space, space + image,
                             space + image + panel_, reinterpret_cast<Segment*>(space + image + panel_ + rows));
                      });
  }

 private:
  int64_t first_channel(int64_t cut) const { return part_begin(s_.group_channels(), cuts_, cut); }

  void pack_weight(Context& c) {  // transposed: [patch, filters]
    const int64_t patch = s_.patch(), size = s_.kernel_size();
    T* const to = c.scratch_of<T>(s_.groups * patch * filters_);
    parallel_for(
        s_.groups * cuts_, std::max<int64_t>(1, kSerial / (patch * filters_)), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t g = i / cuts_, first = first_channel(i % cuts_) * size,
                          rows = first_channel(i % cuts_ + 1) * size - first;
            for (int64_t d = 0; d < depths_; ++d) {
              const int64_t k = part_begin(filters_, depths_, d), depth = part_begin(filters_, depths_, d + 1) - k;
              for (int64_t row = 0; row < rows; row += rows_)
                kernels_.pack_a(w_ + (g * filters_ + k) * patch + first + row, 1, patch, std::min(rows_, rows - row),
                                depth, to + (g * patch + first) * filters_ + rows * k + row * depth);
            }
          }
        });
    packed_ = to;
  }

  void part(int64_t n, int64_t g, int64_t cut, T* image, T* panel, T* line, Segment* segments) const {
    const int64_t first = first_channel(cut), channels = first_channel(cut + 1) - first, size = s_.out_size();
    const int64_t rows = channels * s_.kernel_size(), width = kernels_.width;
    const PaddedImage<T> padded(s_, channels);
    const T* const a = packed_ + (g * s_.patch() + first * s_.kernel_size()) * filters_;
    const T* const gradient = g_ + (n * s_.filters + g * filters_) * size;
    std::fill_n(image, padded.size(), T(0));
    for (int64_t i = 0; i < blocks_; ++i) {
      const int64_t begin = part_begin(size, blocks_, i), end = part_begin(size, blocks_, i + 1), columns = end - begin;
      const int64_t panel_width = parts(columns, width) * width;
      for (int64_t d = 0; d < depths_; ++d) {
        const int64_t k = part_begin(filters_, depths_, d), depth = part_begin(filters_, depths_, d + 1) - k;
        kernels_.pack_b(gradient + k * size + begin, size, 1, depth, columns, panel + k * panel_width);
      }
      PatchRows<T> p{nullptr, 0, segments, padded.segments(begin, end, segments)};
      for (int64_t row = 0; row < rows; row += rows_) {
        p.rows = std::min(rows_, rows - row), p.offsets = offsets_ + row;
        for (int64_t d = 0; d < depths_; ++d) {
          const int64_t k = part_begin(filters_, depths_, d), depth = part_begin(filters_, depths_, d + 1) - k;
          GemmBlock<T> b{p.rows, columns, depth, {a + rows * k + row * depth}, {panel + k * panel_width},
                         line,   columns, {}};
          if (d) b.epilogue = {1, line, columns, 1};
          kernels_.block(b);
        }
        scatter_.scatter(image, p, line, columns);
      }
    }
    padded.store(image, x_ + (n * s_.channels + g * s_.group_channels() + first) * s_.in_size());
  }

  const ConvShape& s_;
  const T *g_, *w_;
  T* x_;
  const int64_t filters_ = s_.group_filters(), depths_ = parts(filters_, kConvDepth);
  const int64_t blocks_ = parts(s_.out_size(), kConvPixels), block_ = parts(s_.out_size(), blocks_);
  const GemmKernels<T>& kernels_ = gemm_kernels<T>();
  const ConvKernels<T>& scatter_ = conv_kernels_of<T>();
  const int64_t rows_ = kSlivers * kernels_.height;  // at a time
  int64_t cuts_ = 1, panel_ = 0;
  const T* packed_ = nullptr;
  const int64_t* offsets_ = nullptr;
};

template <class T> class WeightGradient {
 public:
  WeightGradient(const ConvShape& s, const T* x, const T* g, T* w)
      : s_(s), x_(x), g_(g), w_(w), image_(s, s.group_channels()) {}

  void run(Context& c) {
    const int64_t elements = s_.groups * patch_ * filters_;
    const int64_t fitting = std::max<int64_t>(1, (int64_t{4} << 20) / (elements * int64_t(sizeof(T))));
    sums_ = std::min({s_.n, int64_t{16}, fitting});
    if (few_filters(s_)) return weigh(c, elements);
    cuts_ = std::clamp<int64_t>(parts(8, sums_ * s_.groups), 1, parts(patch_, rows_));
    T* const sums = c.scratch_of<T>(sums_ * elements);
    int64_t* const offsets = c.scratch_of<int64_t>(patch_);
    image_.offsets(offsets), offsets_ = offsets;
    const int64_t panel = round16(parts(filters_, kernels_.width) * kernels_.width * block_ * images_);
    const int64_t rows = 2 * round16(rows_ * pitch_ + kPatchSlack / int64_t(sizeof(T)));  // gathered, packed
    const double work = double(s_.n) * double(s_.filters) * double(s_.out_size()) * double(patch_);
    parallel_units<T>(c, sums_ * s_.groups * cuts_, images_ * image_.space() + panel + rows + segment_space<T>(), work,
                      [&](int64_t u, T* space) {
                        const int64_t sum = u / cuts_ / s_.groups, g = u / cuts_ % s_.groups;
                        part(sum, g, u % cuts_, space, space + images_ * image_.space(),
                             space + images_ * image_.space() + panel,
                             reinterpret_cast<Segment*>(space + images_ * image_.space() + panel + rows),
                             sums + sum * elements + g * patch_ * filters_);
                      });
    add_up(sums, elements);
  }

 private:
  // Depthwise: for each window's place, the sum of its values times the gradients.
  void weigh(Context& c, int64_t elements) {
    T* const sums = c.scratch_of<T>(sums_ * elements);
    int64_t* const offsets = c.scratch_of<int64_t>(patch_);
    image_.offsets(offsets);
    const int64_t size = s_.out_size();
    const double work = double(s_.n) * double(s_.filters) * double(size) * double(patch_) * 4;
    parallel_units<T>(c, sums_ * s_.groups, image_.space() + segment_space<T>(), work, [&](int64_t u, T* image) {
      Segment* const segments = reinterpret_cast<Segment*>(image + image_.space());
      T* const to = sums + u / s_.groups * elements + u % s_.groups * filters_ * patch_;
      std::fill_n(to, filters_ * patch_, T(0));
      for (int64_t n = part_begin(s_.n, sums_, u / s_.groups); n < part_begin(s_.n, sums_, u / s_.groups + 1); ++n) {
        image_.load(x_ + (n * s_.channels + u % s_.groups * s_.group_channels()) * s_.in_size(), 0, s_.group_channels(),
                    image);
        const T* const g = g_ + (n * s_.filters + u % s_.groups * filters_) * size;
        for (int64_t i = 0; i < blocks_; ++i) {
          const int64_t begin = part_begin(size, blocks_, i), end = part_begin(size, blocks_, i + 1);
          const PatchRows<T> p{offsets, patch_, segments, image_.segments(begin, end, segments)};
          for (int64_t o = 0; o < filters_; ++o) gather_.weigh(image, p, g + o * size + begin, to + o * patch_);
        }
      }
    });
    for (int64_t i = 0; i < elements; ++i) {
      w_[i] = sums[i];
      for (int64_t b = 1; b < sums_; ++b) w_[i] += sums[b * elements + i];
    }
  }

  // Rows `cut` of [patch, filters], over block `sum` of the images.
  void part(int64_t sum, int64_t g, int64_t cut, T* image, T* panel, T* lines, Segment* segments, T* to) const {
    const int64_t first = part_begin(patch_, cuts_, cut), rows = part_begin(patch_, cuts_, cut + 1) - first;
    const int64_t size = s_.out_size(), values = s_.kernel_size();
    T* const packed = lines + round16(rows_ * pitch_ + kPatchSlack / int64_t(sizeof(T)));
    std::fill_n(to + first * filters_, rows * filters_, T(0));
    const int64_t last = part_begin(s_.n, sums_, sum + 1);
    for (int64_t n = part_begin(s_.n, sums_, sum); n < last; n += images_) {
      const int64_t images = std::min(images_, last - n);
      for (int64_t j = 0; j < images; ++j)
        image_.load(x_ + ((n + j) * s_.channels + g * s_.group_channels()) * s_.in_size(), first / values,
                    parts(first + rows, values), image + j * image_.space());
      for (int64_t i = 0; i < blocks_; ++i) {
        const int64_t begin = part_begin(size, blocks_, i), end = part_begin(size, blocks_, i + 1);
        const int64_t width = end - begin, depth = width * images;
        for (int64_t o = 0; o < filters_; o += kernels_.width)  // [sliver][image, result][filter]
          for (int64_t j = 0; j < images; ++j)
            kernels_.pack_b(g_ + ((n + j) * s_.filters + g * filters_ + o) * size + begin, 1, size, width,
                            std::min<int64_t>(kernels_.width, filters_ - o),
                            panel + o * depth + j * width * kernels_.width);
        PatchRows<T> p{nullptr, 0, segments, image_.segments(begin, end, segments)};
        for (int64_t row = first; row < first + rows; row += rows_) {
          p.rows = std::min(rows_, first + rows - row), p.offsets = offsets_ + row;
          for (int64_t j = 0; j < images; ++j) gather_.gather(image + j * image_.space(), p, lines + j * width, pitch_);
          T* const c = to + row * filters_;
          kernels_.pack_a(lines, pitch_, 1, p.rows, depth, packed);
          kernels_.block({p.rows, filters_, depth, {packed}, {panel}, c, filters_, {1, c, filters_, 1}});
        }
      }
    }
  }

  void add_up(T* sums, int64_t elements) const {  // and turn [patch, filters] into [filters, patch]
    parallel_for(s_.groups * patch_, std::max<int64_t>(1, kSerial / (filters_ * sums_)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     T* const line = sums + i * filters_;
                     for (int64_t b = 1; b < sums_; ++b)
                       for (int64_t o = 0; o < filters_; ++o) line[o] += line[b * elements + o];
                     T* const to = w_ + i / patch_ * filters_ * patch_ + i % patch_;
                     for (int64_t o = 0; o < filters_; ++o) to[o * patch_] = line[o];
                   }
                 });
  }

  const ConvShape& s_;
  const T *x_, *g_;
  T* w_;
  const PaddedImage<T> image_;
  const int64_t filters_ = s_.group_filters(), patch_ = s_.patch();
  const int64_t blocks_ = parts(s_.out_size(), kConvPixels), block_ = parts(s_.out_size(), blocks_);
  // Small images go together: what is summed in one go is read and written once.
  const int64_t images_ =
      std::clamp<int64_t>(std::min(kConvPixels / s_.out_size(), (int64_t{1} << 19) / image_.space()), 1, s_.n);
  const int64_t pitch_ =
      block_ * images_ + 64 / int64_t(sizeof(T));  // apart from powers of two, which share cache sets
  const GemmKernels<T>& kernels_ = gemm_kernels<T>();
  const ConvKernels<T>& gather_ = conv_kernels_of<T>();
  const int64_t rows_ = kSlivers * kernels_.height;  // at a time
  int64_t sums_ = 1, cuts_ = 1;
  const int64_t* offsets_ = nullptr;
};

// With steps of 1 the gradient of the input is itself a convolution: of g with the mirrored weight.
ConvShape mirrored(const ConvShape& s) {
  ConvShape m = s;
  m.channels = s.filters, m.filters = s.channels;
  for (int d = 0; d < 3; ++d)
    m.in[d] = s.out[d], m.out[d] = s.in[d], m.padding[d] = s.dilation[d] * (s.kernel[d] - 1) - s.padding[d];
  return m;
}
bool has_mirror(const ConvShape& s) {
  bool yes = true;
  for (int d = 0; d < 3; ++d) yes = yes && s.stride[d] == 1 && s.padding[d] <= s.dilation[d] * (s.kernel[d] - 1);
  return yes;
}
template <class T> void mirror_weight(const ConvShape& s, const T* w, T* to) {
  const int64_t filters = s.group_filters(), channels = s.group_channels(), size = s.kernel_size();
  parallel_for(s.groups * channels, std::max<int64_t>(1, kSerial / (filters * size)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t o = 0; o < filters; ++o) {
        const T* const from = w + ((i / channels * filters + o) * channels + i % channels) * size;
        std::reverse_copy(from, from + size, to + (i * filters + o) * size);
      }
  });
}
// A tile needs rows: of few channels the values of their windows are more of them.
bool mirror_pays(const ConvShape& s) { return few_filters(mirrored(s)) || s.group_channels() >= 16; }

// Windows of one value each: plain products.
template <class T> void product_input_gradient(Context& c, const ConvShape& s, const T* g, const T* w, T* x) {
  const int64_t size = s.out_size();
  ProductBatch<T> p;
  p.rank = 2, p.batch[0] = s.n, p.batch[1] = s.groups;
  p.m = s.group_channels(), p.n = size, p.k = s.group_filters();
  p.a = {w, {0, p.m * p.k}, 1, p.m};
  p.b = {g, {s.filters * size, p.k * size}, size, 1};
  p.y = {x, {s.channels * size, p.m * size}, size, 1};
  multiply(c, p);
}
// The longer side is the one that is not packed.
template <class T> void product_weight_gradient(Context& c, const ConvShape& s, const T* x, const T* g, T* w) {
  const int64_t size = s.out_size(), filters = s.group_filters(), channels = s.group_channels();
  const bool turned = channels > filters;
  T* const sum = turned ? c.scratch_of<T>(channels * filters) : nullptr;
  for (int64_t group = 0; group < s.groups; ++group) {
    T* const to = w + group * filters * channels;
    for (int64_t n = 0; n < s.n; ++n) {
      const T *const xn = x + (n * s.channels + group * channels) * size, *const gn =
                                                                              g +
                                                                              (n * s.filters + group * filters) * size;
      Gemm<T> product{filters, channels, size, gn, size, 1, xn, 1, size, to, channels, {}};
      if (turned) product = {channels, filters, size, xn, size, 1, gn, 1, size, sum, filters, {}};
      if (n) product.epilogue = {1, product.c, product.c_row, 1};
      Context own(c.backend, c.device, c.op);
      gemm(own, product);
    }
    for (int64_t o = 0; turned && o < filters; ++o)
      for (int64_t i = 0; i < channels; ++i) to[o * channels + i] = sum[i * filters + o];
  }
}
constexpr int64_t kDeep = 256;  // results of an image that make a sum worth a product of its own

bool is_empty(const ConvShape& s) { return !s.n || !s.filters || !s.out_size() || !s.patch(); }

}  // namespace

template <class T> void conv_input_gradient(Context& c, const ConvShape& s, const T* g, const T* w, T* x) {
  if (is_empty(s)) return void(std::fill_n(x, s.n * s.channels * s.in_size(), T(0)));
  if (is_product(s)) return product_input_gradient(c, s, g, w, x);
  if (has_mirror(s) && fits_direct<T>(mirrored(s))) return direct_forward<T>(c, mirrored(s), g, {w, true}, nullptr, x);
  if (has_mirror(s) && mirror_pays(s)) {
    T* const mirror = c.scratch_of<T>(s.filters * s.patch());
    mirror_weight(s, w, mirror);
    return conv_forward<T>(c, mirrored(s), g, mirror, nullptr, x);
  }
  InputGradient<T>(s, g, w, x).run(c);
}
template <class T> void conv_weight_gradient(Context& c, const ConvShape& s, const T* x, const T* g, T* w) {
  if (is_empty(s)) return void(std::fill_n(w, s.filters * s.patch(), T(0)));
  if (is_product(s) && s.out_size() >= kDeep) return product_weight_gradient(c, s, x, g, w);
  if (weight_fits_direct<T>(s)) return direct_weight_gradient(c, s, x, g, w);
  WeightGradient<T>(s, x, g, w).run(c);
}
#define NEURA_CONV(T)                                                                       \
  template void conv_input_gradient<T>(Context&, const ConvShape&, const T*, const T*, T*); \
  template void conv_weight_gradient<T>(Context&, const ConvShape&, const T*, const T*, T*)
NEURA_CONV(float);
NEURA_CONV(double);
#undef NEURA_CONV

}  // namespace neura
