// Models of ONNX files. Compiled where the build has the part ONNX.
#include "neura/capi/model.h"
#include "neura/onnx/model.h"
#include "neura/ops/create/copy.h"

namespace neura::capi {
namespace {

class OnnxRunner final : public Runner {
 public:
  explicit OnnxRunner(Ref<onnx::Model> m) : model_(std::move(m)) {}
  std::vector<Tensor> run(std::span<const Tensor> inputs) override {
    std::vector<Tensor> all;
    for (onnx::Value& v : model_->forward(onnx::Results(inputs.begin(), inputs.end()))) {
      check<NotImplementedError>(v.tensor.defined() && !onnx::is_foreign(v.type), [&] {
        return "neura_run: expected tensors of Neura's dtypes as outputs, got " + v.str();
      });
      all.push_back(std::move(v.tensor));
    }
    return all;
  }

 private:
  Ref<onnx::Model> model_;
};

class OnnxModel final : public Model {
 public:
  OnnxModel(Ref<onnx::Model> m, const std::string& name, Device d) : model_(std::move(m)) {
    if (!d.is_cpu()) model_->to(d);
    for (const onnx::ValueInfoProto& v : model_->inputs()) {
      inputs.push_back(port(v, name)), inputs.back().device = d;
      check<NotImplementedError>(inputs.back().declared, [&] {
        return name + ": expected a tensor of declared sizes as \"" + v.name + "\", got another input";
      });
    }
    for (const onnx::ValueInfoProto& v : model_->outputs()) outputs.push_back(port(v, name));
  }
  std::unique_ptr<Runner> runner() const override { return std::make_unique<OnnxRunner>(model_); }

 private:
  static Port port(const onnx::ValueInfoProto& v, const std::string& name) {
    Port p{v.name, DType::float32, {}, false};
    if (!v.type || !v.type->tensor_type || !v.type->tensor_type->shape) return p;
    const onnx::Type type = onnx::Type(v.type->tensor_type->elem_type);
    const auto& dims = v.type->tensor_type->shape->dim;
    if (type == onnx::Type::undefined || dims.size() > std::size_t(kMaxRank)) return p;
    check<NotImplementedError>(type != onnx::Type::string && !onnx::is_foreign(type), [&] {
      return name + ": expected a type that Neura has as \"" + v.name + "\", got " + onnx::name(type);
    });
    p.dtype = onnx::dtype_for(type), p.declared = true;
    for (const onnx::DimensionProto& d : dims) p.sizes.push_back(d.dim_value && *d.dim_value >= 0 ? *d.dim_value : -1);
    return p;
  }
  Ref<onnx::Model> model_;
};

}  // namespace

std::shared_ptr<const Model> open_onnx(std::string_view bytes, const std::string& path, const Opening& o) {
  const std::string name = path.empty() ? "bytes" : path;
  check<FormatError>(!bytes.empty(), [&] { return name + ": expected an ONNX file, got an empty one"; });
  Ref<onnx::Model> model = path.empty() ? onnx::load_bytes(bytes) : onnx::load_bytes(bytes, path);
  return std::make_shared<OnnxModel>(std::move(model), name, o.device.empty() ? Device() : Device(o.device));
}

}  // namespace neura::capi
