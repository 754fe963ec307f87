// Shapes: views, joins, pieces, padding, and tensors made of sizes.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "neura/onnx/operators.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"

namespace neura::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

Text reshaped_text(const Text& t, const Shape& shape) {
  return {infer_size("Reshape", shape, t.shape.numel()), t.items};
}

Value with_shape(const Operands& x, Integers sizes, bool allow_zero) {
  const Shape from = x.value(0).shape();
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] == 0 && !allow_zero) {
      if (int(i) >= from.size()) refuse("Reshape", "a size to keep at place " + std::to_string(i), from.str());
      sizes[i] = from[int(i)];
    }
  if (x.value(0).text) return Value(reshaped_text(x.text(0), shape_from(sizes)));
  return reshape(x[0], shape_from(sizes));
}
BoundNode reshaped(const Node& n) {
  const bool allow_zero = n.flag("allowzero");
  return [allow_zero](const Operands& x) -> Results { return with_shape(x, x.integers(1), allow_zero); };
}
BoundNode reshaped_by_attribute(const Node& n) {
  return [sizes = n.integers("shape")](const Operands& x) -> Results { return with_shape(x, sizes, false); };
}
BoundNode flat(const Node& n) {
  const std::int64_t axis = n.integer("axis", 1);
  return [axis](const Operands& x) -> Results {
    const Tensor t = x[0];
    const int at = axis == t.dim() ? t.dim() : axis_of("Flatten", axis, t.dim());
    std::int64_t rows = 1;
    for (int i = 0; i < at; ++i) rows *= t.size(i);
    std::int64_t columns = 1;
    for (int i = at; i < t.dim(); ++i) columns *= t.size(i);
    return reshape(t, {rows, columns});
  };
}

Tensor without(const Tensor& t, const Integers& axes) {
  Shape shape;
  std::vector<bool> gone(std::size_t(t.dim()), false);
  for (std::int64_t a : axes) {
    const int i = axis_of("Squeeze", a, t.dim());
    if (t.size(i) != 1)
      throw ShapeError("Squeeze: expected size 1 at axis " + std::to_string(a) + ", got " + t.shape().str());
    gone[std::size_t(i)] = true;
  }
  for (int i = 0; i < t.dim(); ++i)
    if (axes.empty() ? t.size(i) != 1 : !gone[std::size_t(i)]) shape.push_back(t.size(i));
  return reshape(t, shape);
}
Tensor with_ones(const Tensor& t, const Integers& axes) {
  const int rank = t.dim() + int(axes.size());
  if (rank > kMaxRank) throw ShapeError("Unsqueeze: expected at most 8 dimensions, got " + std::to_string(rank));
  std::vector<bool> one(std::size_t(rank), false);
  for (std::int64_t a : axes) {
    const auto i = std::size_t(axis_of("Unsqueeze", a, rank));
    if (one[i]) refuse("Unsqueeze", "every axis once", std::to_string(a) + " twice");
    one[i] = true;
  }
  Shape shape;
  for (int i = 0, from = 0; i < rank; ++i) shape.push_back(one[std::size_t(i)] ? 1 : t.size(from++));
  return reshape(t, shape);
}
template <Tensor (*f)(const Tensor&, const Integers&)> BoundNode by_attribute(const Node& n) {
  return [axes = n.integers("axes")](const Operands& x) -> Results { return f(x[0], axes); };
}
template <Tensor (*f)(const Tensor&, const Integers&)> Results by_operand(const Operands& x) {
  return f(x[0], x.has(1) ? x.integers(1) : Integers());
}

