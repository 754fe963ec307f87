// A convolution by tiles that read the padded image: which results and filters a thread takes. Every sum is one chain
// of multiplications and additions, however they are cut.
#include "neura/backend/cpu/conv/conv_direct.h"

#include <algorithm>

#include "neura/backend/cpu/parallel_units.h"

namespace neura {
namespace {

template <class T> class Direct {
 public:
  Direct(const ConvShape& s, const T* x, DirectWeight<T> w, const T* bias, T* y)
      : s_(s), x_(x), weight_(w), bias_(bias), y_(y), image_(s, s.group_channels()) {}

  void run(Context& c) {
    // Small images go together; how many does not depend on the threads, for tiles and what they leave out depend on
    // it.
    const int64_t fitting = std::max<int64_t>(1, kImageBytes / (stride_ * int64_t(sizeof(T))));
    bunches_ = parts(s_.n, std::min({parts(run_size(), size_), fitting, s_.n}));
    plan(parts(s_.n, bunches_), s_.n / bunches_);
    pack(c);
    const int64_t threads = get_num_threads();
    threads == 1 || bunches_* s_.groups >= 2 * threads ? by_images(c) : by_results(c, threads);
  }

 private:
  static constexpr int64_t kTiles = 19;            // that use a part of the weight while it is in the cache
  static constexpr int64_t kUnits = 4;             // wanted for a thread
  static constexpr int64_t kImageBytes = 5 << 18;  // of the images that a thread has at once

  struct Filters {  // blocks of filters of a group
    int64_t group, first, end;
  };

  int64_t run_size() const { return kTiles * kernels_.results; }
  int64_t vectors(int64_t block) const {
    return std::min<int64_t>(2, parts(filters_ - block * kernels_.width, kernels_.lanes));
  }
  int64_t padded_filters() const { return parts(filters_, kernels_.lanes) * kernels_.lanes; }
  double work() const { return double(s_.n) * double(s_.filters) * double(size_) * double(s_.patch()); }

  // A thread loads the images that it works on.
  void by_images(Context& c) {
    const int64_t space = parts(s_.n, bunches_) * stride_;
    parallel_units<T>(c, bunches_ * s_.groups, space + sums_ + late_space(), work(), [&](int64_t unit, T* images) {
      const int64_t g = unit % s_.groups, n = first_image(unit / s_.groups);
      for (int64_t i = n; i < first_image(unit / s_.groups + 1); ++i)
        image_.load(x_ + (i * s_.channels + g * channels_) * s_.in_size(), 0, channels_, images + (i - n) * stride_);
      for (int64_t run = 0; run < runs_; ++run) results(run, unit / s_.groups, images, {g, 0, blocks_}, images + space);
    });
  }

  // Few images: all are loaded by all threads together.
  void by_results(Context& c, int64_t threads) {
    T* const images = c.scratch_of<T>(stride_ * s_.n * s_.groups);  // [group][image]
    parallel_for(s_.n * s_.channels, std::max<int64_t>(1, kSerial / image_.plane()), [&](int64_t begin, int64_t end) {
      for (; begin < end; ++begin) {
        const int64_t n = begin / s_.channels, channel = begin % s_.channels, g = channel / channels_;
        image_.load(x_ + (n * s_.channels + g * channels_) * s_.in_size(), channel % channels_, channel % channels_ + 1,
                    images + (g * s_.n + n) * stride_);
      }
    });
    const int64_t cuts = std::min(parts(kUnits * threads, bunches_ * s_.groups * runs_), blocks_);
    parallel_units<T>(c, bunches_ * s_.groups * runs_ * cuts, sums_ + late_space(), work(), [&](int64_t unit, T* sums) {
      const int64_t cut = unit % cuts, run = unit / cuts % runs_, g = unit / cuts / runs_ % s_.groups,
                    bunch = unit / cuts / runs_ / s_.groups;
      results(run, bunch, images + (g * s_.n + first_image(bunch)) * stride_,
              {g, part_begin(blocks_, cuts, cut), part_begin(blocks_, cuts, cut + 1)}, sums);
    });
  }

  int64_t first_image(int64_t bunch) const { return part_begin(s_.n, bunches_, bunch); }

  // For so many images together, and for so many; or for parts of an image.
  void plan(int64_t images, int64_t others) {
    runs_ = images > 1 ? 1 : parts(size_, run_size());
    const int64_t most = kernels_.results;
    for (int64_t i = 0; i < runs_; ++i)
      plans_.emplace_back(s_, image_, taps_, images, stride_, part_begin(size_, runs_, i),
                          part_begin(size_, runs_, i + 1), most);
    if (others != images) plans_.emplace_back(s_, image_, taps_, others, stride_, 0, size_, most);
    sums_ = images * parts(size_, runs_) * kernels_.width;
  }

  // Where each block of filters is used once, the thread that uses it packs it.
  bool packs_late() const { return bunches_ * runs_ == 1; }
  int64_t late_space() const { return packs_late() ? s_.patch() * kernels_.width : 0; }
  // The weight to [group][block][patch][filters of the block], and the biases in the same order.
  void pack(Context& c) {
    const int64_t padded = padded_filters(), patch = s_.patch();
    T* const init = c.scratch_of<T>(s_.groups * padded);
    for (int64_t i = 0; i < s_.groups * padded; ++i)
      init[i] = bias_ && i % padded < filters_ ? bias_[i / padded * filters_ + i % padded] : T(0);
    init_ = init;
    if (packs_late()) return;
    T* const to = c.scratch_of<T>(s_.groups * padded * patch);
    parallel_for(
        s_.groups * blocks_, std::max<int64_t>(1, kSerial / (patch * kernels_.width)), [&](int64_t begin, int64_t end) {
          for (; begin < end; ++begin) {
            const int64_t g = begin / blocks_, filter = begin % blocks_ * kernels_.width;
            pack_block(g, filter, vectors(begin % blocks_) * kernels_.lanes, to + (g * padded + filter) * patch);
          }
        });
    packed_ = to;
  }
  void pack_block(int64_t g, int64_t filter, int64_t width, T* to) const {
    const int64_t patch = s_.patch(), places = s_.kernel_size();
    DirectLines<T> l;
    l.end = weight_.data + s_.filters * patch, l.width = width, l.lines = std::min(width, filters_ - filter);
    if (!weight_.mirrored) {
      l.from = weight_.data + (g * filters_ + filter) * patch, l.stride = l.size = patch;
      return kernels_.turn(l, to);
    }
    l.stride = l.size = places, l.backwards = true;
    for (int64_t channel = 0; channel < channels_; ++channel, to += places * width) {
      l.from = weight_.data + ((g * channels_ + channel) * filters_ + filter) * places;
      kernels_.turn(l, to);
    }
  }

  void results(int64_t run, int64_t bunch, const T* images, const Filters& f, T* sums) const {
    const int64_t n = first_image(bunch);
    const bool other = first_image(bunch + 1) - n != plans_.front().images;
    const DirectPlan& p = other ? plans_.back() : plans_[std::size_t(run)];
    DirectTile<T> t;
    t.image = images, t.channels = channels_, t.together = taps_.together, t.plane = image_.plane(), t.sums = sums;
    for (int64_t b = f.first; b < f.end; ++b) {
      const int64_t filter = b * kernels_.width, width = vectors(b) * kernels_.lanes;
      t.vectors = vectors(b), t.weight_step = s_.kernel_size() * width;
      t.weight = packed_ ? packed_ + (f.group * padded_filters() + filter) * s_.patch() : sums + sums_;
      if (!packed_) pack_block(f.group, filter, width, sums + sums_);
      t.init = init_ + f.group * padded_filters() + filter;
      for (const DirectPlan::Tile& tile : p.tiles) {
        t.results = tile.results, t.places = p.places.data() + tile.first, t.rows = p.rows.data() + tile.first;
        t.taps = taps_.taps.data() + tile.taps.first, t.tap_count = tile.taps.count;
        kernels_.tile(t);
      }
      const int64_t size = p.end - p.begin, filters = std::min(width, filters_ - filter);
      for (int64_t i = 0; i < p.images; ++i)
        kernels_.store({sums + i * size * width, size, filters, width,
                        y_ + ((n + i) * s_.filters + f.group * filters_ + filter) * size_ + p.begin, size_});
    }
  }

  const ConvShape& s_;
  const T* x_;
  const DirectWeight<T> weight_;
  const T* bias_;
  T* y_;
  const PaddedImage<T> image_;
  const DirectKernels<T>& kernels_ = direct_kernels<T>();
  const int64_t size_ = s_.out_size(), filters_ = s_.group_filters(), channels_ = s_.group_channels();
  const int64_t stride_ = image_.space(), blocks_ = parts(filters_, kernels_.width);
  DirectTaps taps_{s_, image_};
  std::vector<DirectPlan> plans_;
  int64_t bunches_ = 1, runs_ = 1;  // of images; of an image, where it is alone
  int64_t sums_ = 0;                // elements for one run
  const T *packed_ = nullptr, *init_ = nullptr;
};

}  // namespace

template <class T> bool fills_direct(const ConvShape& s) {  // filters after the last are computed, too
  const int64_t filters = s.group_filters(), width = direct_kernels<T>().width;
  return 2 * filters >= width && (filters <= width || 10 * filters >= 7 * parts(filters, width) * width);
}
template <class T> bool fits_direct(const ConvShape& s) {
  // Of few values the beginning and the end of a tile cost more than gathering.
  const int64_t size = s.out_size(), patch = s.patch();
  return fills_direct<T>(s) && size >= direct_kernels<T>().results / 2 &&
         (patch >= 150 || (patch >= 64 && size <= 512));
}

template <class T>
void direct_forward(Context& c, const ConvShape& s, const T* x, DirectWeight<T> w, const T* bias, T* y) {
  Direct<T>(s, x, w, bias, y).run(c);
}
#define NEURA_DIRECT(T)                            \
  template bool fills_direct<T>(const ConvShape&); \
  template bool fits_direct<T>(const ConvShape&);  \
  template void direct_forward(Context&, const ConvShape&, const T*, DirectWeight<T>, const T*, T*)
NEURA_DIRECT(float);
NEURA_DIRECT(double);
#undef NEURA_DIRECT

}  // namespace neura
