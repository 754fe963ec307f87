// Small models in files, and a server over a folder of them.
#pragma once
#include <cstring>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "neura/core/file.h"
#include "neura/graph/trace.h"
#include "neura/io/program.h"
#include "neura/op/pointwise/rows.h"
#include "neura/serve/server.h"
#include "tests/io/folder.h"
#include "tests/onnx/build.h"

namespace neura::test {

inline onnx::ValueInfoProto declared(const std::string& name, onnx::Type type, const std::vector<std::int64_t>& dims) {
  onnx::ValueInfoProto v;
  v.name = name;
  onnx::ShapeProto shape;
  for (const std::int64_t d : dims) {
    onnx::DimensionProto dim;
    if (d >= 0) dim.dim_value = d;
    shape.dim.push_back(dim);
  }
  v.type = onnx::TypeProto{onnx::TensorTypeProto{int(type), shape}, {}, {}};
  return v;
}

// y = OP(x, constant) of x [-1, 4], float32.
inline std::string rows_model(const std::string& op, float constant) {
  onnx::GraphProto g = graph({node(op, {"x", "c"}, {"y"})}, {}, {});
  g.input = {declared("x", onnx::Type::float32, {-1, 4})};
  g.output = {declared("y", onnx::Type::float32, {-1, 4})};
  const Initial c(g, "c", full({1}, constant, {.dtype = DType::float32}));
  return onnx::write(model(g));
}
// One operator on one input of a type.
inline std::string unary_model(const std::string& op, onnx::Type type, const std::vector<std::int64_t>& dims,
                               const std::vector<AttributeProto>& attributes = {}) {
  onnx::GraphProto g = graph({node(op, {"x"}, {"y"}, attributes)}, {}, {});
  g.input = {declared("x", type, dims)};
  g.output = {declared("y", type, dims)};
  return onnx::write(model(g));
}
// y = x * factor of x [2, 3], as a program.
inline void write_program(const std::string& path, float factor) {
  const Tensor x = ones({2, 3});
  const graph::Program p = graph::trace([&](auto in) { return std::vector{mul(in[0], factor)}; }, std::vector{x});
  save_program(path, p, {.inputs = {"x"}, .outputs = {"y"}});
}

class Models : public Folder {  // a folder of models
 public:
  void put(const std::string& name, const std::string& version, const std::string& onnx) const {
    const std::string folder = *this / name + "/" + version;
    std::filesystem::create_directories(folder);
    io::write_file(folder + "/model.onnx", onnx);
  }
};

class Lines {  // of a log
 public:
  void add(const std::string& line) {
    const std::scoped_lock lock(mutex_);
    text_ += line + "\n";
  }
  std::string text() const {
    const std::scoped_lock lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

inline serve::ServerOptions options_of(const Folder& folder, Lines* log = nullptr) {
  serve::ServerOptions o;
  o.models.path = folder.path();
  o.poll_seconds = 0;
  if (log) o.log = [log](const std::string& line) { log->add(line); };
  return o;
}
struct Running : serve::Server {  // on a free port, with its models loaded
  explicit Running(const serve::ServerOptions& o) : Server(o) { start(), wait_ready(); }
};

inline std::string infer_body(const std::vector<float>& rows, const std::string& more = "") {
  std::string data;
  for (const float v : rows) data += (data.empty() ? "" : ",") + std::to_string(v);
  return "{" + more + "\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[" +
         std::to_string(rows.size() / 4) + ",4],\"data\":[" + data + "]}]}";
}
template <class T> std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace neura::test
