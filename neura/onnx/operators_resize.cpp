// Resize and its relatives: images at other sizes, grids, regions. Resizing is separable: one matrix for each axis.
#include <algorithm>
#include <cmath>

#include "neura/onnx/operators.h"
#include "neura/op/defer.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/spatial/grid_sample.h"

namespace neura::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

struct Axis {  // of one resized dimension
  std::int64_t in, out;
  double scale, start = 0, end = 1;  // the region, of tf_crop_and_resize
};

struct Resizer {
  std::string mode, coordinates, nearest, policy;
  bool antialias, exclude, has_axes;
  double cubic, extrapolated;
  Integers axes;

  explicit Resizer(const Node& n)
      : mode(n.text("mode", "nearest")),
        coordinates(n.text("coordinate_transformation_mode", n.version < 11 ? "asymmetric" : "half_pixel")),
        nearest(n.text("nearest_mode", n.version < 11 ? "simple" : "round_prefer_floor")),
        policy(n.text("keep_aspect_ratio_policy", "stretch")),
        antialias(n.flag("antialias")),
        exclude(n.flag("exclude_outside")),
        has_axes(n.has("axes")),
        cubic(n.real("cubic_coeff_a", -0.75)),
        extrapolated(n.real("extrapolation_value", 0)),
        axes(n.integers("axes")) {
    if (mode != "nearest" && mode != "linear" && mode != "cubic" && mode != "bilinear")
      refuse(n.op, "the mode nearest, linear or cubic", mode);
    for (const char* known : {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                              "tf_crop_and_resize", "tf_half_pixel_for_nn"})
      if (coordinates == known) return;
    refuse(n.op, "a coordinate_transformation_mode of ONNX", coordinates);
  }

  double source(const Axis& a, std::int64_t i) const {
    const double y = double(i), size = a.scale * double(a.in);
    // Divisions by the scale are float's, as in the runtimes: 3 / 0.6 is 5 there, and less in double.
    const auto centre = double((float(i) + 0.5F) / float(a.scale));
    if (coordinates == "align_corners") return size == 1 ? 0 : y * double(a.in - 1) / (size - 1);
    if (coordinates == "asymmetric") return double(float(i) / float(a.scale));
    if (coordinates == "tf_half_pixel_for_nn") return centre;
    if (coordinates == "pytorch_half_pixel") return a.out == 1 ? -0.5 : centre - 0.5;
    if (coordinates == "tf_crop_and_resize") {
      const double width = (a.end - a.start) * double(a.in - 1);
      return a.start * double(a.in - 1) + (a.out == 1 ? width / 2 : y * width / double(a.out - 1));
    }
    if (coordinates == "half_pixel_symmetric") return double(a.in) / 2 * (1 - double(a.out) / size) + centre - 0.5;
    return centre - 0.5;
  }
  bool outside(const Axis& a, double x) const {
    return coordinates == "tf_crop_and_resize" && (x < 0 || x > double(a.in - 1));
  }

  std::int64_t neighbour(const Axis& a, double x) const {
    if (nearest == "simple") return std::int64_t(a.scale < 1 ? std::ceil(x) : std::floor(x));  // before version 11
    if (nearest == "floor") return std::int64_t(std::floor(x));
    if (nearest == "ceil") return std::int64_t(std::ceil(x));
    if (nearest == "round_prefer_ceil") return std::int64_t(std::floor(x + 0.5));
    return std::int64_t(std::ceil(x - 0.5));
  }
  double weight(double distance) const {
    const double d = std::abs(distance), a = cubic;
    if (mode != "cubic") return std::max(0.0, 1 - d);
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
  }
  // Row i says how much of each input goes into output i; taps outside fall on the border, or away.
  Tensor matrix(const Axis& a) const {
    const Untraced alone;  // its numbers follow from sizes
    Tensor m = zeros({a.out, a.in}, {float64, Device(), false});
    double* to = m.data<double>();
    const double shrink = antialias ? std::min(1.0, a.scale) : 1.0, reach = (mode == "cubic" ? 2 : 1) / shrink;
    for (std::int64_t i = 0; i < a.out; ++i, to += a.in) {
      const double x = source(a, i);
      const auto first = std::int64_t(std::floor(x - reach)) + 1, last = std::int64_t(std::ceil(x + reach)) - 1;
      double sum = 0;
      for (std::int64_t k = first; k <= last; ++k) {
        const double w = weight((double(k) - x) * shrink);
        if (exclude && (k < 0 || k >= a.in)) continue;
        to[std::clamp<std::int64_t>(k, 0, a.in - 1)] += w, sum += w;
      }
      for (std::int64_t k = 0; k < a.in && sum != 0 && (exclude || antialias); ++k) to[k] /= sum;
    }
    return m;
  }

