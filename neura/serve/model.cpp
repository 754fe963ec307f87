#include "neura/serve/model.h"

#include <filesystem>
#include <optional>

#include "neura/autograd/grad_mode.h"
#include "neura/core/file.h"
#include "neura/io/program.h"
#include "neura/onnx/model.h"
#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/random/random.h"
#include "neura/ops/shape/join.h"
#include "neura/serve/datatype.h"

namespace neura::serve {
namespace {

constexpr std::int64_t kSizes[] = {8, 32, 224, 1};  // tried for open sizes after the first

void expect_served(const std::string& file, const Port& p) {
  check<NotImplementedError>(*datatype(p.dtype) != 0, [&] {
    return file + ": expected numbers or bool as \"" + p.name + "\", got " + name(p.dtype) +
           ", which no request carries";
  });
}

class ProgramModel final : public Model {
 public:
  ProgramModel(const std::string& file, Device device) : device_(device) {
    ProgramFile f = load_program(file, {.mmap = false});
    program_ = std::move(f.program);
    const std::vector<Spec> in = program_.input_specs(), out = program_.output_specs();
    for (std::size_t i = 0; i < in.size(); ++i) inputs_.push_back(port(file, f.inputs[i], in[i]));
    for (std::size_t i = 0; i < out.size(); ++i) outputs_.push_back(port(file, f.outputs[i], out[i]));
  }
  const char* platform() const override { return "neura_program"; }

 private:
  Port port(const std::string& file, const std::string& name, const Spec& s) const {
    check<DeviceError>(s.device == device_, [&] {
      return file + ": expected a program of the device " + device_.str() + ", got one of " + s.device.str() +
             "; say --device " + s.device.str();
    });
    const Shape sizes = s.sizes();
    Port p{name, s.dtype, {sizes.begin(), sizes.end()}};
    expect_served(file, p);
    return p;
  }
  bool shared() const override { return program_.updates.empty(); }
  std::vector<Tensor> compute(std::span<const Tensor> inputs) const override { return graph::run(program_, inputs); }

  graph::Program program_;
  Device device_;
};

class OnnxModel final : public Model {
 public:
  OnnxModel(const std::string& file, Device device) : model_(load(file)) {
    if (!device.is_cpu()) model_->to(device);
    for (const onnx::ValueInfoProto& v : model_->inputs()) {
      const auto p = port(v);
      check<NotImplementedError>(p.has_value(), [&] {
        return file + ": expected a tensor of declared sizes as \"" + v.name + "\", got another input";
      });
      inputs_.push_back(*p);
      expect_served(file, *p);
    }
    for (const onnx::ValueInfoProto& v : model_->outputs()) {
      outputs_.push_back(port(v).value_or(Port{v.name, DType::float32, {-1}, false}));
      expect_served(file, outputs_.back());
    }
  }
  const char* platform() const override { return "onnx_neura"; }

 private:
  static Ref<onnx::Model> load(const std::string& file) {
    const std::string bytes = io::read_file(file);
    check<FormatError>(!bytes.empty(), [&] { return file + ": expected an ONNX file, got an empty one"; });
    return onnx::load_bytes(bytes, file);
  }
  static std::optional<Port> port(const onnx::ValueInfoProto& v) {
    if (!v.type || !v.type->tensor_type || !v.type->tensor_type->shape) return {};
    const onnx::Type type = onnx::Type(v.type->tensor_type->elem_type);
    const auto& dims = v.type->tensor_type->shape->dim;
    if (type == onnx::Type::undefined || dims.size() > std::size_t(kMaxRank)) return {};
    check<NotImplementedError>(type != onnx::Type::string && !onnx::is_foreign(type), [&] {
      return "expected a type that Neura has as \"" + v.name + "\", got " + onnx::name(type);
    });
    Port p{v.name, onnx::dtype_for(type), {}};
    for (const onnx::DimensionProto& d : dims) p.dims.push_back(d.dim_value && *d.dim_value >= 0 ? *d.dim_value : -1);
    return p;
  }
  std::vector<Tensor> compute(std::span<const Tensor> inputs) const override {
    std::vector<Tensor> all;
    for (onnx::Value& v : model_->forward(onnx::Results(std::vector<Tensor>(inputs.begin(), inputs.end())))) {
      check<NotImplementedError>(v.tensor.defined() && !onnx::is_foreign(v.type),
                                 [&] { return "expected tensors of types that Neura has as outputs, got " + v.str(); });
      all.push_back(std::move(v.tensor));
    }
    return all;
  }

