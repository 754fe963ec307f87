// What flows between the nodes of a model: a tensor, a text tensor, a sequence, or nothing (an empty optional).
//
// ONNX has element types that Neura has no dtype for. A value carries ONNX's type besides the tensor that holds it:
//   uint16, uint32           int64, the numbers themselves
//   uint64                   int64, the same bits
//   int4, int2; uint4, uint2 int8; uint8
//   float8, float4           float32, numbers that the type has
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "neura/core/tensor.h"
#include "neura/onnx/proto.h"

namespace neura::onnx {

struct Value;
using Sequence = std::vector<Value>;

struct Text {
  Shape shape;
  std::vector<std::string> items;
};

Type type_of(DType);        // DTypeError for what ONNX does not have
DType dtype_for(Type);      // of the tensor that holds it; DTypeError for text and unknown numbers
const char* name(Type);     // "uint16"
bool is_foreign(Type);      // held by a tensor of another dtype, see above
bool is_small_float(Type);  // float8 and float4
int bits_of(Type);          // of one element

struct Value {
  Tensor tensor;
  Type type = Type::undefined;
  std::shared_ptr<const Text> text;
  std::shared_ptr<const Sequence> sequence;
  bool host = false;  // it follows from constants and sizes: a trace need not know that it is read

  Value() = default;
  Value(const Tensor& t) : tensor(t), type(t ? type_of(t.dtype()) : Type::undefined) {}
  Value(const Tensor& t, Type type) : tensor(t), type(type) {}
  explicit Value(Text t) : type(Type::string), text(std::make_shared<const Text>(std::move(t))) {}
  explicit Value(Sequence s) : sequence(std::make_shared<const Sequence>(std::move(s))) {}

  bool present() const { return tensor.defined() || text || sequence; }
  Shape shape() const;      // ValueError for a sequence or nothing
  std::string str() const;  // float32 [2, 3], for messages
};

// The numbers of x as the type has them: integers wrap around, floats are rounded to the nearest (even) one. What is
// too large for a float8 becomes its largest number (saturate), or NaN or infinity.
Value convert(const Value& x, Type, bool saturate = true);
// Integers that left the range of a foreign type come back into it by wrapping around.
Value wrapped(const Tensor&, Type);

// The value of a tensor in a file. FormatError for sizes that do not fit its bytes.
Value value_of(const TensorProto&);
Value value_of(const SparseTensorProto&);
TensorProto proto_of(const Value&, std::string name);  // of a tensor or text; raw_data refers to the value

// Host numbers.
std::vector<std::int64_t> integers_of(const Tensor&);
std::vector<double> reals_of(const Tensor&);
Tensor integers(const std::vector<std::int64_t>& values);  // int64, one dimension
inline Tensor integers(const Shape& s) { return integers(std::vector<std::int64_t>(s.begin(), s.end())); }
Shape shape_from(const std::vector<std::int64_t>&);

}  // namespace neura::onnx
