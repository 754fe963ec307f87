// The messages of ONNX as plain structs. visit() of each lists its fields once, by their numbers; reading and writing
// go through that list. Fields that are not listed are skipped.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace neura::onnx {

// Element types, by ONNX's numbers.
enum class Type : std::int32_t {
  undefined,
  float32,
  uint8,
  int8,
  uint16,
  int16,
  int32,
  int64,
  string,
  boolean,
  float16,
  float64,
  uint32,
  uint64,
  complex64,
  complex128,
  bfloat16,
  float8e4m3fn,
  float8e4m3fnuz,
  float8e5m2,
  float8e5m2fnuz,
  uint4,
  int4,
  float4e2m1,
  float8e8m0,
  uint2,
  int2
};

struct EntryProto {  // StringStringEntryProto
  std::string key, value;
  template <class V> void visit(V& v) { v(1, key), v(2, value); }
};

struct TensorProto {
  std::vector<std::int64_t> dims;
  std::int32_t data_type = 0;
  std::vector<float> float_data;
  std::vector<std::int32_t> int32_data;
  std::vector<std::string> string_data;
  std::vector<std::int64_t> int64_data;
  std::string name;
  std::optional<std::string_view> raw_data;  // within the bytes that were read
  std::vector<double> double_data;
  std::vector<std::uint64_t> uint64_data;
  std::string doc_string;
  std::vector<EntryProto> external_data;
  std::int32_t data_location = 0;
  template <class V> void visit(V& v) {
    v(1, dims), v(2, data_type), v(4, float_data), v(5, int32_data), v(6, string_data), v(7, int64_data), v(8, name);
    v(9, raw_data), v(10, double_data), v(11, uint64_data), v(12, doc_string), v(13, external_data);
    v(14, data_location);
  }
};

struct SparseTensorProto {
  TensorProto values, indices;
  std::vector<std::int64_t> dims;
  template <class V> void visit(V& v) { v(1, values), v(2, indices), v(3, dims); }
};

struct DimensionProto {
  std::optional<std::int64_t> dim_value;
  std::optional<std::string> dim_param;
  template <class V> void visit(V& v) { v(1, dim_value), v(2, dim_param); }
};
struct ShapeProto {
  std::vector<DimensionProto> dim;
  template <class V> void visit(V& v) { v(1, dim); }
};
struct TensorTypeProto {
  std::int32_t elem_type = 0;
  std::optional<ShapeProto> shape;
  template <class V> void visit(V& v) { v(1, elem_type), v(2, shape); }
};
struct TypeProto;
struct ElementTypeProto {  // of a sequence or an optional
  std::shared_ptr<TypeProto> elem_type;
  template <class V> void visit(V& v) { v(1, elem_type); }
};
struct TypeProto {
  std::optional<TensorTypeProto> tensor_type;
  std::optional<ElementTypeProto> sequence_type, optional_type;
  template <class V> void visit(V& v) { v(1, tensor_type), v(4, sequence_type), v(9, optional_type); }
};

struct ValueInfoProto {
  std::string name;
  std::optional<TypeProto> type;
  std::string doc_string;
  template <class V> void visit(V& v) { v(1, name), v(2, type), v(3, doc_string); }
};

struct GraphProto;
struct AttributeProto {
  enum class Kind { undefined, real, integer, text, tensor, graph, reals, integers, texts, tensors, graphs };
  std::string name;
  std::optional<float> f;
  std::optional<std::int64_t> i;
  std::optional<std::string> s;
  std::shared_ptr<TensorProto> t;
  std::shared_ptr<GraphProto> g;
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  std::vector<std::string> strings;
  std::vector<TensorProto> tensors;
  std::vector<GraphProto> graphs;
  std::string doc_string;
  std::shared_ptr<TypeProto> tp;
  std::int32_t type = 0;
  std::string ref_attr_name;
  std::shared_ptr<SparseTensorProto> sparse_tensor;
  template <class V> void visit(V& v) {
    v(1, name), v(2, f), v(3, i), v(4, s), v(5, t), v(6, g), v(7, floats), v(8, ints), v(9, strings), v(10, tensors);
    v(11, graphs), v(13, doc_string), v(14, tp), v(20, type), v(21, ref_attr_name), v(22, sparse_tensor);
  }
};

struct NodeProto {
  std::vector<std::string> input, output;
  std::string name, op_type;
  std::vector<AttributeProto> attribute;
  std::string doc_string, domain, overload;
  template <class V> void visit(V& v) {
    v(1, input), v(2, output), v(3, name), v(4, op_type), v(5, attribute), v(6, doc_string), v(7, domain);
    v(8, overload);
  }
};

struct GraphProto {
  std::vector<NodeProto> node;
  std::string name;
  std::vector<TensorProto> initializer;
  std::string doc_string;
  std::vector<ValueInfoProto> input, output, value_info;
  std::vector<SparseTensorProto> sparse_initializer;
  template <class V> void visit(V& v) {
    v(1, node), v(2, name), v(5, initializer), v(10, doc_string), v(11, input), v(12, output), v(13, value_info);
    v(15, sparse_initializer);
  }
};

struct OpsetProto {  // OperatorSetIdProto
  std::string domain;
  std::int64_t version = 0;
  template <class V> void visit(V& v) { v(1, domain), v(2, version); }
};

struct FunctionProto {
  std::string name;
  std::vector<std::string> input, output, attribute;
  std::vector<NodeProto> node;
  std::string doc_string;
  std::vector<OpsetProto> opset_import;
  std::string domain;
  std::vector<AttributeProto> attribute_proto;
  std::vector<ValueInfoProto> value_info;
  std::string overload;
  template <class V> void visit(V& v) {
    v(1, name), v(4, input), v(5, output), v(6, attribute), v(7, node), v(8, doc_string), v(9, opset_import);
    v(10, domain), v(11, attribute_proto), v(12, value_info), v(13, overload);
  }
};

struct ModelProto {
  std::int64_t ir_version = 0;
  std::string producer_name, producer_version, domain;
  std::int64_t model_version = 0;
  std::string doc_string;
  GraphProto graph;
  std::vector<OpsetProto> opset_import;
  std::vector<EntryProto> metadata_props;
  std::vector<FunctionProto> functions;
  template <class V> void visit(V& v) {
    v(1, ir_version), v(2, producer_name), v(3, producer_version), v(4, domain), v(5, model_version);
    v(6, doc_string), v(7, graph), v(8, opset_import), v(14, metadata_props), v(25, functions);
  }
};

// FormatError for bytes that are no model. The result refers to them.
ModelProto read_model(std::string_view bytes);
TensorProto read_tensor(std::string_view bytes);
std::string write(const ModelProto&);
std::string write(const TensorProto&);

}  // namespace neura::onnx
