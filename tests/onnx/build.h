// Small models, written with the codec.
#pragma once
#include <string>
#include <vector>

#include "neura/onnx/model.h"
#include "neura/ops/create/create.h"

namespace neura::test {

using onnx::AttributeProto;
using onnx::NodeProto;
using Integers = std::vector<std::int64_t>;

inline AttributeProto attribute(const std::string& name, std::int64_t value) {
  AttributeProto a;
  a.name = name, a.i = value, a.type = int(AttributeProto::Kind::integer);
  return a;
}
inline AttributeProto attribute(const std::string& name, double value) {
  AttributeProto a;
  a.name = name, a.f = float(value), a.type = int(AttributeProto::Kind::real);
  return a;
}
inline AttributeProto attribute(const std::string& name, const char* value) {
  AttributeProto a;
  a.name = name, a.s = value, a.type = int(AttributeProto::Kind::text);
  return a;
}
inline AttributeProto attribute(const std::string& name, const Integers& value) {
  AttributeProto a;
  a.name = name, a.ints = value, a.type = int(AttributeProto::Kind::integers);
  return a;
}
inline AttributeProto attribute(const std::string& name, const onnx::GraphProto& value) {
  AttributeProto a;
  a.name = name, a.g = std::make_shared<onnx::GraphProto>(value), a.type = int(AttributeProto::Kind::graph);
  return a;
}

inline NodeProto node(const std::string& op, const std::vector<std::string>& in, const std::vector<std::string>& out,
                      const std::vector<AttributeProto>& attributes = {}) {
  NodeProto n;
  n.op_type = op, n.name = op + "_of_" + out[0], n.input = in, n.output = out, n.attribute = attributes;
  return n;
}

inline onnx::GraphProto graph(const std::vector<NodeProto>& nodes, const std::vector<std::string>& inputs,
                              const std::vector<std::string>& outputs) {
  onnx::GraphProto g;
  g.node = nodes;
  for (const std::string& n : inputs) g.input.emplace_back().name = n;
  for (const std::string& n : outputs) g.output.emplace_back().name = n;
  return g;
}

inline onnx::ModelProto model(const onnx::GraphProto& g, std::int64_t version = 21) {
  onnx::ModelProto m;
  m.ir_version = 8, m.graph = g;
  m.opset_import.emplace_back().version = version;
  return m;
}

// Holds the bytes that an initializer refers to.
struct Initial {
  Tensor kept;
  Initial(onnx::GraphProto& g, const std::string& name, const Tensor& t) : kept(t.contiguous()) {
    g.initializer.push_back(onnx::proto_of(onnx::Value(kept), name));
  }
};

inline Ref<onnx::Model> load(const onnx::ModelProto& m) { return onnx::load_bytes(onnx::write(m)); }

// A model of one node: what it makes of some operands. A tensor that is not defined is an operand without a name.
inline onnx::Results run_node(const std::string& op, const std::vector<Tensor>& operands,
                              const std::vector<AttributeProto>& attributes = {}, std::int64_t version = 21,
                              std::size_t outputs = 1, const std::string& domain = "") {
  std::vector<std::string> in, names, out;
  onnx::Results given;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    in.push_back(operands[i] ? "x" + std::to_string(i) : "");
    if (operands[i]) names.push_back(in.back()), given.push_back(onnx::Value(operands[i]));
  }
  for (std::size_t i = 0; i < outputs; ++i) out.push_back("y" + std::to_string(i));
  NodeProto n = node(op, in, out, attributes);
  n.domain = domain;
  onnx::ModelProto m = model(graph({n}, names, out), version);
  if (!domain.empty()) m.opset_import.push_back({domain, 1});
  return load(m)->forward(given);
}
inline Tensor one(const std::string& op, const std::vector<Tensor>& operands,
                  const std::vector<AttributeProto>& attributes = {}, std::int64_t version = 21) {
  return run_node(op, operands, attributes, version)[0].tensor;
}

}  // namespace neura::test