BoundNode transposed(const Node& n) {
  return [order = n.integers("perm")](const Operands& x) -> Results {
    const Tensor t = x[0];
    Dims dims(shape_from(order));
    if (order.empty())
      for (int i = t.dim(); i-- > 0;) dims.push_back(i);
    return permute(t, dims);
  };
}
BoundNode joined(const Node& n) {
  const std::int64_t axis = n.integer("axis", 1);
  return [axis](const Operands& x) -> Results {
    const std::vector<Tensor> parts = x.tensors();
    if (parts.empty()) refuse("Concat", "at least one operand", "none");
    const int dim = axis_of("Concat", axis, parts[0].dim());
    for (const Tensor& t : parts)  // torch leaves empty vectors out; ONNX does not
      if (t.dim() != parts[0].dim())
        throw ShapeError("Concat: expected operands of equal rank, got " + t.shape().str());
    return cat(parts, dim);
  };
}

BoundNode divided(const Node& n) {
  const std::int64_t axis = n.integer("axis", 0), outputs = std::int64_t(n.wanted.size());
  const Integers fixed = n.integers("split");
  return [=](const Operands& x) -> Results {
    const Tensor t = x[0];
    const int dim = axis_of("Split", axis, t.dim());
    Integers sizes = x.has(1) ? x.integers(1) : fixed;
    if (sizes.empty()) {
      const std::int64_t size = t.size(dim), piece = (size + outputs - 1) / outputs;
      for (std::int64_t i = 0; i < outputs; ++i) sizes.push_back(std::clamp<std::int64_t>(size - i * piece, 0, piece));
    }
    return split(t, sizes, dim);
  };
}

// What is outside is cut; a negative step walks backwards, and from before the first it starts at the first (in Python,
// that is nothing).
Tensor sliced(Tensor t, const Integers& starts, const Integers& ends, const Integers& axes, const Integers& steps) {
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    refuse("Slice", "starts, ends, axes and steps of equal length", "others");
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const int dim = axis_of("Slice", axes[i], t.dim());
    const std::int64_t size = t.size(dim), step = steps[i];
    if (step == 0 || step == INT64_MIN) refuse("Slice", "steps other than 0", std::to_string(step));
    const auto place = [&](std::int64_t at) {
      if (at < 0) at = at < -size ? -1 : at + size;  // -1: before the first
      return step > 0 ? std::clamp<std::int64_t>(at, 0, size) : std::clamp<std::int64_t>(at, -1, size - 1);
    };
    const std::int64_t end = place(ends[i]),
                       start = step > 0 || !size ? place(starts[i]) : std::max<std::int64_t>(0, place(starts[i]));
    if (step > 0) {
      t = slice(t, dim, start, std::max(start, end), step);
      continue;
    }
    const std::int64_t count = start > end ? (start - end - 1) / -step + 1 : 0;
    const std::int64_t first = count ? start + (count - 1) * step : 0;  // the last one walked to
    t = flip(slice(t, dim, first, count ? start + 1 : 0, -step), dim);
  }
  return t;
}
Integers counted(std::size_t n) {
  Integers v(n);
  std::iota(v.begin(), v.end(), 0);
  return v;
}
BoundNode sliced_by_attributes(const Node& n) {
  const Integers starts = n.integers("starts"), ends = n.integers("ends");
  const Integers axes = n.integers("axes", counted(starts.size()));
  return [=](const Operands& x) -> Results { return sliced(x[0], starts, ends, axes, Integers(starts.size(), 1)); };
}
Results sliced_by_operands(const Operands& x) {
  const Integers starts = x.integers(1);
  return sliced(x[0], starts, x.integers(2), x.has(3) ? x.integers(3) : counted(starts.size()),
                x.has(4) ? x.integers(4) : Integers(starts.size(), 1));
}

Results expanded(const Operands& x) {
  const Tensor t = x[0];
  return expand(t, broadcast_shapes("Expand", t.shape(), shape_from(x.integers(1))));
}
Results tiled(const Operands& x) {
  const Integers repeats = x.integers(1);
  if (std::int64_t(repeats.size()) != x[0].dim())
    refuse("Tile", "one count per dimension", std::to_string(repeats.size()));
  return repeat(x[0], shape_from(repeats));
}