  Tensor along(const Tensor& x, int dim, const Axis& a) const {
    if (a.in < 1) throw ShapeError("Resize: expected something to resize, got " + x.shape().str());
    Integers at, beyond;
    for (std::int64_t i = 0; i < a.out; ++i) {
      const double from = source(a, i);
      at.push_back(std::clamp<std::int64_t>(neighbour(a, from), 0, a.in - 1));
      beyond.push_back(outside(a, from));
    }
    Tensor y;
    if (mode == "nearest") y = index_select(x, dim, integers(at).to(x.device()));
    else y = transpose(matmul(transpose(x, dim, -1), matrix(a).to(x.dtype()).to(x.device()).t()), dim, -1);
    if (std::find(beyond.begin(), beyond.end(), 1) == beyond.end()) return y;
    Shape shape = Shape::filled(x.dim(), 1);
    shape[dim] = a.out;
    return where(integers(beyond).to(x.device()).reshape(shape).to(boolean), neura::full_like(y, extrapolated), y);
  }

  Tensor operator()(const Tensor& x, const std::vector<double>& scales, const Integers& sizes,
                    const std::vector<double>& roi) const {
    Integers dims = axes;
    if (!has_axes)
      for (int i = 0; i < x.dim(); ++i) dims.push_back(i);
    const std::size_t n = dims.size();
    const std::size_t given = sizes.empty() ? scales.size() : sizes.size();
    if (given != n) refuse("Resize", "one scale or size per axis", std::to_string(given));
    for (const double r : roi)
      if (!(std::abs(r) < 1e6)) refuse("Resize", "a region about as large as the image", std::to_string(r));
    std::vector<Axis> plan;
    for (std::size_t i = 0; i < n; ++i) {
      dims[i] = axis_of("Resize", dims[i], x.dim());
      const std::int64_t in = x.size(int(dims[i]));
      const double scale = sizes.empty() ? scales[i] : double(sizes[i]) / double(in);
      if (!(scale > 0) || scale * double(in) > 1e9) refuse("Resize", "positive scales", std::to_string(scale));
      plan.push_back({in, sizes.empty() ? std::int64_t(std::floor(scale * double(in))) : sizes[i], scale});
      if (roi.size() == 2 * n) plan[i].start = roi[i], plan[i].end = roi[n + i];
    }
    if (!sizes.empty() && policy != "stretch") keep_aspect(plan);  // with sizes, there is an axis
    const bool real = is_floating(x.dtype());
    Tensor y = real || mode == "nearest" ? x : x.to(float32);
    for (std::size_t i = 0; i < n; ++i)
      if (plan[i].scale != 1 || plan[i].out != plan[i].in || plan[i].start != 0 || plan[i].end != 1)
        y = along(y, int(dims[i]), plan[i]);
    return real || mode == "nearest" ? y : neura::round(y).to(x.dtype());
  }
  void keep_aspect(std::vector<Axis>& plan) const {
    const auto by_scale = [](const Axis& a, const Axis& b) { return a.scale < b.scale; };
    const auto [low, high] = std::minmax_element(plan.begin(), plan.end(), by_scale);
    const double scale = policy == "not_larger" ? low->scale : high->scale;
    for (Axis& a : plan) a.scale = scale, a.out = std::int64_t(std::floor(scale * double(a.in) + 0.5));
  }
};

BoundNode resized(const Node& n) {  // X, roi, scales, sizes
  return [r = Resizer(n)](const Operands& x) -> Results {
    const auto reals = [&](std::size_t i) { return x.has(i) ? x.reals(i) : std::vector<double>(); };
    const Integers sizes = x.has(3) ? x.integers(3) : Integers();
    return r(x[0], sizes.empty() ? reals(2) : std::vector<double>(), sizes, reals(1));
  };
}
BoundNode resized_by_scales(const Node& n) {  // X, scales
  return [r = Resizer(n)](const Operands& x) -> Results { return r(x[0], x.reals(1), {}, {}); };
}
BoundNode upsampled(const Node& n) {
  Resizer r(n);
  return [r, scales = n.reals("scales")](const Operands& x) -> Results { return r(x[0], scales, {}, {}); };
}

BoundNode sampled(const Node& n) {
  std::string mode = n.text("mode", "linear");
  if (mode == "linear" || mode == "bilinear") mode = "bilinear";
  if (mode == "cubic" || mode == "bicubic") mode = "bicubic";
  const std::string padding = n.text("padding_mode", "zeros");
  const bool corners = n.flag("align_corners");
  return [=](const Operands& x) -> Results {
    GridSampleOptions o;
    o.mode = mode, o.padding_mode = padding, o.align_corners = corners;
    return grid_sample(x[0], x[1].to(x[0].dtype()), o);
  };
}
BoundNode affine(const Node& n) {
  const bool corners = n.flag("align_corners");
  return [corners](const Operands& x) -> Results { return affine_grid(x[0], shape_from(x.integers(1)), corners); };
}

}  // namespace

std::span<const Operator> resize_operators() {
  constexpr Types plain = Types::plain;
  constexpr Folding never = Folding::never;
  static const Operator rows[] = {
      {"Upsample", 7, 8, upsampled, plain, never},         {"Upsample", 9, 10, resized_by_scales, plain, never},
      {"Resize", 10, 10, resized_by_scales, plain, never}, {"Resize", 11, kNewest, resized, plain, never},
      {"GridSample", 16, kNewest, sampled, plain, never},  {"AffineGrid", 20, kNewest, affine, plain, never},
  };
  return rows;
}

}  // namespace neura::onnx
