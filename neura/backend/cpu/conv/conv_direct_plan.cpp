// Which results a tile of a convolution takes, and which values of their windows.
#include <algorithm>

#include "neura/backend/cpu/conv/conv_direct.h"
#include "neura/backend/cpu/product/gemm.h"

namespace neura {
namespace {

constexpr int64_t kTaps = 128;  // in a loop

struct Interval {  // of results whose windows meet the same places
  DirectRange results, met;
};
std::vector<Interval> intervals(const ConvShape& s, int d) {
  std::vector<Interval> all;
  for (int64_t o = 0; o < s.out[d]; ++o) {
    const int64_t before = s.padding[d] - o * s.stride[d], behind = before + s.in[d];  // of the window's first place
    DirectRange met{std::min(s.kernel[d], parts(std::max<int64_t>(before, 0), s.dilation[d])),
                    std::min(s.kernel[d], parts(std::max<int64_t>(behind, 0), s.dilation[d]))};
    if (met.empty()) met = {};
    if (all.empty() || !(all.back().met == met)) all.push_back({{o, o}, met});
    all.back().results.end = o + 1;
  }
  return all;
}

void join(DirectBox& all, const DirectBox& more) {
  for (const DirectRange& r : more.along)
    if (r.empty()) return;
  for (int d = 0; d < 3; ++d) {
    DirectRange& a = all.along[d];
    const DirectRange& m = more.along[d];
    a = a.empty() ? m : DirectRange{std::min(a.begin, m.begin), std::max(a.end, m.end)};
  }
}

}  // namespace

template <class T> DirectTaps::DirectTaps(const ConvShape& s, const PaddedImage<T>& image)
    : together(std::min(s.group_channels(), parts(kTaps, s.kernel_size()))), offsets_(std::size_t(s.patch())) {
  std::copy_n(s.kernel, 3, kernel_);
  image.offsets(offsets_.data());
}

DirectTaps::Part DirectTaps::of(const DirectBox& box) {
  for (const auto& [known, part] : known_)
    if (known == box) return part;
  const auto& [z_range, y_range, x_range] = box.along;
  const int64_t first = int64_t(taps.size());
  for (int64_t channel = 0; channel < together; ++channel)
    for (int64_t z = z_range.begin; z < z_range.end; ++z)
      for (int64_t y = y_range.begin; y < y_range.end; ++y)
        for (int64_t x = x_range.begin; x < x_range.end; ++x) {
          const int64_t row = ((channel * kernel_[0] + z) * kernel_[1] + y) * kernel_[2] + x;
          taps.push_back({offsets_[std::size_t(row)], row});
        }
  known_.push_back({box, {first, (int64_t(taps.size()) - first) / together}});
  return known_.back().second;
}

template <class T> DirectPlan::DirectPlan(const ConvShape& s, const PaddedImage<T>& image, DirectTaps& taps,
                                          int64_t images_, int64_t stride, int64_t begin_, int64_t end_, int64_t most)
    : images(images_), begin(begin_), end(end_) {
  const std::vector<Interval> along[] = {intervals(s, 0), intervals(s, 1), intervals(s, 2)};
  const int64_t size = end - begin, all = images * size;
  places.reserve(std::size_t(all)), rows.reserve(std::size_t(all));
  std::vector<Class> classes;
  const auto add = [&](int64_t n, int64_t z, int64_t y, const DirectRange& x_range) {
    const int64_t line = (z * s.out[1] + y) * s.out[2], last = std::min(x_range.end, end - line);
    for (int64_t x = std::max(x_range.begin, begin - line); x < last; ++x)
      places.push_back(n * stride + image.place(z, y, x)), rows.push_back(n * size + line + x - begin);
  };
  for (const Interval& a : along[0])
    for (const Interval& b : along[1])
      for (const Interval& c : along[2]) {
        const int64_t before = int64_t(places.size());
        for (int64_t n = 0; n < images; ++n)
          for (int64_t z = a.results.begin; z < a.results.end; ++z)
            for (int64_t y = b.results.begin; y < b.results.end; ++y) add(n, z, y, c.results);
        if (int64_t(places.size()) > before) classes.push_back({int64_t(places.size()), {{a.met, b.met, c.met}}});
      }
  int64_t from = 0;
  const Class* first = classes.data();
  for (const Class& c : classes) {  // tiles of their own for as many as fill one
    const bool enough = c.end - from >= most && all - c.end >= most / 2;
    if (!enough && c.end < all) continue;
    cut(taps, from, c.end, most, first);
    from = c.end, first = &c + 1;
  }
}

// Entries [from, to), of classes from c on, to tiles of about the same size.
void DirectPlan::cut(DirectTaps& taps, int64_t from, int64_t to, int64_t most, const Class* c) {
  const int64_t count = parts(to - from, most);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = from + part_begin(to - from, count, i), last = from + part_begin(to - from, count, i + 1);
    DirectBox met;
    for (join(met, c->met); c->end < last; join(met, c->met)) ++c;
    if (c->end == last) ++c;
    tiles.push_back({first, last - first, taps.of(met)});
  }
}

#define NEURA_DIRECT_PLAN(T)                                                                                       \
  template DirectTaps::DirectTaps(const ConvShape&, const PaddedImage<T>&);                                        \
  template DirectPlan::DirectPlan(const ConvShape&, const PaddedImage<T>&, DirectTaps&, int64_t, int64_t, int64_t, \
                                  int64_t, int64_t)
NEURA_DIRECT_PLAN(float);
NEURA_DIRECT_PLAN(double);
#undef NEURA_DIRECT_PLAN

}  // namespace neura