// Where each place of a padded dimension comes from.
std::int64_t source(const std::string& mode, std::int64_t i, std::int64_t n) {
  if (mode == "edge") return std::clamp<std::int64_t>(i, 0, n - 1);
  if (mode == "wrap") return (i % n + n) % n;
  if (n == 1) return 0;
  const std::int64_t period = 2 * (n - 1), at = (i % period + period) % period;  // reflect
  return at < n ? at : period - at;
}
Tensor padded(Tensor t, const std::string& mode, const Integers& pads, Integers axes, Scalar value) {
  for (std::int64_t& a : axes) a = axis_of("Pad", a, t.dim());
  if (pads.size() != 2 * axes.size()) refuse("Pad", "two numbers per axis", std::to_string(pads.size()));
  if (mode == "constant") {
    Integers reversed(std::size_t(2 * t.dim()), 0);  // torch counts from the last dimension
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const auto at = std::size_t(2 * (t.dim() - 1 - axes[i]));
      reversed[at] = pads[i], reversed[at + 1] = pads[i + axes.size()];
    }
    return constant_pad_nd(t, reversed, value);
  }
  if (mode != "edge" && mode != "wrap" && mode != "reflect") refuse("Pad", "a mode of ONNX", mode);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int dim = int(axes[i]);
    std::int64_t before = pads[i], after = pads[i + axes.size()];
    if (before < 0 || after < 0) {
      const std::int64_t from = std::max<std::int64_t>(-before, 0),
                         to = t.size(dim) - std::max<std::int64_t>(-after, 0);
      t = slice(t, dim, from, std::max(from, to));
      before = std::max<std::int64_t>(before, 0), after = std::max<std::int64_t>(after, 0);
    }
    const std::int64_t n = t.size(dim);
    if (!before && !after) continue;
    if (n == 0 || before > (std::int64_t{1} << 40) || after > (std::int64_t{1} << 40))
      refuse("Pad", "something to repeat, and pads below 2^40", t.shape().str());
    Integers from;
    for (std::int64_t k = -before; k < n + after; ++k) from.push_back(source(mode, k, n));
    t = index_select(t, dim, integers(from).to(t.device()));
  }
  return t;
}
BoundNode padded_by_attributes(const Node& n) {
  const std::string mode = n.text("mode", "constant");
  const Integers pads = n.integers("pads");
  const double value = n.real("value", 0);
  return
      [=](const Operands& x) -> Results { return padded(x[0], mode, pads, counted(std::size_t(x[0].dim())), value); };
}
BoundNode padded_by_operands(const Node& n) {
  const std::string mode = n.text("mode", "constant");
  return [mode](const Operands& x) -> Results {
    const Tensor t = x[0];
    Scalar value = is_floating(t.dtype()) ? Scalar(0.0) : Scalar(0);
    if (x.has(2)) value = x[2].item();
    return padded(t, mode, x.integers(1), x.has(3) ? x.integers(3) : counted(std::size_t(t.dim())), value);
  };
}

BoundNode shape_of(const Node& n) {
  const std::int64_t start = n.integer("start", 0), end = n.integer("end", INT64_MAX);
  return [=](const Operands& x) -> Results {
    const Shape shape = x.value(0).shape();
    const auto place = [&](std::int64_t i) {
      return std::clamp<std::int64_t>(i < 0 ? i + shape.size() : i, 0, shape.size());
    };
    Integers sizes;
    for (std::int64_t i = place(start); i < place(end); ++i) sizes.push_back(shape[int(i)]);
    return integers(sizes);
  };
}
Results size_of_all(const Operands& x) { return integers(Integers{x.value(0).shape().numel()}).squeeze(); }

