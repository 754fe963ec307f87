// A graph of a file while it is written: nodes, tensors and names. It knows ONNX and no programs.
#pragma once
#include <set>
#include <unordered_map>

#include "neura/onnx/value.h"

namespace neura::onnx {

using Names = std::vector<std::string>;

AttributeProto attribute(const char* name, std::int64_t);
AttributeProto attribute(const char* name, double);
AttributeProto attribute(const char* name, const char* text);
AttributeProto attribute(const char* name, const std::vector<std::int64_t>&);
using AttributeList = std::vector<AttributeProto>;

class GraphWriter {
 public:
  explicit GraphWriter(std::int64_t opset) : opset(opset) {}

  const std::int64_t opset;
  std::string module;  // path of the one that is written; names begin with it
  GraphProto graph;
  std::vector<Tensor> kept;  // what tensors of the graph refer to

  // A node; equal ones are written once. `label`: what its results are called, after the module.
  Names add_many(const char* op, const Names& in, const AttributeList&, std::size_t outputs,
                 const std::string& label = "");
  std::string add(const char* op, const Names& in, const AttributeList& a = {}) { return add_many(op, in, a, 1)[0]; }
  std::string cast(const std::string& x, DType from, DType to);

  // Tensors of the graph. Small equal ones are written once.
  std::string constant(const Tensor&);
  std::string number(Scalar, DType);
  std::string integers(const std::vector<std::int64_t>& values) { return constant(onnx::integers(values)); }
  void initializer(const std::string& name, const Tensor&);

  // Parts, joins and other sizes, all of fixed sizes. What puts parts together again is what they are parts of, so that
  // a model that is written, read and written again stays as it is.
  std::string slice(const std::string& x, std::int64_t dim, std::int64_t start, std::int64_t end, std::int64_t size);
  std::string concat(const Names& parts, std::int64_t dim, const std::vector<std::int64_t>& sizes);
  std::string reshape(const std::string& x, const std::vector<std::int64_t>& from, const std::vector<std::int64_t>& to);

  std::string unique(const std::string& wanted);
  // Drops what no output needs, and counts names again, but those that are fixed: inputs, outputs, tensors of the
  // model.
  void finish(const std::set<std::string>& fixed);
  void reserve(const std::string& name) { used_[name]; }

 private:
  struct Part {
    std::string of;
    std::int64_t dim, start, end, size;  // size: of the whole
  };
  struct Join {
    Names parts;
    std::int64_t dim;
    std::vector<std::int64_t> sizes;
  };
  void drop_unread();
  std::unordered_map<std::string, Part> parts_;
  std::unordered_map<std::string, Join> joins_;
  std::unordered_map<std::string, std::pair<std::string, std::vector<std::int64_t>>> reshaped_;
  std::unordered_map<std::string, std::string> wanted_;   // what names were asked for
  std::unordered_map<std::string, int> used_;             // names, and how often one was wanted again
  std::unordered_map<std::string, Names> nodes_;          // by their text
  std::unordered_map<std::string, std::string> tensors_;  // by their bytes
};

}  // namespace neura::onnx
