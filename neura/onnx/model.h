// Models of ONNX files. Running one calls public operations, so that gradients, devices and hooks work as with every
// other module.
//
//   auto model = onnx::load("net.onnx");
//   Tensor y = model->forward({x})[0].tensor;
#pragma once
#include "neura/nn/module.h"
#include "neura/onnx/graph.h"

namespace neura::onnx {

// Tensors of more than 16 elements are its parameters (floating) and buffers (others, and statistics of
// BatchNormalization), under the names of the file, dots and all. BatchNormalization and Dropout obey train().
class Model final : public nn::Module {
 public:
  explicit Model(std::shared_ptr<const CompiledModel> = std::make_shared<const CompiledModel>(CompiledModel{}));

  std::vector<std::string> input_names() const;
  std::vector<std::string> output_names() const;
  const std::vector<ValueInfoProto>& inputs() const { return compiled_->inputs; }
  const std::vector<ValueInfoProto>& outputs() const { return compiled_->outputs; }

  // In the order of input_names(). DTypeError and ShapeError for what the file does not declare.
  Results forward(const Results& inputs);

  // The same compiled model over copies of the tensors (clone() of a module that Python holds asks Python, which asks
  // this).
  Ref<Model> copy() const;

  nn::Value forward_boxed(const nn::Args&) override;
  std::string type_name() const override { return "Model"; }
  Ref<nn::Module> blank() const override;
  std::string extra_repr() const override;

 private:
  std::vector<Tensor> owned() const;
  std::shared_ptr<const CompiledModel> compiled_;
};

// IoError, FormatError for what is no ONNX file, NotImplementedError that lists all operators that are missing; they
// name the file, where there is one. Weights in other files are read from the folder of the model and from
// nowhere else. The model is in evaluation mode.
Ref<Model> load(const std::string& path);
Ref<Model> load_bytes(std::string_view bytes);
// The same of bytes that came from the file `path`, in whose folder weights may be.
Ref<Model> load_bytes(std::string_view bytes, const std::string& path);

}  // namespace neura::onnx
