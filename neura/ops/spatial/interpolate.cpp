#include "neura/ops/spatial/interpolate.h"

#include <algorithm>
#include <cmath>

#include "neura/core/checked_int.h"
#include "neura/op/cast_scope.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/spatial/pool.h"

namespace neura {
namespace {

struct Resize {  // one dimension
  std::int64_t in, out;
  std::optional<double> factor;  // in / out where it is not given
  double scale(bool align_corners) const {
    if (align_corners) return out > 1 ? double(in - 1) / double(out - 1) : 0;
    return factor ? 1 / *factor : double(in) / double(out);
  }
};

struct Taps {  // element i of the result is the sum over k of weight[k][i] times element index[k][i]
  std::vector<std::vector<std::int64_t>> index;
  std::vector<std::vector<double>> weight;
  explicit Taps(std::size_t n) : index(n), weight(n) {}
};

std::vector<std::int64_t> nearest(const Resize& r, bool exact) {
  std::vector<std::int64_t> index;
  const float scale = float(r.scale(false));  // in float, as torch: both round alike at the edges
  for (std::int64_t i = 0; i < r.out; ++i) {
    const float at = exact ? (float(i) + 0.5f) * scale : float(i) * scale;
    index.push_back(std::min(std::int64_t(std::floor(at)), r.in - 1));
  }
  return index;
}

Taps linear_taps(const Resize& r, bool align_corners) {
  Taps t(2);
  const double scale = r.scale(align_corners);
  for (std::int64_t i = 0; i < r.out; ++i) {
    const double at = align_corners ? double(i) * scale : std::max(0.0, (double(i) + 0.5) * scale - 0.5);
    const std::int64_t low = std::min(std::int64_t(at), r.in - 1);
    const double part = std::min(at - double(low), 1.0);
    t.index[0].push_back(low), t.index[1].push_back(std::min(low + 1, r.in - 1));
    t.weight[0].push_back(1 - part), t.weight[1].push_back(part);
  }
  return t;
}

double cubic(double x, double a = -0.75) {  // Keys's kernel
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}
Taps cubic_taps(const Resize& r, bool align_corners) {
  Taps t(4);
  const double scale = r.scale(align_corners);
  for (std::int64_t i = 0; i < r.out; ++i) {
    const double at = align_corners ? double(i) * scale : (double(i) + 0.5) * scale - 0.5, low = std::floor(at);
    for (int k = 0; k < 4; ++k) {
      t.index[std::size_t(k)].push_back(std::clamp(std::int64_t(low) + k - 1, std::int64_t(0), r.in - 1));
      t.weight[std::size_t(k)].push_back(cubic(at - low + 1 - k));
    }
  }
  return t;
}

// The kernel as wide as an element of the result, where that is wider than one of the input; a = -0.5, as in Pillow.
Taps smoothing_taps(const Resize& r, bool align_corners, bool is_cubic) {
  const double scale = r.scale(align_corners), width = std::max(scale, 1.0), support = (is_cubic ? 2 : 1) * width;
  const auto most = std::int64_t(std::ceil(support)) * 2 + 1;
  Taps t{std::size_t(most)};
  for (std::int64_t i = 0; i < r.out; ++i) {
    const double centre = scale * (double(i) + 0.5);
    const std::int64_t first = std::max(std::int64_t(centre - support + 0.5), std::int64_t(0));
    const std::int64_t end = std::min({std::int64_t(centre + support + 0.5), r.in, first + most});
    double total = 0;
    for (std::int64_t k = 0; k < most; ++k) {
      const double x = (double(first + k) - centre + 0.5) / width;
      const double w = first + k >= end ? 0 : is_cubic ? cubic(x, -0.5) : std::max(0.0, 1 - std::abs(x));
      total += w;
      t.index[std::size_t(k)].push_back(std::clamp(first + k, std::int64_t(0), std::max(end, std::int64_t(1)) - 1));
      t.weight[std::size_t(k)].push_back(w);
    }
    for (auto& w : t.weight) w.back() /= total != 0 ? total : 1;
  }
  return t;
}

Tensor picked(const Tensor& x, int dim, const std::vector<std::int64_t>& index) {
  return index_select(x, dim, tensor(index, {.device = x.device()}));
}
Tensor weighted(const Tensor& x, int dim, const Taps& taps) {
  Tensor sum;
  Shape shape = Shape::filled(x.dim() - dim, 1);
  shape[0] = std::int64_t(taps.index[0].size());
  for (std::size_t k = 0; k < taps.index.size(); ++k) {
    const Tensor w = tensor(taps.weight[k], shape, {.device = x.device()}).to(x.dtype());
    const Tensor part = picked(x, dim, taps.index[k]) * w;
    sum = sum ? sum + part : part;
  }
  return sum;
}

// Bytes are weighted by integers, weight * 2^bits, with as many bits as 16-bit weights allow, and rounded after each
// dimension: torch's arithmetic, so that pictures come out alike to the last bit.
Tensor weighted_bytes(const Tensor& x, int dim, Taps taps) {
  double greatest = 0;
  for (std::size_t i = 0; i < taps.index[0].size(); ++i)
    for (std::size_t k = 0; k < taps.index.size(); ++k) {
      for (std::size_t j = 0; j < k; ++j)  // at the edges several taps fall on one element: their weights add up
        if (taps.index[j][i] == taps.index[k][i]) taps.weight[j][i] += std::exchange(taps.weight[k][i], 0);
      for (std::size_t j = 0; j <= k; ++j) greatest = std::max(greatest, taps.weight[j][i]);
    }
  int bits = 0;
  while (bits < 22 && std::int64_t(0.5 + std::ldexp(greatest, bits + 1)) < 1 << 15) ++bits;
  Tensor sum;
  Shape shape = Shape::filled(x.dim() - dim, 1);
  shape[0] = std::int64_t(taps.index[0].size());
  for (std::size_t k = 0; k < taps.index.size(); ++k) {
    std::vector<std::int64_t> weight;
    for (const double w : taps.weight[k]) weight.push_back(std::int64_t(std::ldexp(w, bits) + (w < 0 ? -0.5 : 0.5)));
    const Tensor part = picked(x, dim, taps.index[k]) * tensor(weight, shape, {.device = x.device()});
    sum = sum ? sum + part : part;
  }
  return clamp(div(sum + (std::int64_t(1) << bits) / 2, std::int64_t(1) << bits, {"floor"}), {.min = 0, .max = 255});
}

[[noreturn]] void wrong(const std::string& text) { throw ValueError("interpolate: expected " + text); }

int spatial_dims(const Tensor& x, std::string_view mode) {
  const int needed = mode == "linear" ? 1 : mode == "bilinear" || mode == "bicubic" ? 2 : mode == "trilinear" ? 3 : 0;
  const bool any = mode == "nearest" || mode == "nearest-exact" || mode == "area";
  if (!needed && !any)
    wrong("mode nearest, nearest-exact, linear, bilinear, bicubic, trilinear or area, got " + std::string(mode));
  const int dims = x.dim() - 2;
  check<ShapeError>(needed ? dims == needed : dims >= 1 && dims <= 3, [&] {
    return "interpolate: expected an input [N, C, spatial..] with " +
           (needed ? std::to_string(needed) : std::string("1 to 3")) + " spatial dimensions for mode " +
           std::string(mode) + ", got " + x.shape().str();
  });
  return dims;
}

// Whether the result is that of the sizes, whatever factor was given, as on torch's CPU: where a size stays (elsewhere
// than in cubic taps without antialias and in nearest-exact), and where nearest doubles it.
bool size_decides(const InterpolateOptions& o, const Resize& r) {
  if (o.mode == "nearest") return r.out == r.in || r.out == 2 * r.in;
  return o.mode == "area" || (r.out == r.in && o.mode != "nearest-exact" && (o.mode != "bicubic" || o.antialias));
}

std::vector<Resize> resizes(const Tensor& x, int dims, const InterpolateOptions& o) {
  if (o.size.empty() == o.scale_factor.empty())
    wrong("either size or scale_factor, got " + std::string(o.size.empty() ? "none" : "both"));
  if (o.recompute_scale_factor && o.scale_factor.empty()) wrong("scale_factor with recompute_scale_factor, got size");
  const std::size_t given = o.size.empty() ? o.scale_factor.size() : std::size_t(o.size.size());
  check<ShapeError>(given == 1 || given == std::size_t(dims), [&] {
    return "interpolate: expected 1 or " + std::to_string(dims) + " sizes or factors, got " + std::to_string(given);
  });
  std::vector<Resize> out;
  for (int d = 0; d < dims; ++d) {
    Resize r{x.size(d + 2), 0, {}};
    if (o.size.empty()) {
      const double factor = o.scale_factor[given == 1 ? 0 : std::size_t(d)];
      if (!(factor > 0) || double(r.in) * factor >= 0x1p40)
        wrong("a scale_factor above 0, with sizes below 2^40, got " + Scalar(factor).str());
      r.out = std::int64_t(std::floor(double(r.in) * factor));
      if (!o.recompute_scale_factor && !size_decides(o, r)) r.factor = factor;
    } else r.out = o.size[given == 1 ? 0 : d];
    check<ShapeError>(r.in > 0 && r.out > 0, [&] {
      return "interpolate: expected sizes above 0, got " + std::to_string(r.in) + " to become " + std::to_string(r.out);
    });
    check_room("interpolate", r.out, 8 * sizeof(double));  // for indices and weights of each element
    out.push_back(r);
  }
  return out;
}

Tensor area(const Tensor& x, const std::vector<Resize>& all) {
  PerDim size;
  for (const Resize& r : all) size.push_back(r.out);
  return all.size() == 1   ? adaptive_avg_pool1d(x, size)
         : all.size() == 2 ? adaptive_avg_pool2d(x, size)
                           : adaptive_avg_pool3d(x, size);
}

}  // namespace

Tensor interpolate(const Tensor& input, const InterpolateOptions& o) {
  if (const amp::CastScope cast{amp::Name::interpolate, input}; o.mode != "area" && cast)
    return interpolate(cast(input), o);
  const int dims = spatial_dims(input, o.mode);
  const bool smooth = o.mode != "nearest" && o.mode != "nearest-exact" && o.mode != "area";
  if (!smooth && o.align_corners)
    wrong("align_corners with the linear and cubic modes only, got it with " + std::string(o.mode));
  if (o.antialias && o.mode != "bilinear" && o.mode != "bicubic")
    wrong("antialias with mode bilinear or bicubic only, got it with " + std::string(o.mode));
  const bool bytes = input.dtype() == DType::uint8 && (o.mode == "bilinear" || o.mode == "bicubic");
  check<DTypeError>(!smooth || bytes || is_floating(input.dtype()), [&] {
    return "interpolate: expected a floating input for mode " + std::string(o.mode) + ", got " + name(input.dtype());
  });
  const std::vector<Resize> all = resizes(input, dims, o);
  if (o.mode == "area") return area(input, all);
  const bool corners = o.align_corners.value_or(false);
  const auto taps = [&](int d) {
    const Resize& r = all[std::size_t(d)];
    if (o.antialias) return smoothing_taps(r, corners, o.mode == "bicubic");
    return o.mode == "bicubic" ? cubic_taps(r, corners) : linear_taps(r, corners);
  };
  if (bytes) {
    const Tensor wide = weighted_bytes(input.to(DType::int64), 3, taps(1));  // lines first, as in torch
    return weighted_bytes(wide, 2, taps(0)).to(DType::uint8);
  }
  const bool narrow = smooth && size_of(input.dtype()) < 4;  // halves are summed in float
  Tensor y = narrow ? input.to(DType::float32) : input;
  for (int d = 0; d < dims; ++d) {
    if (!smooth) y = picked(y, d + 2, nearest(all[std::size_t(d)], o.mode == "nearest-exact"));
    else y = weighted(y, d + 2, taps(d));
  }
  return narrow ? y.to(input.dtype()) : y;
}

}  // namespace neura
