// Regions of images: boxes that overlap, pools over regions, convolutions with moved taps.
#include <algorithm>
#include <array>
#include <cmath>

#include "neura/onnx/window.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/spatial/grid_sample.h"

namespace neura::onnx {
namespace {

struct Box {
  double y0, x0, y1, x1;
  double area() const { return std::max(0.0, y1 - y0) * std::max(0.0, x1 - x0); }
};
Box box_of(const double* p, bool centred) {
  if (centred) return {p[1] - p[3] / 2, p[0] - p[2] / 2, p[1] + p[3] / 2, p[0] + p[2] / 2};
  return {std::min(p[0], p[2]), std::min(p[1], p[3]), std::max(p[0], p[2]), std::max(p[1], p[3])};
}
double overlap(const Box& a, const Box& b) {  // intersection over union
  const double common =
      Box{std::max(a.y0, b.y0), std::max(a.x0, b.x0), std::min(a.y1, b.y1), std::min(a.x1, b.x1)}.area();
  const double all = a.area() + b.area() - common;
  return common > 0 && all > 0 ? common / all : 0;
}
// Of each class, the best boxes that do not overlap better ones.
BoundNode suppressed(const Node& n) {
  const bool centred = n.flag("center_point_box");
  return [centred](const Operands& x) -> Results {
    const Tensor boxes = x[0], scores = x[1];
    const bool fits = boxes.dim() == 3 && scores.dim() == 3 && boxes.size(2) == 4 && boxes.size(0) == scores.size(0) &&
                      boxes.size(1) == scores.size(2);
    if (!fits)
      throw ShapeError("NonMaxSuppression: expected boxes [N, B, 4] and scores [N, C, B], got " + boxes.shape().str() +
                       " and " + scores.shape().str());
    const std::int64_t most = x.has(2) ? x.integer(2) : 0, count = boxes.size(1), classes = scores.size(1);
    const double iou = x.has(3) ? x.real(3) : 0;
    const std::vector<double> p = reals_of(boxes), s = reals_of(scores);
    std::vector<std::int64_t> chosen, order(static_cast<std::size_t>(count));
    for (std::int64_t b = 0; b < boxes.size(0); ++b)
      for (std::int64_t c = 0; c < classes; ++c) {
        const double* score = s.data() + (b * classes + c) * count;
        order.clear();
        for (std::int64_t i = 0; i < count; ++i)
          if (!x.has(4) || score[i] > x.real(4)) order.push_back(i);
        std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {  // NaN is last
          return score[i] > score[j] || (!std::isnan(score[i]) && std::isnan(score[j]));
        });
        std::vector<Box> kept;
        for (std::int64_t i : order) {
          if (std::int64_t(kept.size()) >= most) break;
          const Box box = box_of(p.data() + (b * count + i) * 4, centred);
          if (std::any_of(kept.begin(), kept.end(), [&](const Box& k) { return overlap(box, k) > iou; })) continue;
          kept.push_back(box);
          chosen.insert(chosen.end(), {b, c, i});
        }
      }
    return reshape(integers(chosen), {std::int64_t(chosen.size() / 3), 3});
  };
}

struct RegionPool {
  std::int64_t height, width, samples;
  double scale;
  bool half_pixel, largest;

  explicit RegionPool(const Node& n)
      : height(n.integer("output_height", 1)),
        width(n.integer("output_width", 1)),
        samples(n.integer("sampling_ratio", 0)),
        scale(n.real("spatial_scale", 1)),
        half_pixel(n.text("coordinate_transformation_mode", n.version < 16 ? "output_half_pixel" : "half_pixel") ==
                   "half_pixel"),
        largest(n.text("mode", "avg") == "max") {
    if (height < 1 || width < 1 || height > 1 << 15 || width > 1 << 15 || samples < 0 || samples > 1 << 10)
      refuse(n.op, "positive sizes", std::to_string(height));
  }