  Ref<onnx::Model> model_;
};

// Bit for bit what is no floating number; the others within rounding, which may differ with the number of rows.
bool alike(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  const double tolerance = bit(a.dtype()) & dtypes::halves ? 2e-2 : is_floating(a.dtype()) ? 1e-3 : 0;
  return allclose(a.to(DType::float64), b.to(DType::float64),
                  {.rtol = tolerance, .atol = tolerance, .equal_nan = true});
}

}  // namespace

std::vector<Tensor> Model::run(std::span<const Tensor> inputs) const {
  const InferenceMode mode;
  std::unique_lock turn(turn_, std::defer_lock);
  if (!shared()) turn.lock();
  std::vector<Tensor> all = compute(inputs);
  for (Tensor& t : all) {
    t = t.to(Device()).contiguous();
    if (!shared()) t = t.clone();  // it may be memory that the next run writes
  }
  return all;
}

bool Model::open() const {
  for (const Port& p : inputs_)
    for (const std::int64_t d : p.dims)
      if (d < 0) return true;
  return false;
}
bool Model::rows_open() const {
  for (const Port& p : inputs_)
    if (p.dims.empty() || p.dims[0] >= 0) return false;
  return !inputs_.empty();
}

std::vector<Tensor> Model::samples(std::int64_t rows, std::int64_t size, int integer) const {
  const InferenceMode mode;
  std::vector<Tensor> all;
  for (const Port& p : inputs_) {
    Shape shape;
    for (std::size_t i = 0; i < p.dims.size(); ++i) shape.push_back(p.dims[i] >= 0 ? p.dims[i] : i ? size : rows);
    all.push_back(is_floating(p.dtype) ? randn(shape).to(p.dtype) : full(shape, integer, {.dtype = p.dtype}));
  }
  return all;
}

void Model::learn(const std::vector<Tensor>& results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    Port& p = outputs_[i];
    if (p.declared) continue;
    p.dtype = results[i].dtype();
    p.dims.assign(std::size_t(results[i].dim()), -1);
    expect_served("model", p);
  }
}

// Two rows alone, and both together.
bool Model::rows_apart(std::int64_t size) const {
  std::vector<std::vector<Tensor>> given, got;
  for (int i = 0; i < 2; ++i) given.push_back(samples(1, size, i)), got.push_back(run(given.back()));
  const InferenceMode mode;
  std::vector<Tensor> both;
  for (std::size_t i = 0; i < inputs_.size(); ++i) both.push_back(cat({given[0][i], given[1][i]}));
  const std::vector<Tensor> results = run(both);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].dim() == 0 || results[i].size(0) != 2) return false;
    for (int k = 0; k < 2; ++k)
      if (got[std::size_t(k)][i].dim() == 0 || !alike(results[i].narrow(0, k, 1), got[std::size_t(k)][i])) return false;
  }
  return !results.empty();
}

void Model::warm_up() {
  if (!open()) {
    learn(run(samples(1, 1, 0)));
    return;
  }
  std::string why;
  for (const std::int64_t size : kSizes) {
    try {
      learn(run(samples(1, size, 0)));
    } catch (const Error& e) {
      if (why.empty()) why = e.what();
      continue;
    }
    if (!rows_open()) return;
    try {
      batches_ = rows_apart(size);
      if (!batches_) notes_.push_back("rows are not independent, so that requests are not put together");
    } catch (const Error& e) {
      notes_.push_back(std::string("requests are not put together: ") + e.what());
    }
    return;
  }
  notes_.push_back("not warmed up, no sizes that were tried fit: " + why);
}

std::shared_ptr<const Model> load_model(const std::string& file, Device device) {
  const std::string kind = std::filesystem::path(file).extension().string();
  std::shared_ptr<Model> model;
  if (kind == ".neura") model = std::make_shared<ProgramModel>(file, device);
  else if (kind == ".onnx") model = std::make_shared<OnnxModel>(file, device);
  else throw ValueError("expected a file .neura or .onnx, got " + file + "; neura export makes one");
  model->warm_up();
  return model;
}

}  // namespace neura::serve
