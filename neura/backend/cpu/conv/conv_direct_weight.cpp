// The gradient of a convolution's weight by tiles that read the padded image: of some channels at one place of the
// window and some filters, summed over the results whose windows have that place within the input. Images are summed in
// fixed blocks and these in order: the same for any threads.
#include <algorithm>

#include "neura/backend/cpu/conv/conv_direct.h"
#include "neura/backend/cpu/parallel_units.h"

namespace neura {
namespace {

template <class T> class DirectSum {
 public:
  DirectSum(const ConvShape& s, const T* x, const T* g, T* w)
      : s_(s), x_(x), g_(g), w_(w), image_(s, s.group_channels()) {}

  void run(Context& c) {
    const int64_t elements = s_.groups * sums_space_;
    const int64_t fitting = std::max<int64_t>(1, kSumBytes / (elements * int64_t(sizeof(T))));
    sums_ = std::min({s_.n, int64_t{16}, fitting});
    // Where threads share a sum, each loads what the others load, too: the image or the gradient, of which one is
    // smaller.
    const int64_t threads = get_num_threads(), units = std::max(2 * threads, std::min(kUnits, 4 * threads));
    const int64_t wanted = parts(units, sums_ * s_.groups);
    const int64_t tiles = parts(channels_, kernels_.results);
    const bool by_channels = 2 * image_.size() > filters_ * s_.out_size();  // a value of the image costs more
    const int64_t first = std::min(wanted, by_channels ? tiles : blocks_);
    const int64_t second = std::min(parts(wanted, first), by_channels ? blocks_ : tiles);
    filter_cuts_ = by_channels ? second : first, channel_cuts_ = by_channels ? first : second;
    locate();
    T* const sums = sums_ > 1 ? c.scratch_of<T>(sums_ * elements) : nullptr;
    const int64_t own_blocks = parts(blocks_, filter_cuts_), images = images_ * image_.space();
    const int64_t panel = own_blocks * kernels_.width * part_ * images_;
    const int64_t space = images + panel + (sums ? 0 : own_blocks * patch_ * kernels_.width);
    const double work = double(s_.n) * double(s_.filters) * double(s_.out_size()) * double(patch_);
    parallel_units<T>(c, sums_ * s_.groups * filter_cuts_ * channel_cuts_, space, work, [&](int64_t u, T* image) {
      Unit unit;
      unit.first_channel = part_begin(channels_, channel_cuts_, u % channel_cuts_);
      unit.end_channel = part_begin(channels_, channel_cuts_, u % channel_cuts_ + 1), u /= channel_cuts_;
      unit.first_block = part_begin(blocks_, filter_cuts_, u % filter_cuts_);
      unit.end_block = part_begin(blocks_, filter_cuts_, u % filter_cuts_ + 1), u /= filter_cuts_;
      unit.group = u % s_.groups, unit.sum = u / s_.groups;
      unit.image = image, unit.panel = image + images, unit.sums = image + images + panel;
      if (sums) unit.sums = sums + u * sums_space_ + unit.first_block * patch_ * kernels_.width;
      add_images(unit);
      if (!sums) store(unit);
    });
    if (sums) add_up(sums, elements);
  }

 private:
  static constexpr int64_t kUnits = 8;           // enough for a few threads
  static constexpr int64_t kSumBytes = 4 << 20;  // of all sums
  static constexpr int64_t kRows = 64;           // of sums that a thread adds up in one go

  struct Unit {
    int64_t sum, group, first_channel, end_channel, first_block, end_block;
    T *image, *panel, *sums;  // sums: [block][patch][filters of a block], from the first block on
  };
  struct List {            // of results in taps_
    int64_t first, count;  // count: of one image
  };

  // For each place of the window the channels' rows, and for each part of the results those that see the input there.
  void locate() {
    std::vector<int64_t> offsets(std::size_t(patch_), 0);
    image_.offsets(offsets.data());
    for (int64_t place = 0; place < window_; ++place)
      for (int64_t channel = 0; channel < channels_; ++channel) {
        rows_.push_back(channel * window_ + place);
        places_.push_back(offsets[std::size_t(rows_.back())]);
      }
    taps_.reserve(std::size_t(window_ * s_.out_size() * images_));
    for (int64_t i = 0; i < parts_; ++i)
      for (int64_t place = 0; place < window_; ++place) {
        const int64_t first = int64_t(taps_.size());
        for (int64_t j = 0; j < images_; ++j) list(i, place, j);
        lists_.push_back({first, (int64_t(taps_.size()) - first) / images_});
      }
  }
  void list(int64_t part, int64_t place, int64_t image) {
    const int64_t begin = part_begin(s_.out_size(), parts_, part), end = part_begin(s_.out_size(), parts_, part + 1);
    const int64_t at[] = {place / s_.kernel[2] / s_.kernel[1], place / s_.kernel[2] % s_.kernel[1],
                          place % s_.kernel[2]};
    int64_t from[3], to[3];
    for (int d = 0; d < 3; ++d) {
      const int64_t before = s_.padding[d] - at[d] * s_.dilation[d];
      from[d] = parts(std::max<int64_t>(0, before), s_.stride[d]);
      to[d] = std::min(s_.out[d], parts(std::max<int64_t>(0, before + s_.in[d]), s_.stride[d]));
    }
    for (int64_t z = from[0]; z < to[0]; ++z)
      for (int64_t y = from[1]; y < to[1]; ++y) {
        const int64_t line = (z * s_.out[1] + y) * s_.out[2], last = std::min(to[2], end - line);
        for (int64_t x = std::max(from[2], begin - line); x < last; ++x)
          taps_.push_back({image * image_.space() + image_.place(z, y, x), image * (end - begin) + line + x - begin});
      }
  }

  void add_images(const Unit& u) const {
    const int64_t first = part_begin(s_.n, sums_, u.sum), last = part_begin(s_.n, sums_, u.sum + 1);
    for (int64_t n = first; n < last; n += images_) {
      const int64_t images = std::min(images_, last - n);
      for (int64_t j = 0; j < images; ++j)
        image_.load(x_ + ((n + j) * s_.channels + u.group * channels_) * s_.in_size(), u.first_channel, u.end_channel,
                    u.image + j * image_.space());
      for (int64_t i = 0; i < parts_; ++i) add_part(u, n, images, i, n == first && !i);
    }
  }

  void add_part(const Unit& u, int64_t n, int64_t images, int64_t part, bool again) const {
    const int64_t size = s_.out_size(), begin = part_begin(size, parts_, part),
                  count = part_begin(size, parts_, part + 1) - begin;
    const int64_t width = kernels_.width, depth = count * images,
                  tiles = parts(u.end_channel - u.first_channel, kernels_.results);
    alignas(64) const T zeros[128 / sizeof(T)] = {};
    DirectTile<T> t{};
    t.vectors = 2, t.together = t.channels = 1, t.image = u.image, t.init = again ? zeros : nullptr;
    for (int64_t b = u.first_block; b < u.end_block; ++b) {
      T* const panel = u.panel + (b - u.first_block) * depth * width;  // [image, result][filter]
      for (int64_t j = 0; j < images; ++j)
        gemm_.pack_b(g_ + ((n + j) * s_.filters + u.group * filters_ + b * width) * size + begin, 1, size, count,
                     std::min(width, filters_ - b * width), panel + j * count * width);
      t.weight = panel, t.sums = u.sums + (b - u.first_block) * patch_ * width;
      for (int64_t place = 0; place < window_; ++place) {
        const List& list = lists_[std::size_t(part * window_ + place)];
        t.taps = taps_.data() + list.first, t.tap_count = list.count * images;
        for (int64_t i = 0; i < tiles; ++i) {
          const int64_t all = u.end_channel - u.first_channel, channel = part_begin(all, tiles, i);
          const int64_t at = place * channels_ + u.first_channel + channel;
          t.results = part_begin(all, tiles, i + 1) - channel, t.places = places_.data() + at,
          t.rows = rows_.data() + at;
          kernels_.tile(t);
        }
      }
    }
  }

  void store(const Unit& u) const {
    const int64_t first = u.first_channel * window_, rows = u.end_channel * window_ - first, width = kernels_.width;
    for (int64_t b = u.first_block; b < u.end_block; ++b)
      kernels_.store({u.sums + ((b - u.first_block) * patch_ + first) * width, rows,
                      std::min(width, filters_ - b * width), width,
                      w_ + (u.group * filters_ + b * width) * patch_ + first, patch_});
  }

  void add_up(T* sums, int64_t elements) const {
    const int64_t width = kernels_.width, cuts = parts(patch_, kRows);
    parallel_for(s_.groups * blocks_ * cuts, std::max<int64_t>(1, kSerial / (kRows * width * sums_)),
                 [&](int64_t begin, int64_t end) {
                   for (; begin < end; ++begin) {
                     const int64_t b = begin / cuts % blocks_, g = begin / cuts / blocks_;
                     const int64_t row = part_begin(patch_, cuts, begin % cuts);
                     const int64_t rows = part_begin(patch_, cuts, begin % cuts + 1) - row;
                     T* const sum = sums + g * sums_space_ + (b * patch_ + row) * width;
                     for (int64_t i = 1; i < sums_; ++i)
                       for (int64_t k = 0; k < rows * width; ++k) sum[k] += sum[i * elements + k];
                     kernels_.store({sum, rows, std::min(width, filters_ - b * width), width,
                                     w_ + (g * filters_ + b * width) * patch_ + row, patch_});
                   }
                 });
  }

  const ConvShape& s_;
  const T *x_, *g_;
  T* w_;
  const PaddedImage<T> image_;
  const DirectKernels<T>& kernels_ = direct_kernels<T>();
  const GemmKernels<T>& gemm_ = gemm_kernels<T>();
  const int64_t filters_ = s_.group_filters(), channels_ = s_.group_channels(), window_ = s_.kernel_size();
  const int64_t patch_ = s_.patch(), blocks_ = parts(filters_, kernels_.width);
  const int64_t sums_space_ = blocks_ * patch_ * kernels_.width;
  // Results are summed in parts; small images go together: what is summed in one go is read and written once.
  const int64_t parts_ = parts(s_.out_size(), kConvPixels), part_ = parts(s_.out_size(), parts_);
  const int64_t images_ =
      std::clamp<int64_t>(std::min(kConvPixels / s_.out_size(), (int64_t{1} << 19) / image_.space()), 1, s_.n);
  int64_t sums_ = 1, filter_cuts_ = 1, channel_cuts_ = 1;
  std::vector<int64_t> places_, rows_;  // [place][channel]
  std::vector<DirectTap> taps_;
  std::vector<List> lists_;  // [part][place]
};

}  // namespace

template <class T> bool weight_fits_direct(const ConvShape& s) {  // and the lists are not long
  return fills_direct<T>(s) && s.group_channels() > direct_kernels<T>().results / 2 &&
         s.out_size() <= (int64_t{1} << 20) / s.kernel_size();
}

template <class T> void direct_weight_gradient(Context& c, const ConvShape& s, const T* x, const T* g, T* w) {
  DirectSum<T>(s, x, g, w).run(c);
}
#define NEURA_DIRECT(T)                                  \
  template bool weight_fits_direct<T>(const ConvShape&); \
  template void direct_weight_gradient(Context&, const ConvShape&, const T*, const T*, T*)
NEURA_DIRECT(float);
NEURA_DIRECT(double);
#undef NEURA_DIRECT

}  // namespace neura
