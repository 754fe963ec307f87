// Tensors of a file become values, and values tensors of a file.
#include <cmath>
#include <cstring>

#include "neura/onnx/small_float.h"
#include "neura/onnx/value.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"

namespace neura::onnx {
namespace {

[[gnu::cold, noreturn]] void wrong(const TensorProto& t, const std::string& what) {
  throw FormatError("onnx.load: expected the tensor \"" + t.name + "\" to " + what + "; the file is damaged");
}

std::int64_t count_of(const TensorProto& t) {
  if (t.dims.size() > std::size_t(kMaxRank))
    wrong(t, "have at most " + std::to_string(kMaxRank) + " dimensions, got " + std::to_string(t.dims.size()));
  std::int64_t n = 1;
  for (std::int64_t d : t.dims)
    if (d < 0 || __builtin_mul_overflow(n, d, &n) || n > INT64_MAX / 16) wrong(t, "have sizes that can be counted");
  return n;
}

// Elements of `bits` from packed bytes, the first in the lowest bits.
std::uint8_t part(std::string_view bytes, std::int64_t i, int bits) {
  const std::int64_t at = i * bits;
  return std::uint8_t(std::uint8_t(bytes[std::size_t(at / 8)]) >> (at % 8)) & std::uint8_t((1 << bits) - 1);
}

// One element that no dtype has, from its bits.
void store_foreign(Type type, std::uint64_t bits, Tensor& out, std::int64_t i) {
  if (is_small_float(type)) out.data<float>()[i] = number_of_bits(type, std::uint8_t(bits));
  else if (type == Type::uint4 || type == Type::uint2) out.data<std::uint8_t>()[i] = std::uint8_t(bits);
  else if (type == Type::int4 || type == Type::int2) {
    const int half = 1 << (bits_of(type) - 1);
    out.data<std::int8_t>()[i] = std::int8_t((int(bits) ^ half) - half);
  } else out.data<std::int64_t>()[i] = std::int64_t(bits);
}

void read_raw(const TensorProto& t, Type type, Tensor& out) {
  const std::string_view raw = *t.raw_data;
  const std::int64_t n = out.numel();
  const auto needed = std::uint64_t((n * bits_of(type) + 7) / 8);
  if (raw.size() != needed) wrong(t, "have " + std::to_string(needed) + " bytes, got " + std::to_string(raw.size()));
  if (!is_foreign(type)) {
    if (needed) std::memcpy(out.raw_data(), raw.data(), needed);
    if (type == Type::boolean)
      for (unsigned char c : raw)
        if (c > 1) wrong(t, "hold 0 or 1 for a bool, got " + std::to_string(int(c)));
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint64_t bits = 0;
    if (bits_of(type) < 8) bits = part(raw, i, bits_of(type));
    else std::memcpy(&bits, raw.data() + i * (bits_of(type) / 8), std::size_t(bits_of(type) / 8));
    store_foreign(type, bits, out, i);
  }
}

template <class T>
void copy_numbers(const TensorProto& t, const std::vector<T>& from, Tensor& out, std::int64_t parts = 1) {
  if (std::int64_t(from.size()) != out.numel() * parts)
    wrong(t, "have " + std::to_string(out.numel() * parts) + " numbers, got " + std::to_string(from.size()));
  if (out.numel()) std::memcpy(out.raw_data(), from.data(), from.size() * sizeof(T));
}

// int32_data holds the bits of everything that is narrower.
void read_narrow(const TensorProto& t, Type type, Tensor& out) {
  const int bits = bits_of(type), per = bits < 8 ? 8 / bits : 1;
  const std::int64_t n = out.numel();
  if (std::int64_t(t.int32_data.size()) != (n + per - 1) / per)
    wrong(t, "have " + std::to_string((n + per - 1) / per) + " numbers, got " + std::to_string(t.int32_data.size()));
  for (std::int64_t i = 0; i < n; ++i) {
    const auto word = std::uint32_t(t.int32_data[std::size_t(i / per)]);
    if (type == Type::boolean && word > 1) wrong(t, "hold 0 or 1 for a bool, got " + std::to_string(word));
    if (!is_foreign(type))
      std::memcpy(static_cast<char*>(out.raw_data()) + i * (bits / 8), &word, std::size_t(bits / 8));
    else
      store_foreign(type, per == 1 ? word & ((1u << bits) - 1) : word >> (i % per * bits) & ((1u << bits) - 1), out, i);
  }
}

void read_unsigned(const TensorProto& t, Tensor& out) {
  if (std::int64_t(t.uint64_data.size()) != out.numel())
    wrong(t, "have " + std::to_string(out.numel()) + " numbers, got " + std::to_string(t.uint64_data.size()));
  for (std::int64_t i = 0; i < out.numel(); ++i)
    out.data<std::int64_t>()[i] = std::int64_t(t.uint64_data[std::size_t(i)]);
}

Value read_text(const TensorProto& t, std::int64_t n) {
  if (std::int64_t(t.string_data.size()) != n)
    wrong(t, "have " + std::to_string(n) + " texts, got " + std::to_string(t.string_data.size()));
  return Value(Text{shape_from(t.dims), t.string_data});
}

// What the fields hold, compared with what the sizes claim before anything is allocated.
std::uint64_t given(const TensorProto& t) {
  if (t.raw_data) return t.raw_data->size() * 8;
  return 8 * std::uint64_t(t.int32_data.size()) + t.float_data.size() + t.int64_data.size() + t.double_data.size() +
         t.uint64_data.size();
}

}  // namespace

Value value_of(const TensorProto& t) {
  const std::int64_t n = count_of(t);
  const Type type = Type(t.data_type);
  if (t.data_location != 0) wrong(t, "lie in the file; external data has to be read first");
  if (type == Type::string) return read_text(t, n);
  if (t.data_type <= 0 || t.data_type > int(Type::int2))
    wrong(t, "have a type of ONNX, got number " + std::to_string(t.data_type));
  if (std::uint64_t(n) > given(t)) wrong(t, "have " + std::to_string(n) + " elements, got fewer");
  Tensor out = Tensor::empty(Spec::dense(dtype_for(type), shape_from(t.dims)));
  if (t.raw_data) read_raw(t, type, out);
  else if (type == Type::float32) copy_numbers(t, t.float_data, out);
  else if (type == Type::complex64) copy_numbers(t, t.float_data, out, 2);
  else if (type == Type::float64) copy_numbers(t, t.double_data, out);
  else if (type == Type::complex128) copy_numbers(t, t.double_data, out, 2);
  else if (type == Type::int64) copy_numbers(t, t.int64_data, out);
  else if (type == Type::int32) copy_numbers(t, t.int32_data, out);
  else if (type == Type::uint32 || type == Type::uint64) read_unsigned(t, out);
  else read_narrow(t, type, out);
  return {out, type};
}

Value value_of(const SparseTensorProto& s) {
  const Value values = value_of(s.values), places = value_of(s.indices);
  check<FormatError>(values.tensor && values.tensor.dim() == 1 && places.type == Type::int64, [] {
    return "onnx.load: expected a sparse tensor of values [n] and indices, got another; the file is damaged";
  });
  TensorProto dense;
  dense.name = s.values.name, dense.dims = s.dims;
  const std::int64_t n = count_of(dense);
  check<FormatError>(n <= std::int64_t{1} << 31, [&] {
    return "onnx.load: expected a sparse tensor of at most 2^31 elements, got " + std::to_string(n);
  });
  Tensor at = places.tensor;
  if (at.dim() == 2) {  // coordinates
    const Shape strides = calculate_strides(shape_from(s.dims));
    check<FormatError>(at.size(1) == strides.size(), [] {
      return "onnx.load: expected one coordinate per dimension of a sparse tensor; the file is damaged";
    });
    at = sum(mul(at, integers(strides)), 1);
  }
  const Tensor flat = put(zeros({n}, {values.tensor.dtype(), Device(), false}), at, values.tensor);
  return {reshape(flat, shape_from(s.dims)), values.type};
}

TensorProto proto_of(const Value& v, std::string name) {
  TensorProto t;
  t.name = std::move(name), t.data_type = int(v.type);
  const Shape shape = v.shape();
  t.dims.assign(shape.begin(), shape.end());
  if (v.text) return t.string_data = v.text->items, t;
  check<NotImplementedError>(!is_foreign(v.type), [&] {
    return std::string("onnx: expected a type that Neura has as a dtype, got ") + onnx::name(v.type);
  });
  check<ValueError>(v.tensor.is_contiguous() && v.tensor.device().is_cpu(), [] {
    return "onnx: expected a contiguous tensor on the cpu; call contiguous() or to(\"cpu\") first";
  });
  t.raw_data = std::string_view(static_cast<const char*>(v.tensor.const_raw_data()), v.tensor.nbytes());
  return t;
}

}  // namespace neura::onnx
