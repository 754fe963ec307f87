// Numbers of few bits with a scale and a zero point.
#include <cmath>

#include "neura/onnx/quantised.h"
#include "neura/onnx/window.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/quant/int8_product.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"

namespace neura::onnx {

Tensor integer_product(const Tensor& a, const Tensor& b) {
  return neura::round(matmul(a.to(float64), b.to(float64))).to(int64);
}

Tensor along_axis(const Tensor& parameter, std::int64_t axis, int rank) {
  if (parameter.numel() == 1) return reshape(parameter, {});
  if (parameter.dim() != 1) return parameter;
  Shape shape = Shape::filled(rank, 1);
  shape[axis_of("quantisation", axis, rank)] = parameter.numel();
  return reshape(parameter, shape);
}

Tensor without_zero_point(const Operands& x, std::size_t i, std::size_t zero, int axis) {
  Tensor t = x[i].to(float64);
  if (!x.has(zero)) return t;
  const Tensor z = x[zero].to(float64);
  return sub(t, z.dim() == 1 && t.dim() > 1 ? along_axis(z, axis, t.dim()) : z);
}

Tensor product_without_zero_points(const Operands& x, std::size_t a, std::size_t a_zero, std::size_t b,
                                   std::size_t b_zero) {
  const auto is_bytes = [](const Tensor& t) { return t.dim() >= 2 && (t.dtype() == int8 || t.dtype() == uint8); };
  const Tensor &left = x[a], &right = x[b];
  if (!is_bytes(left) || !is_bytes(right))
    return integer_product(without_zero_point(x, a, a_zero, -2), without_zero_point(x, b, b_zero, -1));
  // (a - z) (b - w) = a b - z (sums of b's columns) - (sums of a's rows) w + k z w
  const auto zero = [&](std::size_t i, int axis, int rank) {
    const Tensor z = x[i].to(int32);
    return z.dim() == 1 ? along_axis(z, axis, rank) : z;
  };
  Tensor y = integer_matmul(left, right), z, w;
  if (x.has(a_zero)) z = zero(a_zero, -2, left.dim()), y = sub(y, mul(z, sum(right, {-2}, true).to(int32)));
  if (x.has(b_zero)) w = zero(b_zero, -1, right.dim()), y = sub(y, mul(sum(left, {-1}, true).to(int32), w));
  if (z && w) y = add(y, mul(mul(z, w), Scalar(left.size(-1))));
  return y;
}

std::pair<double, double> range_of(Type t) {
  const int bits = bits_of(t);
  const bool is_signed = t == Type::int8 || t == Type::int16 || t == Type::int32 || t == Type::int4 || t == Type::int2;
  if (is_signed) return {-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1};
  return {0, std::ldexp(1.0, bits) - 1};
}

Value quantised(const Tensor& y, const Tensor& scale, const Tensor& zero_point, Type to, bool saturate) {
  if (is_small_float(to)) return convert(Value(neura::div(y, scale).to(float32)), to, saturate);
  Tensor q = neura::round(neura::div(y, scale));
  if (zero_point) q = add(q, zero_point.to(q.dtype()));
  const auto [low, high] = range_of(to);
  return {clamp(q, {low, high}).to(dtype_for(to)), to};
}

namespace {

// Scales of blocks along an axis, one for each place.
Tensor blocks(const Tensor& parameter, std::int64_t axis, std::int64_t block, const Tensor& x) {
  const int dim = axis_of("quantisation", axis, x.dim());
  return narrow(repeat_interleave(parameter, block, dim), dim, 0, x.size(dim));
}
Tensor spread(const Tensor& parameter, std::int64_t axis, std::int64_t block, const Tensor& x) {
  return block ? blocks(parameter, axis, block, x) : along_axis(parameter, axis, x.dim());
}
Tensor wide(const Tensor& t) { return t.dtype() == float64 ? t : t.to(float32); }

BoundNode quantise(const Node& n) {
  const std::int64_t axis = n.integer("axis", 1), block = n.integer("block_size", 0);
  const Type asked = Type(n.integer("output_dtype", 0));
  const bool saturate = n.flag("saturate", true);
  return [=](const Operands& x) -> Results {
    const Tensor t = x[0];
    const Type to = x.has(2) ? x.type(2) : asked != Type::undefined ? asked : Type::uint8;
    const Tensor zero = x.has(2) && !is_small_float(to) ? spread(wide(x[2]), axis, block, t) : Tensor();
    const Tensor scale = x[1];
    // Halves divide as halves: the quotient is rounded to what the scale's type has.
    const Tensor q = neura::div(t.to(scale.dtype()), spread(scale, axis, block, t));
    return quantised(wide(q), ones({}, {float32, t.device(), false}), zero, to, saturate);
  };
}
BoundNode dequantise(const Node& n) {
  const std::int64_t axis = n.integer("axis", 1), block = n.integer("block_size", 0);
  const Type asked = Type(n.integer("output_dtype", 0));
  return [=](const Operands& x) -> Results {
    const Tensor t = x[0], scale = x[1];
    Tensor y = wide(t);
    if (x.has(2)) y = sub(y, spread(wide(x[2]), axis, block, t));
    y = mul(y, spread(wide(scale), axis, block, t));
    return y.to(asked == Type::undefined ? scale.dtype() : dtype_for(asked));
  };
}
// To uint8 by the range of the values, which is made to hold 0.
Results quantise_by_range(const Operands& x) {
  const Tensor t = x[0], zero = zeros({}, {float32, t.device(), false});
  const Tensor low = minimum(amin(t), zero), high = maximum(amax(t), zero);
  Tensor scale = neura::div(sub(high, low), 255.0);
  const Tensor safe = where(eq(scale, 0), ones_like(scale), scale);
  const Tensor point = clamp(neura::round(neura::div(neg(low), safe)), {0.0, 255.0});
  return {quantised(t, safe, point, Type::uint8), Value(scale), Value(point.to(uint8))};
}

// a, its scale and zero point, b with its own, and those of the result.
Results product(const Operands& x) {
  const Tensor sums = product_without_zero_points(x, 0, 2, 3, 5).to(float64);
  const Tensor scale_a = x[1].to(float64), scale_b = x[4].to(float64);
  Tensor y = mul(sums, scale_a.numel() == 1 ? reshape(scale_a, {}) : along_axis(scale_a, -2, x[0].dim()));
  y = mul(y, along_axis(scale_b, -1, y.dim()));
  return quantised(y, x[6].to(float64), x[7], x.type(7));
}
BoundNode convolution(const Node& n) {
  return [w = Window(n)](const Operands& x) -> Results {
    const Tensor a = without_zero_point(x, 0, 2, 1), b = without_zero_point(x, 3, 5, 0);
    Tensor y = convolve(w, a, b, {});
    if (x.has(8)) y = add(y, along_axis(x[8].to(float64), 1, y.dim()));
    y = mul(mul(y, x[1].to(float64)), along_axis(x[4].to(float64), 1, y.dim()));
    return quantised(y, x[6].to(float64), x[7], x.type(7));
  };
}
BoundNode integer_convolution(const Node& n) {
  return [w = Window(n)](const Operands& x) -> Results {
    return neura::round(convolve(w, without_zero_point(x, 0, 2, 1), without_zero_point(x, 1, 3, 0), {})).to(int32);
  };
}
// Sum and concatenation of quantised tensors (com.microsoft).
Results added(const Operands& x) {
  const Tensor a = mul(without_zero_point(x, 0, 2, 1), x[1].to(float64));
  const Tensor b = mul(without_zero_point(x, 3, 5, 1), x[4].to(float64));
  return quantised(add(a, b), x[6].to(float64), x.maybe(7), x.type(0));
}

}  // namespace

std::span<const Operator> quantised_operators() {
  constexpr Types any = Types::any, plain = Types::plain;
  static const Operator rows[] = {
      {"QuantizeLinear", 10, kNewest, quantise, any},
      {"DequantizeLinear", 10, kNewest, dequantise, any},
      {"DynamicQuantizeLinear", 11, kNewest, quantise_by_range},
      {"QLinearMatMul", 10, kNewest, product, any},
      {"QLinearConv", 10, kNewest, convolution, plain, Folding::never},
      {"ConvInteger", 10, kNewest, integer_convolution, plain, Folding::never},
      {"QLinearAdd", 1, kNewest, added, plain, Folding::allowed, "com.microsoft"},
      {"QuantizeLinear", 1, kNewest, quantise, any, Folding::allowed, "com.microsoft"},
      {"DequantizeLinear", 1, kNewest, dequantise, any, Folding::allowed, "com.microsoft"},
  };
  return rows;
}

}  // namespace neura::onnx
