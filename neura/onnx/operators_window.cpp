// Convolutions and pools.
#include <algorithm>
#include <cmath>
#include <limits>

#include "neura/onnx/window.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/spatial/conv.h"
#include "neura/ops/spatial/pool.h"

namespace neura::onnx {

Window::Window(const Node& n)
    : kernel(n.integers("kernel_shape")),
      strides(n.integers("strides")),
      dilations(n.integers("dilations")),
      pads(n.integers("pads")),
      output_padding(n.integers("output_padding")),
      output_shape(n.integers("output_shape")),
      auto_pad(n.text("auto_pad", "NOTSET")),
      group(n.integer("group", 1)),
      ceil(n.flag("ceil_mode")) {
  for (const auto* list : {&strides, &dilations, &kernel})
    for (std::int64_t v : *list)
      if (v < 1 || v > INT32_MAX) refuse(n.op, "positive sizes, strides and dilations", std::to_string(v));
  for (std::int64_t v : pads)
    if (v < -INT32_MAX || v > INT32_MAX) refuse(n.op, "pads of 32 bits", std::to_string(v));
}

int Window::dims(const Tensor& x) const {
  const int d = x.dim() - 2;
  const auto fits = [&](const std::vector<std::int64_t>& v, int each) {
    return v.empty() || int(v.size()) == each * d;
  };
  if (d < 1 || !fits(kernel, 1) || !fits(strides, 1) || !fits(dilations, 1) || !fits(pads, 2) ||
      !fits(output_padding, 1))
    throw ShapeError("window: expected an input [N, C, ...] with as many dimensions as the attributes, got " +
                     x.shape().str());
  return d;
}

std::vector<Place> places(const Window& w, const Shape& kernel, const Tensor& x) {
  const int d = w.dims(x);
  std::vector<Place> out;
  for (int i = 0; i < d; ++i) {
    const std::int64_t size = x.size(2 + i), stride = w.stride(i), span = (kernel[i] - 1) * w.dilation(i) + 1;
    std::int64_t before = w.pads.empty() ? 0 : w.pads[std::size_t(i)];
    std::int64_t after = w.pads.empty() ? 0 : w.pads[std::size_t(i) + std::size_t(d)], count;
    if (w.auto_pad == "SAME_UPPER" || w.auto_pad == "SAME_LOWER") {
      count = (size + stride - 1) / stride;
      const std::int64_t all = std::max<std::int64_t>(0, (count - 1) * stride + span - size);
      before = w.auto_pad == "SAME_UPPER" ? all / 2 : all - all / 2;
    } else {
      if (w.auto_pad == "VALID") before = after = 0;
      const std::int64_t room = size + before + after - span;
      count = room < 0 ? 0 : room / stride + 1;
      // A window more, unless it begins after the input and the padding before it.
      if (w.ceil && room >= 0 && room % stride && count * stride < size + before) ++count;
    }
    if (count < 1)
      throw ShapeError("window: expected windows that fit, got a span of " + std::to_string(span) + " for " +
                       x.shape().str());
    out.push_back({before, (count - 1) * stride + span - size - before, count});
  }
  return out;
}

Tensor padded(const Tensor& x, const std::vector<Place>& p, double value) {
  std::vector<std::int64_t> pads;
  bool any = false;
  for (auto at = p.rbegin(); at != p.rend(); ++at) {
    pads.push_back(at->before), pads.push_back(at->after);
    any = any || at->before || at->after;
  }
  return any ? constant_pad_nd(x, pads, value) : x;
}

namespace {

PerDim per(const Window& w, int d, bool strides) {
  PerDim p;
  for (int i = 0; i < d; ++i) p.push_back(strides ? w.stride(i) : w.dilation(i));
  return p;
}
Shape spatial(const Tensor& weight) { return Shape(weight.shape().data() + 2, std::size_t(weight.dim() - 2)); }
// One size of a window per spatial dimension.
Shape kernel_of(const char* op, const Window& w, const Tensor& x) {
  const Shape kernel = shape_from(w.kernel);
  if (kernel.size() != w.dims(x))
    throw ShapeError(std::string(op) + ": expected a kernel size per dimension, got " + kernel.str());
  return kernel;
}
void check_dims(const char* op, int d) {
  if (d > 3) throw NotImplementedError(std::string(op) + " of more than three spatial dimensions is not implemented");
}

BoundNode convolved(const Node& n) {
  return [w = Window(n)](const Operands& x) -> Results { return convolve(w, x[0], x[1], x.maybe(2)); };
}

// The whole result, from which the padding is cut.
Tensor whole_transposed(const Window& w, const Tensor& x, const Tensor& weight) {
  const int d = w.dims(x);
  check_dims("ConvTranspose", d);
  ConvTransposeOptions o;
  o.stride = per(w, d, true), o.dilation = per(w, d, false), o.groups = w.group;
  return d == 1   ? conv_transpose1d(x, weight, {}, o)
         : d == 2 ? conv_transpose2d(x, weight, {}, o)
                  : conv_transpose3d(x, weight, {}, o);
}
BoundNode transposed(const Node& n) {
  return [w = Window(n)](const Operands& x) -> Results {
    Tensor y = whole_transposed(w, x[0], x[1]);
    const int d = y.dim() - 2;
    if (!w.output_shape.empty() && w.output_shape.size() < std::size_t(d))
      throw ShapeError("ConvTranspose: expected an output_shape of all spatial dimensions, got " +
                       shape_from(w.output_shape).str());
    std::vector<Place> cut;
    for (int i = 0; i < d; ++i) {
      const auto at = std::size_t(i);
      const std::int64_t extra = w.output_padding.empty() ? 0 : w.output_padding[at], all = y.size(2 + i) + extra;
      std::int64_t before = w.pads.empty() ? 0 : w.pads[at], after = w.pads.empty() ? 0 : w.pads[at + std::size_t(d)];
      std::int64_t size = -1;
      if (!w.output_shape.empty()) size = w.output_shape[w.output_shape.size() - std::size_t(d) + at];
      else if (w.auto_pad == "SAME_UPPER" || w.auto_pad == "SAME_LOWER") size = x[0].size(2 + i) * w.stride(i);
      if (size >= 0) {
        const std::int64_t total = all - size;
        before = w.auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
        if (total < 0) before = 0;  // what lacks is added after
        after = total - before;
      }
      cut.push_back({-before, extra - after, 0});
    }
    y = padded(y, cut, 0);
    return x.has(2) ? add(y, reshape(x[2],
                                     [&] {
                                       Shape s = Shape::filled(y.dim(), 1);
                                       s[1] = x[2].numel();
                                       return s;
                                     }()))
                    : y;
  };
}

// Every window in dimensions of its own after the others.
Tensor windows(Tensor t, const Window& w, const Shape& kernel) {
  const int d = t.dim() - 2;
  if (t.dim() + d > kMaxRank)
    throw NotImplementedError("pools of more than three spatial dimensions are not implemented");
  for (int i = 0; i < d; ++i) {
    t = neura::unfold(t, 2 + i, (kernel[i] - 1) * w.dilation(i) + 1, w.stride(i));
    if (w.dilation(i) > 1) t = slice(t, t.dim() - 1, 0, INT64_MAX, w.dilation(i));
  }
  return t;
}
Dims last_dims(const Tensor& t) {
  Dims d;
  for (int i = 0; i < t.dim() - 2; ++i) d.push_back(t.dim() + i);
  return d;
}

Tensor mean_pool(const Tensor& t, const Window& w, const Shape& kernel) {  // of what is padded already
  const int d = t.dim() - 2;
  if (d > 3 || !w.dilations.empty()) return mean(windows(t, w, kernel), last_dims(t));
  AvgPoolOptions o;
  o.stride = per(w, d, true);
  return d == 1 ? avg_pool1d(t, kernel, o) : d == 2 ? avg_pool2d(t, kernel, o) : avg_pool3d(t, kernel, o);
}
BoundNode averaged(const Node& n) {
  const bool with_padding = n.flag("count_include_pad");
  return [w = Window(n), with_padding](const Operands& x) -> Results {
    const Tensor t = x[0];
    const Shape kernel = kernel_of("AveragePool", w, t);
    const std::vector<Place> p = places(w, kernel, t);
    const Tensor y = mean_pool(padded(t, p, 0), w, kernel);
    bool uneven = false;
    Shape counted{1, 1};
    std::vector<Place> outside = p;  // of what counts
    for (int i = 0; i < w.dims(t); ++i) {
      Place& o = outside[std::size_t(i)];
      std::int64_t size = t.size(2 + i);
      if (with_padding) {
        const std::int64_t after =
            w.pads.empty() ? (w.auto_pad[0] == 'S' ? o.after : 0) : w.pads[std::size_t(i) + std::size_t(w.dims(t))];
        size += o.before + after, o.after -= after, o.before = 0;
      }
      counted.push_back(size);
      uneven = uneven || o.before > 0 || o.after > 0;
    }
    if (!uneven) return y;
    const Tensor share = mean_pool(padded(ones(counted, {t.dtype(), t.device(), false}), outside, 0), w, kernel);
    return neura::div(y, share);
  };
}

std::array<Tensor, 2> largest(const Tensor& t, const Window& w, const Shape& kernel, const std::vector<Place>& p,
                              bool indices) {
  const int d = t.dim() - 2;
  check_dims("MaxPool", d);
  MaxPoolOptions o;
  o.stride = per(w, d, true), o.dilation = per(w, d, false);
  Shape both;  // the pool pads by itself where both sides are alike
  for (int i = 0; i < d; ++i) {
    const Place& at = p[std::size_t(i)];
    if (!indices && at.before == at.after && at.before >= 0 && 2 * at.before <= kernel[i]) both.push_back(at.before);
  }
  const bool alike = both.size() == d;
  if (alike) o.padding = both;
  const Tensor in = alike ? t : padded(t, p, -std::numeric_limits<double>::infinity());
  if (indices)
    return d == 1   ? max_pool1d_with_indices(in, kernel, o)
           : d == 2 ? max_pool2d_with_indices(in, kernel, o)
                    : max_pool3d_with_indices(in, kernel, o);
  return {d == 1   ? max_pool1d(in, kernel, o)
          : d == 2 ? max_pool2d(in, kernel, o)
                   : max_pool3d(in, kernel, o),
          Tensor()};
}
// Places in the padded planes become places in the whole input.
Tensor unpadded_places(const Tensor& at, const Tensor& t, const std::vector<Place>& p, bool column_major) {
  const int d = t.dim() - 2;
  Tensor rest = at, out = zeros_like(at);
  std::vector<Tensor> place(static_cast<std::size_t>(d));
  for (int i = d; i-- > 0;) {
    const std::int64_t size = t.size(2 + i) + p[std::size_t(i)].before + p[std::size_t(i)].after;
    place[std::size_t(i)] = sub(remainder(rest, size), p[std::size_t(i)].before);
    rest = neura::div(rest, size, div_options{"floor"});
  }
  if (column_major) std::reverse(place.begin(), place.end());
  std::int64_t plane = 1;
  for (int i = 0; i < d; ++i) {
    const std::int64_t size = t.size(2 + (column_major ? d - 1 - i : i));
    out = add(mul(out, size), place[std::size_t(i)]), plane *= size;
  }
  Shape shape = Shape::filled(t.dim(), 1);
  shape[0] = t.size(0), shape[1] = t.size(1);
  return add(out, mul(arange(shape[0] * shape[1], {int64, t.device(), false}).reshape(shape), plane));
}
BoundNode maximal(const Node& n) {
  const bool indices = n.wants(1), column_major = n.flag("storage_order");
  return [w = Window(n), indices, column_major](const Operands& x) -> Results {
    const Shape kernel = kernel_of("MaxPool", w, x[0]);
    const DType dtype = x[0].dtype();
    const Tensor t = is_floating(dtype) ? x[0] : x[0].to(float32);
    const std::vector<Place> p = places(w, kernel, t);
    const auto [y, at] = largest(t, w, kernel, p, indices);
    if (!indices) return y.to(dtype);
    return {Value(y.to(dtype)), Value(unpadded_places(at, t, p, column_major))};
  };
}
BoundNode unpooled(const Node& n) {
  return [w = Window(n)](const Operands& x) -> Results {
    const Tensor t = x[0], at = x[1].to(int64);
    const Shape kernel = kernel_of("MaxUnpool", w, t);
    const int d = kernel.size();
    Shape natural = t.shape();
    for (int i = 0; i < d; ++i) {
      const auto k = std::size_t(i);
      const std::int64_t pads = w.pads.empty() ? 0 : w.pads[k] + w.pads[k + std::size_t(d)];
      natural[2 + i] = (t.size(2 + i) - 1) * w.stride(i) - pads + kernel[i];
    }
    const Shape shape = x.has(2) ? shape_from(x.integers(2)) : natural;
    const Tensor flat = zeros({natural.numel()}, {t.dtype(), t.device(), false});
    Tensor y = reshape(scatter(flat, 0, at.reshape({-1}), t.reshape({-1})), natural);
    if (shape == natural) return y;
    std::vector<std::int64_t> pads;  // after
    for (int i = shape.size(); i-- > 0;) pads.push_back(0), pads.push_back(shape[i] - natural[i]);
    return constant_pad_nd(y, pads);
  };
}

Dims spatial_dims(const Tensor& t) {
  Dims d;
  for (int i = 2; i < t.dim(); ++i) d.push_back(i);
  if (d.empty()) throw ShapeError("pool: expected an input [N, C, ...], got " + t.shape().str());
  return d;
}
Tensor norm_of(const Tensor& t, double p, const Dims& d, bool keep) { return pow(sum(pow(abs(t), p), d, keep), 1 / p); }
BoundNode power_pool(const Node& n) {
  const double p = n.op == "LpPool" || n.op == "GlobalLpPool" ? double(n.integer("p", 2)) : 2;
  return [w = Window(n), p](const Operands& x) -> Results {
    const Tensor t = x[0];
    if (w.kernel.empty()) return norm_of(t, p, spatial_dims(t), true);
    const Shape kernel = kernel_of("LpPool", w, t);
    return norm_of(windows(padded(t, places(w, kernel, t), 0), w, kernel), p, last_dims(t), false);
  };
}

// Every column is a window; where windows overlap, they add up.
BoundNode folded(const Node& n) {
  return [w = Window(n)](const Operands& x) -> Results {
    const Shape image = shape_from(x.integers(1)), block = shape_from(x.integers(2));
    const int d = image.size();
    if (block.size() != d)
      throw ShapeError("Col2Im: expected a size of the block per dimension, got " + block.str() + " for " +
                       image.str());
    for (const Shape* all : {&image, &block})
      for (std::int64_t v : *all)
        if (v < 0 || v > INT32_MAX) refuse("Col2Im", "sizes of 31 bits", std::to_string(v));
    Window own = w;
    own.kernel.clear();
    Shape sizes{1, 1};
    for (std::int64_t s : image) sizes.push_back(s);
    const std::vector<Place> p = places(own, block, Tensor::empty(Spec::dense(DType::boolean, sizes)));
    std::vector<std::int64_t> at{0};  // of every tap of every window, in the padded image
    Shape whole{x[0].size(0), x[0].dim() == 3 ? x[0].size(1) / std::max<std::int64_t>(1, block.numel()) : 0};
    std::vector<Place> cut;
    for (int i = 0; i < d; ++i) {
      whole.push_back(image[i] + p[std::size_t(i)].before + std::max<std::int64_t>(0, p[std::size_t(i)].after));
      cut.push_back({-p[std::size_t(i)].before, image[i] + p[std::size_t(i)].before - whole.back(), 0});
    }
    for (bool windows : {false, true})
      for (int i = 0; i < d; ++i) {
        const std::int64_t count = windows ? p[std::size_t(i)].count : block[i],
                           step = windows ? w.stride(i) : w.dilation(i);
        std::int64_t inner = step;
        for (int k = i + 1; k < d; ++k) inner *= whole[2 + k];
        std::vector<std::int64_t> next;
        for (std::int64_t base : at)
          for (std::int64_t k = 0; k < count; ++k) next.push_back(base + k * inner);
        at.swap(next);
      }
    if (x[0].dim() != 3 || x[0].size(1) * x[0].size(2) != whole[1] * std::int64_t(at.size()))
      throw ShapeError("Col2Im: expected [N, C * block, windows], got " + x[0].shape().str());
    const std::int64_t rows = whole[0] * whole[1], plane = rows ? whole.numel() / rows : 0;
    const Tensor flat = zeros({rows, plane}, {x[0].dtype(), x.device(), false});
    const Tensor y = index_add(flat, 1, integers(at).to(x.device()), reshape(x[0], {rows, std::int64_t(at.size())}));
    return padded(reshape(y, whole), cut, 0);
  };
}

}  // namespace

Tensor convolve(const Window& w, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const int d = w.dims(x);
  check_dims("Conv", d);
  if (weight.dim() != x.dim())
    throw ShapeError("Conv: expected a weight of " + std::to_string(x.dim()) + " dimensions, got " +
                     weight.shape().str());
  const std::vector<Place> p = places(w, spatial(weight), x);
  ConvOptions o;
  o.stride = per(w, d, true), o.dilation = per(w, d, false), o.groups = w.group;
  Shape both;
  for (const Place& at : p)
    if (at.before >= 0 && at.after <= at.before && at.before - at.after < INT32_MAX) both.push_back(at.before);
  // The convolution pads by itself where both sides are alike (what the stride leaves over is not there).
  bool alike = both.size() == d;
  for (int i = 0; alike && i < d; ++i) {
    const Place& at = p[std::size_t(i)];
    const std::int64_t span = (weight.size(2 + i) - 1) * w.dilation(i) + 1;
    alike = (x.size(2 + i) + 2 * at.before - span) / w.stride(i) + 1 == at.count;
  }
  if (alike) o.padding = both;
  const Tensor in = alike ? x : padded(x, p, 0);
  return d == 1 ? conv1d(in, weight, bias, o) : d == 2 ? conv2d(in, weight, bias, o) : conv3d(in, weight, bias, o);
}

std::span<const Operator> window_operators() {
  constexpr Types plain = Types::plain;
  constexpr Folding never = Folding::never;
  static const Operator rows[] = {
      {"Conv", 1, kNewest, convolved, plain, never},
      {"ConvTranspose", 1, kNewest, transposed, plain, never},
      {"AveragePool", 1, kNewest, averaged, plain, never},
      {"MaxPool", 1, kNewest, maximal, plain, never},
      {"LpPool", 2, kNewest, power_pool, plain, never},
      {"GlobalAveragePool", 1, kNewest, AS(mean(x[0], spatial_dims(x[0]), true)), plain, never},
      {"GlobalMaxPool", 1, kNewest, AS(amax(x[0], spatial_dims(x[0]), true)), plain, never},
      {"GlobalLpPool", 2, kNewest, power_pool, plain, never},
      {"MaxUnpool", 9, kNewest, unpooled, plain, never},
      {"Col2Im", 18, kNewest, folded, plain, never},
  };
  return rows;
}

}  // namespace neura::onnx
