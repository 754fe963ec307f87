// From one element type to another.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "neura/onnx/operators.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"

namespace neura::onnx {
namespace {

// The shortest text that gives the number again, as NumPy writes it.
std::string text_of(double x, bool is_float, bool single) {
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x < 0 ? "-INF" : "INF";
  char buffer[40];
  if (!is_float) return std::snprintf(buffer, sizeof buffer, "%.0f", x), buffer;
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(buffer, sizeof buffer, "%.*g", digits, x);
    const double back = std::strtod(buffer, nullptr);
    if (single ? float(back) == float(x) : back == x) break;
  }
  std::string s = buffer;
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  return s;
}

Value to_text(const Value& x) {
  Text t{x.shape(), {}};
  const bool real = is_floating(x.tensor.dtype());
  if (!real) {
    for (std::int64_t v : integers_of(x.tensor)) t.items.push_back(std::to_string(v));
  } else {
    for (double v : reals_of(x.tensor)) t.items.push_back(text_of(v, true, x.tensor.dtype() != float64));
  }
  return Value(std::move(t));
}

Value from_text(const Text& t, Type to, bool saturate) {
  std::vector<double> numbers;
  for (const std::string& s : t.items) {
    char* end = nullptr;
    numbers.push_back(std::strtod(s.c_str(), &end));
    if (end == s.c_str() || *end) refuse("Cast", "numbers as text", "\"" + s + "\"");
  }
  return convert(Value(tensor(numbers, t.shape, {float64, Device(), false})), to, saturate);
}

Value cast_to(const Value& x, Type to, bool saturate) {
  if (to == Type::string) return x.text ? x : to_text(x);
  if (x.text) return from_text(*x.text, to, saturate);
  return convert(x, to, saturate);
}

// To float8e8m0: up to the next power of two, unless the file says down or nearest.
Value scale_of(const Value& x, const std::string& mode, bool saturate) {
  Tensor t = x.tensor.to(float32);
  if (mode == "up" || x.type == Type::float8e8m0) return convert(Value(t), Type::float8e8m0, saturate);
  const Tensor power = exp2(floor(log2(t)));
  const Tensor exact = eq(t, power), half = ge(t, mul(power, 1.5));
  const Tensor y = mode == "down" ? power : where(exact, power, where(half, mul(power, 2), power));
  return convert(Value(y), Type::float8e8m0, saturate);
}

BoundNode cast(const Node& n) {
  const Type to = Type(n.integer("to"));
  const bool saturate = n.flag("saturate", true);
  const std::string mode = n.text("round_mode", "up");
  if (to != Type::string) dtype_for(to);  // refuses at load what there is not
  return [=](const Operands& x) -> Results {
    const Value& v = x.value(0);
    return to == Type::float8e8m0 && !v.text ? scale_of(v, mode, saturate) : cast_to(v, to, saturate);
  };
}
BoundNode cast_like(const Node& n) {
  const bool saturate = n.flag("saturate", true);
  const std::string mode = n.text("round_mode", "up");
  return [=](const Operands& x) -> Results {
    if (x.type(1) == Type::float8e8m0 && !x.value(0).text) return scale_of(x.value(0), mode, saturate);
    return cast_to(x.value(0), x.type(1), saturate);
  };
}

// The same bits as another type of the same width.
BoundNode bit_cast(const Node& n) {
  const Type to = Type(n.integer("to"));
  if (bits_of(to) < 8) throw NotImplementedError("BitCast to types of fewer than 8 bits is not implemented");
  return [to](const Operands& x) -> Results {
    const Value& v = x.value(0);
    const int bits = bits_of(v.type);
    if (bits != bits_of(to)) refuse("BitCast", "a type of " + std::to_string(bits) + " bits", name(to));
    // A tensor proto over the bytes says what bits mean.
    Tensor t = v.tensor.to(Device()).contiguous();
    std::string bytes;
    for (std::int64_t i = 0; i < t.numel(); ++i) {  // of a wider integer, the low bytes
      const auto size = std::size_t(size_of(t.dtype()));
      if (is_small_float(v.type)) throw NotImplementedError("BitCast from float8 is not implemented");
      bytes.append(static_cast<const char*>(t.const_raw_data()) + std::size_t(i) * size, std::size_t(bits / 8));
    }
    TensorProto proto;
    const Shape shape = t.shape();
    proto.dims.assign(shape.begin(), shape.end());
    proto.data_type = int(to), proto.raw_data = bytes;
    return value_of(proto);
  };
}

}  // namespace

std::span<const Operator> cast_operators() {
  static const Operator rows[] = {
      {"Cast", 6, kNewest, cast, Types::any},
      {"CastLike", 15, kNewest, cast_like, Types::any},
      {"BitCast", 26, kNewest, bit_cast, Types::any},
  };
  return rows;
}

}  // namespace neura::onnx