  // Positions and weights of both neighbours along one axis; outside of the image, weights of 0.
  static void taps(double at, std::int64_t size, std::int64_t& low, std::int64_t& high, double& w) {
    const double c = std::clamp(at, 0.0, double(size - 1));
    low = std::int64_t(c), high = std::min(low + 1, size - 1), w = c - double(low);
  }
  Tensor pool(const Tensor& plane, const double* roi, std::int64_t H, std::int64_t W) const {  // plane [C, H * W]
    const double shift = half_pixel ? 0.5 : 0, y0 = roi[1] * scale - shift, x0 = roi[0] * scale - shift;
    double h = roi[3] * scale - shift - y0, w = roi[2] * scale - shift - x0;
    for (const double v : {y0, x0, h, w})
      if (!std::isfinite(v)) refuse("RoiAlign", "regions of finite numbers", std::to_string(v));
    if (!half_pixel) h = std::max(h, 1.0), w = std::max(w, 1.0);
    const double bin_h = h / double(height), bin_w = w / double(width);
    if (!samples && std::max(bin_h, bin_w) > 1 << 10)
      refuse("RoiAlign", "regions about as large as the image", std::to_string(std::max(h, w)));
    const std::int64_t ny = samples ? samples : std::int64_t(std::max(1.0, std::ceil(bin_h)));
    const std::int64_t nx = samples ? samples : std::int64_t(std::max(1.0, std::ceil(bin_w)));
    std::array<std::vector<std::int64_t>, 4> place;
    std::array<std::vector<double>, 4> weight;
    for (std::int64_t ph = 0; ph < height; ++ph)
      for (std::int64_t pw = 0; pw < width; ++pw)
        for (std::int64_t iy = 0; iy < ny; ++iy)
          for (std::int64_t ix = 0; ix < nx; ++ix) {
            const double y = y0 + (double(ph) + (double(iy) + 0.5) / double(ny)) * bin_h;
            const double x = x0 + (double(pw) + (double(ix) + 0.5) / double(nx)) * bin_w;
            const double inside = y < -1 || y > double(H) || x < -1 || x > double(W) ? 0 : 1;
            std::int64_t yl, yh, xl, xh;
            double wy, wx;
            taps(y, H, yl, yh, wy), taps(x, W, xl, xh, wx);
            const std::int64_t places[] = {yl * W + xl, yl * W + xh, yh * W + xl, yh * W + xh};
            const double weights[] = {(1 - wy) * (1 - wx), (1 - wy) * wx, wy * (1 - wx), wy * wx};
            for (std::size_t k = 0; k < 4; ++k) place[k].push_back(places[k]), weight[k].push_back(weights[k] * inside);
          }
    Tensor y;
    for (std::size_t k = 0; k < 4; ++k) {
      const Tensor share = mul(index_select(plane, 1, integers(place[k]).to(plane.device())),
                               tensor(weight[k], {float64, Device(), false}).to(plane.dtype()).to(plane.device()));
      y = !y ? share : largest ? maximum(y, share) : add(y, share);
    }
    y = reshape(y, {plane.size(0), height, width, ny * nx});
    return largest ? amax(y, 3) : mean(y, 3);
  }
  Results operator()(const Operands& x) const {
    const Tensor t = x[0], rois = x[1];
    if (t.dim() != 4 || t.size(2) < 1 || t.size(3) < 1 || rois.dim() != 2 || rois.size(1) != 4)
      throw ShapeError("RoiAlign: expected an image [N, C, H, W] and regions [R, 4], got " + t.shape().str() + " and " +
                       rois.shape().str());
    const std::vector<double> r = reals_of(rois);
    const std::vector<std::int64_t> batch = x.integers(2);
    std::vector<Tensor> out;
    for (std::size_t i = 0; i < batch.size() && 4 * i < r.size(); ++i)
      out.push_back(pool(reshape(select(t, 0, batch[i]), {t.size(1), -1}), r.data() + 4 * i, t.size(2), t.size(3)));
    if (out.empty()) return zeros({0, t.size(1), height, width}, {t.dtype(), t.device(), false});
    return stack(out);
  }
};
BoundNode region_pool(const Node& n) { return RegionPool(n); }

// The taps of a convolution, each moved by an offset and weighed by a mask.
struct Deformable {
  Window w;
  std::int64_t offset_groups;