BoundNode constant_of_shape(const Node& n) {
  const Value fill = n.has("value") ? n.tensor("value") : Value(zeros({1}, {float32, Device(), false}));
  if (!fill.tensor || fill.tensor.numel() != 1) refuse("ConstantOfShape", "one number", fill.str());
  return [fill, s = fill.tensor.reshape({}).item()](const Operands& x) -> Results {
    return Value(full(shape_from(x.integers(0)), s, {fill.tensor.dtype(), Device(), false}), fill.type);
  };
}
Results range(const Operands& x) {
  const Tensor start = x[0];
  const TensorOptions o{start.dtype(), Device(), false};
  const DType wide = is_floating(start.dtype()) ? float64 : int64;
  const auto count_of = [&](double from, double to, double by) { return std::max(0.0, std::ceil((to - from) / by)); };
  if (x.real(2) == 0) refuse("Range", "a step other than 0", "0");
  const double count = count_of(x.real(0), x.real(1), x.real(2));
  if (!(count < double(std::int64_t{1} << 40))) refuse("Range", "fewer than 2^40 numbers", std::to_string(count));
  if (wide == int64 && count > 0) return arange(x.integer(0), x.integer(1), x.integer(2), {int64}).to(start.dtype());
  const Tensor places = arange(std::int64_t(count), {wide, Device(), false});
  return add(mul(places, x.real(2)), x.real(0)).to(*o.dtype);
}
BoundNode eye_like(const Node& n) {
  const std::int64_t k = n.integer("k", 0);
  const bool given = n.has("dtype");
  const DType dtype = given ? dtype_for(Type(n.integer("dtype"))) : float32;
  return [=](const Operands& x) -> Results {
    const Tensor t = x[0];
    if (t.dim() != 2) throw ShapeError("EyeLike: expected a matrix, got " + t.shape().str());
    const Tensor rows = arange(t.size(0), {int64, t.device(), false}),
                 columns = arange(t.size(1), {int64, t.device(), false});
    return eq(columns, add(rows.unsqueeze(1), k)).to(given ? dtype : t.dtype());
  };
}
BoundNode triangle(const Node& n) {
  const bool upper = n.flag("upper", true);
  return [upper](const Operands& x) -> Results {
    const std::int64_t k = x.has(1) ? x.integer(1) : 0;
    return upper ? triu(x[0], k) : tril(x[0], k);
  };
}

}  // namespace

std::span<const Operator> shape_operators() {
  constexpr Types any = Types::any, same = Types::same;
  constexpr Folding never = Folding::never, small = Folding::small;
  static const Operator rows[] = {
      {"Identity", 1, kNewest, AS(x.value(0)), any},
      {"Reshape", 1, 4, reshaped_by_attribute, same},
      {"Reshape", 5, kNewest, reshaped, same},
      {"Flatten", 1, kNewest, flat, same},
      {"Squeeze", 1, 12, by_attribute<without>, same},
      {"Squeeze", 13, kNewest, by_operand<without>, same},
      {"Unsqueeze", 1, 12, by_attribute<with_ones>, same},
      {"Unsqueeze", 13, kNewest, by_operand<with_ones>, same},
      {"Transpose", 1, kNewest, transposed, same},
      {"Concat", 4, kNewest, joined, same},
      {"Split", 2, kNewest, divided, same},
      {"Slice", 1, 9, sliced_by_attributes, same},
      {"Slice", 10, kNewest, sliced_by_operands, same},
      {"Expand", 8, kNewest, expanded, same, small},
      {"Tile", 6, kNewest, tiled, same, small},
      {"Pad", 2, 10, padded_by_attributes, same, never},
      {"Pad", 11, kNewest, padded_by_operands, same, never},
      {"Shape", 1, kNewest, shape_of, any},
      {"Size", 1, kNewest, size_of_all, any},
      {"ConstantOfShape", 9, kNewest, constant_of_shape, any, small},
      {"Range", 11, kNewest, range, Types::plain, small},
      {"EyeLike", 9, kNewest, eye_like, Types::plain, small},
      {"Trilu", 14, kNewest, triangle, same},
  };
  return rows;
}

}  // namespace neura::onnx
