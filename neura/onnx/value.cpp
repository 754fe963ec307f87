#include "neura/onnx/value.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "neura/onnx/small_float.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"

namespace neura::onnx {
namespace {

struct TypeInfo {
  const char* name;
  int bits;
  int dtype;  // -1: no tensor holds it
  bool foreign;
};
constexpr int none = -1;
constexpr TypeInfo kTypes[] = {
    {"undefined", 0, none, false},
    {"float32", 32, int(DType::float32), false},
    {"uint8", 8, int(DType::uint8), false},
    {"int8", 8, int(DType::int8), false},
    {"uint16", 16, int(DType::int64), true},
    {"int16", 16, int(DType::int16), false},
    {"int32", 32, int(DType::int32), false},
    {"int64", 64, int(DType::int64), false},
    {"string", 0, none, false},
    {"bool", 8, int(DType::boolean), false},
    {"float16", 16, int(DType::float16), false},
    {"float64", 64, int(DType::float64), false},
    {"uint32", 32, int(DType::int64), true},
    {"uint64", 64, int(DType::int64), true},
    {"complex64", 64, int(DType::complex64), false},
    {"complex128", 128, int(DType::complex128), false},
    {"bfloat16", 16, int(DType::bfloat16), false},
    {"float8e4m3fn", 8, int(DType::float32), true},
    {"float8e4m3fnuz", 8, int(DType::float32), true},
    {"float8e5m2", 8, int(DType::float32), true},
    {"float8e5m2fnuz", 8, int(DType::float32), true},
    {"uint4", 4, int(DType::uint8), true},
    {"int4", 4, int(DType::int8), true},
    {"float4e2m1", 4, int(DType::float32), true},
    {"float8e8m0", 8, int(DType::float32), true},
    {"uint2", 2, int(DType::uint8), true},
    {"int2", 2, int(DType::int8), true},
};
const TypeInfo& info_of(Type t) {
  const auto i = std::size_t(t);
  return kTypes[i < std::size(kTypes) ? i : 0];
}
bool is_signed_small(Type t) { return t == Type::int4 || t == Type::int2; }
bool is_small_integer(Type t) { return info_of(t).bits < 8 && info_of(t).bits && t != Type::float4e2m1; }

Tensor host(const Tensor& t, DType dtype) {
  Tensor x = t.detach();
  if (!x.device().is_cpu()) x = x.to(Device());
  return x.to(dtype).contiguous();
}

Tensor rounded(const Tensor& x, Type type, bool saturate) {
  const Tensor in = host(x, DType::float32);
  Tensor out = Tensor::empty(Spec::dense(DType::float32, in.shape()));
  const float* from = in.const_data<float>();
  std::transform(from, from + in.numel(), out.data<float>(), [&](float v) { return round_to(type, v, saturate); });
  return out.to(x.device());
}

// 2^64 as a double does not fit an int64: bits are counted modulo 2^64.
Tensor unsigned_bits(const Tensor& x) {
  const Tensor in = host(x, DType::float64);
  Tensor out = Tensor::empty(Spec::dense(DType::int64, in.shape()));
  const double* from = in.const_data<double>();
  std::transform(from, from + in.numel(), out.data<std::int64_t>(), [](double v) {
    if (!(v >= 0)) return std::int64_t(v > -9.2e18 ? v : 0);
    return v >= 0x1p64 ? std::int64_t(-1) : std::int64_t(std::uint64_t(v));
  });
  return out.to(x.device());
}

Tensor unsigned_reals(const Tensor& x) {
  const Tensor high = bitwise_and(bitwise_right_shift(x, 1), INT64_MAX).to(DType::float64);
  return where(lt(x, 0), add(mul(high, 2.0), bitwise_and(x, 1).to(DType::float64)), x.to(DType::float64));
}

}  // namespace

Type type_of(DType d) {
  for (std::size_t i = 0; i < std::size(kTypes); ++i)
    if (kTypes[i].dtype == int(d) && !kTypes[i].foreign) return Type(i);
  if (d == DType::float8_e4m3) return Type::float8e4m3fn;
  return Type::float8e5m2;
}
DType dtype_for(Type t) {
  check<DTypeError>(info_of(t).dtype != none, [&] {
    return "onnx: expected a tensor of numbers, got elements of type " +
           (t == Type::string ? std::string("string") : std::to_string(int(t))) + "; no dtype holds them";
  });
  return DType(info_of(t).dtype);
}
const char* name(Type t) { return info_of(t).name; }
bool is_foreign(Type t) { return info_of(t).foreign; }
bool is_small_float(Type t) { return is_foreign(t) && info_of(t).dtype == int(DType::float32); }
int bits_of(Type t) { return info_of(t).bits; }

Shape Value::shape() const {
  if (text) return text->shape;
  check<ValueError>(tensor.defined(), [&] { return "onnx: expected a tensor, got " + str(); });
  return tensor.shape();
}
std::string Value::str() const {
  if (text) return "string " + text->shape.str();
  if (sequence) return "a sequence of " + std::to_string(sequence->size());
  if (!tensor) return "nothing";
  return std::string(name(type)) + " " + tensor.shape().str();
}

Value wrapped(const Tensor& x, Type type) {
  if (type == Type::uint16) return {bitwise_and(x, 0xFFFF), type};
  if (type == Type::uint32) return {bitwise_and(x, 0xFFFFFFFF), type};
  if (!is_small_integer(type)) return {x, type};
  const int bits = bits_of(type), all = (1 << bits) - 1;
  if (!is_signed_small(type)) return {bitwise_and(x, all), type};
  const int half = 1 << (bits - 1);
  return {sub(bitwise_xor(bitwise_and(x, all), half), half), type};
}

Value convert(const Value& x, Type to, bool saturate) {
  if (x.type == to) return x;
  Tensor t = x.tensor;
  if (x.type == Type::uint64 && is_floating(dtype_for(to))) t = unsigned_reals(t);
  if (is_small_float(to)) return {rounded(t, to, saturate), to};
  if (to == Type::uint64) return {is_floating(t.dtype()) ? unsigned_bits(t) : t.to(DType::int64), to};
  if (!is_foreign(to)) return {t.to(dtype_for(to)), to};
  const Value wide = wrapped(trunc(t.to(is_floating(t.dtype()) ? t.dtype() : DType::int64)).to(DType::int64), to);
  return {wide.tensor.to(dtype_for(to)), to};
}

std::vector<std::int64_t> integers_of(const Tensor& t) { return host(t, DType::int64).to_vector<std::int64_t>(); }
std::vector<double> reals_of(const Tensor& t) { return host(t, DType::float64).to_vector<double>(); }
Tensor integers(const std::vector<std::int64_t>& values) {
  return tensor(values, TensorOptions{DType::int64, Device(), false});
}
Shape shape_from(const std::vector<std::int64_t>& v) { return Shape(v.data(), v.size()); }

}  // namespace neura::onnx