  // [N, C, taps, oh, ow]: what each tap sees.
  Tensor sampled(const Tensor& x, const Tensor& offset, const Tensor& mask, const Shape& kernel) const {
    const std::int64_t H = x.size(2), W = x.size(3), taps = kernel[0] * kernel[1], oh = offset.size(2),
                       ow = offset.size(3);
    const TensorOptions o{x.dtype(), x.device(), false};
    const auto line = [&](std::int64_t n) { return arange(n, o); };
    const auto at = [&](std::int64_t pad) { return double(w.pads.empty() ? 0 : w.pads[std::size_t(pad)]); };
    const Tensor rows = sub(mul(line(oh), double(w.stride(0))), at(0)).reshape({1, 1, oh, 1});
    const Tensor columns = sub(mul(line(ow), double(w.stride(1))), at(1)).reshape({1, 1, 1, ow});
    const Tensor down =
        expand(mul(line(kernel[0]), double(w.dilation(0))).reshape({kernel[0], 1}), {kernel[0], kernel[1]})
            .reshape({1, taps, 1, 1});
    const Tensor right =
        expand(mul(line(kernel[1]), double(w.dilation(1))), {kernel[0], kernel[1]}).reshape({1, taps, 1, 1});
    std::vector<Tensor> parts;
    const std::int64_t each = x.size(1) / offset_groups;
    for (std::int64_t g = 0; g < offset_groups; ++g) {
      const Tensor moved = reshape(narrow(offset, 1, g * taps * 2, taps * 2), {x.size(0), taps, 2, oh, ow});
      const Tensor y = add(add(rows, down), select(moved, 2, 0)), c = add(add(columns, right), select(moved, 2, 1));
      const auto relative = [](const Tensor& p, std::int64_t size) {
        return sub(mul(add(p, 0.5), 2 / double(size)), 1.0);
      };
      const Tensor grid = reshape(stack({relative(c, W), relative(y, H)}, 4), {x.size(0), taps * oh, ow, 2});
      Tensor seen = reshape(grid_sample(narrow(x, 1, g * each, each), grid), {x.size(0), each, taps, oh, ow});
      if (mask) seen = mul(seen, narrow(mask, 1, g * taps, taps).unsqueeze(1));
      parts.push_back(seen);
    }
    return cat(parts, 1);
  }
  Results operator()(const Operands& x) const {
    const Tensor t = x[0], weight = x[1], offset = x[2];
    if (t.dim() != 4 || weight.dim() != 4)
      throw NotImplementedError("DeformConv of other than two spatial dimensions is not implemented");
    w.dims(t);  // ShapeError, unless the attributes have two each
    const Shape kernel{weight.size(2), weight.size(3)};
    const std::int64_t taps = kernel[0] * kernel[1], groups = w.group, out = weight.size(0);
    if (offset_groups < 1 || groups < 1 || t.size(1) % offset_groups || out % groups ||
        weight.size(1) * groups != t.size(1) || offset.size(1) != 2 * taps * offset_groups)
      throw ShapeError("DeformConv: expected weights and offsets that fit the groups, got " + offset.shape().str());
    // The positions of taps are computed in double: in float, a place on a border would miss it.
    const Tensor mask = x.maybe(4),
                 seen =
                     sampled(t.to(float64), offset.to(float64), mask ? mask.to(float64) : mask, kernel).to(t.dtype());
    const std::int64_t N = t.size(0), oh = offset.size(2), ow = offset.size(3);
    const Tensor columns = reshape(seen, {N, groups, weight.size(1) * taps, oh * ow});
    Tensor y =
        reshape(matmul(reshape(weight, {1, groups, out / groups, weight.size(1) * taps}), columns), {N, out, oh, ow});
    return x.has(3) ? add(y, reshape(x[3], {1, out, 1, 1})) : y;
  }
};
BoundNode deformable(const Node& n) { return Deformable{Window(n), n.integer("offset_group", 1)}; }

}  // namespace

std::span<const Operator> region_operators() {
  constexpr Types plain = Types::plain;
  constexpr Folding never = Folding::never;
  static const Operator rows[] = {
      {"NonMaxSuppression", 10, kNewest, suppressed, plain, never},
      {"RoiAlign", 10, kNewest, region_pool, plain, never},
      {"DeformConv", 19, kNewest, deformable, plain, never},
  };
  return rows;
}

}  // namespace neura::onnx
