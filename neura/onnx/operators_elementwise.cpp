// Arithmetic, comparison, bits: element by element, with broadcasting.
#include "neura/onnx/operators.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/reduce/reduce.h"

namespace neura::onnx {
namespace {

Tensor divided(const Tensor& a, const Tensor& b) {
  return is_integral(a.dtype()) ? neura::div(a, b, div_options{"trunc"}) : neura::div(a, b);
}

// The result has the type of the base, not of the exponent.
Tensor power(const Tensor& a, const Tensor& b) {
  if (a.dtype() == b.dtype()) return pow(a, b);
  if (is_integral(a.dtype()) && is_floating(b.dtype())) return pow(a.to(float64), b.to(float64)).to(a.dtype());
  return pow(a, b.to(a.dtype()));
}

BoundNode modulo(const Node& n) {
  const bool like_c = n.flag("fmod");
  return [like_c](const Operands& x) -> Results { return like_c ? fmod(x[0], x[1]) : remainder(x[0], x[1]); };
}

BoundNode shifted(const Node& n) {
  const std::string direction = n.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") refuse("BitShift", "the direction LEFT or RIGHT", direction);
  const bool left = direction == "LEFT";
  return [left](const Operands& x) -> Results {
    // What is shifted out by the whole width or more leaves nothing behind.
    const Tensor a = x[0], b = x[1];
    const int bits = bits_of(x.type(0));
    const Tensor inside = lt(b, bits), by = where(inside, b, 0);
    if (left) return where(inside, bitwise_left_shift(a, by), 0);
    Tensor shifted = bitwise_right_shift(a, by);
    const bool is_signed =
        x.type(0) == Type::int8 || x.type(0) == Type::int16 || x.type(0) == Type::int32 || x.type(0) == Type::int64;
    if (is_signed) return where(inside, shifted, bitwise_right_shift(a, bits - 1));  // of the sign, all is left
    if (x.type(0) == Type::uint64) {                                                 // the sign bit is a bit
      const Tensor mask = bitwise_not(bitwise_left_shift(neura::full_like(a, -1), sub(64, by)));
      shifted = where(eq(by, 0), a, bitwise_and(shifted, mask));
    }
    return where(inside, shifted, 0);
  };
}

Results equal_of(const Operands& x) {
  if (!x.value(0).text) return eq(x[0], x[1]);
  const Text &a = x.text(0), &b = x.text(1);
  const Shape shape = broadcast_shapes("Equal", a.shape, b.shape);
  const std::vector<std::int64_t> from_a = broadcast_places(a.shape, shape), from_b = broadcast_places(b.shape, shape);
  std::vector<bool> same;
  for (std::size_t i = 0; i < from_a.size(); ++i)
    same.push_back(a.items[std::size_t(from_a[i])] == b.items[std::size_t(from_b[i])]);
  return tensor(same, shape, {DType::boolean, Device(), false});
}

// Before version 7, the second operand was spread only where the node asks for it: its dimensions are the first one's
// from an axis on, at first the last ones.
template <Tensor (*f)(const Tensor&, const Tensor&)> BoundNode spread(const Node& n) {
  const bool asked = n.flag("broadcast"), placed = n.has("axis");
  const std::int64_t axis = n.integer("axis", 0);
  const std::string op = n.op;
  return [=](const Operands& x) -> Results {
    const Tensor a = x[0];
    Tensor b = x[1];
    if (!asked && a.shape() != b.shape())
      throw ShapeError(op + ": expected operands of one shape without broadcast, got " + b.shape().str());
    if (asked && placed && b.dim()) {
      Shape shape = b.shape();
      while (axis_of("broadcast", axis, a.dim()) + shape.size() < a.dim()) shape.push_back(1);
      b = b.reshape(shape);
    }
    return f(a, b);
  };
}
Tensor plus(const Tensor& a, const Tensor& b) { return add(a, b); }
Tensor minus(const Tensor& a, const Tensor& b) { return sub(a, b); }
Tensor times(const Tensor& a, const Tensor& b) { return mul(a, b); }
Tensor both(const Tensor& a, const Tensor& b) { return logical_and(a, b); }
Tensor either(const Tensor& a, const Tensor& b) { return logical_or(a, b); }
Tensor just_one(const Tensor& a, const Tensor& b) { return logical_xor(a, b); }
Tensor alike(const Tensor& a, const Tensor& b) { return eq(a, b); }
Tensor is_less(const Tensor& a, const Tensor& b) { return lt(a, b); }
Tensor is_greater(const Tensor& a, const Tensor& b) { return gt(a, b); }

template <Tensor (*combine)(const Tensor&, const Tensor&)> Results all_of(const Operands& x) {
  Tensor out = x[0];
  for (std::size_t i = 1; i < x.size(); ++i) out = combine(out, x[i]);
  return out;
}
Tensor larger(const Tensor& a, const Tensor& b) { return maximum(a, b); }
Tensor smaller(const Tensor& a, const Tensor& b) { return minimum(a, b); }
Results average(const Operands& x) { return neura::div(all_of<plus>(x)[0].tensor, double(x.size())); }

// Bounds by attributes, then by operands.
BoundNode clipped_by_attributes(const Node& n) {
  const double low = n.real("min", -3.4028234663852886e38), high = n.real("max", 3.4028234663852886e38);
  return [low, high](const Operands& x) -> Results { return clamp(x[0], {low, high}); };
}
Results clipped(const Operands& x) {
  Tensor y = x[0];
  if (x.has(1)) y = maximum(y, x[1]);
  if (x.has(2)) y = minimum(y, x[2]);
  return y;
}

BoundNode infinite(const Node& n) {
  const bool negative = n.flag("detect_negative", true), positive = n.flag("detect_positive", true);
  return [negative, positive](const Operands& x) -> Results {
    Tensor t = x[0];
    if (negative && positive) return isinf(t);
    if (negative) return isneginf(t);
    return positive ? isposinf(t) : zeros_like(t, {DType::boolean, {}, false});
  };
}

}  // namespace

#define ONE(Name, first, f, ...) \
  { Name, first, kNewest, AS(f(x[0])), __VA_ARGS__ }
#define TWO(Name, first, f, ...) \
  { Name, first, kNewest, AS(f(x[0], x[1])), __VA_ARGS__ }

namespace {

constexpr Types plain = Types::plain, same = Types::same, ordered = Types::ordered;
const Operator kRows[] = {
    {"Add", 1, 6, spread<plus>},
    {"Sub", 1, 6, spread<minus>},
    {"Mul", 1, 6, spread<times>},
    {"Div", 1, 6, spread<divided>},
    {"Pow", 1, 6, spread<power>},
    {"And", 1, 6, spread<both>},
    {"Or", 1, 6, spread<either>},
    {"Xor", 1, 6, spread<just_one>},
    {"Equal", 1, 6, spread<alike>},
    {"Less", 1, 6, spread<is_less>},
    {"Greater", 1, 6, spread<is_greater>},
    TWO("Add", 7, add, same),
    TWO("Sub", 7, sub, same),
    TWO("Mul", 7, mul, same),
    TWO("Div", 7, divided, ordered),
    {"Mod", 10, kNewest, modulo, ordered},
    TWO("Pow", 7, power, same),
    {"Max", 6, kNewest, all_of<larger>, ordered},
    {"Min", 6, kNewest, all_of<smaller>, ordered},
    {"Sum", 6, kNewest, all_of<plus>},
    {"Mean", 6, kNewest, average},
    {"Clip", 1, 10, clipped_by_attributes},
    {"Clip", 11, kNewest, clipped, ordered},
    ONE("Abs", 1, abs, ordered),
    ONE("Neg", 1, neg, plain),
    ONE("Sign", 9, sign, ordered),
    ONE("Reciprocal", 1, reciprocal, plain),
    ONE("Ceil", 1, ceil, plain),
    ONE("Floor", 1, floor, plain),
    ONE("Round", 11, neura::round, plain),
    {"Equal", 7, kNewest, equal_of, Types::any},
    TWO("Less", 7, lt, ordered),
    TWO("LessOrEqual", 12, le, ordered),
    TWO("Greater", 7, gt, ordered),
    TWO("GreaterOrEqual", 12, ge, ordered),
    TWO("And", 7, logical_and, plain),
    TWO("Or", 7, logical_or, plain),
    TWO("Xor", 7, logical_xor, plain),
    ONE("Not", 1, logical_not, plain),
    TWO("BitwiseAnd", 18, bitwise_and, same),
    TWO("BitwiseOr", 18, bitwise_or, same),
    TWO("BitwiseXor", 18, bitwise_xor, same),
    ONE("BitwiseNot", 18, bitwise_not, same),
    {"BitShift", 11, kNewest, shifted, same},
    ONE("IsNaN", 9, isnan, Types::any),
    {"IsInf", 10, kNewest, infinite, Types::any},
    {"Where", 9, kNewest, AS(where(x[0], x[1], x[2])), same},
    ONE("Exp", 1, exp, plain),
    ONE("Log", 1, log, plain),
    ONE("Sqrt", 1, sqrt, plain),
    ONE("Erf", 9, erf, plain),
    ONE("Sin", 7, sin, plain),
    ONE("Cos", 7, cos, plain),
    ONE("Tan", 7, tan, plain),
    ONE("Asin", 7, asin, plain),
    ONE("Acos", 7, acos, plain),
    ONE("Atan", 7, atan, plain),
    ONE("Sinh", 9, sinh, plain),
    ONE("Cosh", 9, cosh, plain),
    ONE("Asinh", 9, asinh, plain),
    ONE("Acosh", 9, acosh, plain),
    ONE("Atanh", 9, atanh, plain),
};

}  // namespace

std::span<const Operator> elementwise_operators() { return kRows; }

}  // namespace neura::onnx
