#include "neura/onnx/model.h"

#include "neura/onnx/boxes.h"
#include "neura/onnx/external.h"
#include "neura/onnx/located.h"

namespace neura::onnx {
namespace {

void check_input(const ValueInfoProto& declared, const Value& given) {
  if (!declared.type || !declared.type->tensor_type || !given.present()) return;
  const TensorTypeProto& t = *declared.type->tensor_type;
  const auto refused = [&] {
    std::string text = "onnx.Model: expected the input \"" + declared.name + "\" to be " + name(Type(t.elem_type));
    if (t.shape) {
      text += " [";
      for (std::size_t i = 0; i < t.shape->dim.size(); ++i) {
        const DimensionProto& d = t.shape->dim[i];
        text += (i ? ", " : "") + (d.dim_value ? std::to_string(*d.dim_value) : d.dim_param.value_or("?"));
      }
      text += "]";
    }
    return text + ", got " + given.str() + "; convert or reshape it";
  };
  check<DTypeError>(given.type == Type(t.elem_type), refused);
  if (!t.shape) return;
  const Shape shape = given.shape();
  bool fits = std::size_t(shape.size()) == t.shape->dim.size();
  for (int i = 0; fits && i < shape.size(); ++i) {
    const auto& size = t.shape->dim[std::size_t(i)].dim_value;
    fits = size.value_or(-1) < 0 || *size == shape[i];  // some writers say -1 for any size
  }
  check<ShapeError>(fits, refused);
}

std::vector<std::string> names_of(const std::vector<ValueInfoProto>& values) {
  std::vector<std::string> out;
  for (const ValueInfoProto& v : values) out.push_back(v.name);
  return out;
}

}  // namespace

Model::Model(std::shared_ptr<const CompiledModel> compiled) : compiled_(std::move(compiled)) {
  for (const Member& m : compiled_->members)
    if (m.trainable) add_tensor(nn::Member::parameter, m.name, nn::Parameter(m.value.tensor));
    else add_tensor(nn::Member::buffer, m.name, m.value.tensor);
  training = false;
}
Ref<nn::Module> Model::blank() const { return nn::make<Model>(compiled_); }

Ref<Model> Model::copy() const {
  Ref<Model> out = nn::make<Model>(compiled_);
  out->clear_members();
  visit([&](nn::Member& m) {
    const std::string name(m.name);
    if (m.child) out->register_module(name, m.child->clone());
    if (!m.tensor || !*m.tensor) return;
    const Tensor t = m.tensor->detach().clone();
    const bool grad = m.tensor->requires_grad();
    out->add_tensor(m.kind, name, m.kind == nn::Member::parameter ? nn::Parameter(t, grad) : t, m.persistent);
  });
  out->training = training;
  return out;
}

std::vector<std::string> Model::input_names() const { return names_of(compiled_->inputs); }
std::vector<std::string> Model::output_names() const { return names_of(compiled_->outputs); }
std::string Model::extra_repr() const {
  std::string in, out;
  for (const std::string& n : input_names()) in += (in.empty() ? "" : ", ") + n;
  for (const std::string& n : output_names()) out += (out.empty() ? "" : ", ") + n;
  return "(" + in + ") -> (" + out + "), " + std::to_string(compiled_->main->steps.size()) + " nodes";
}

// The members' tensors in the compiled model's order: the program that owns the module may have replaced them.
std::vector<Tensor> Model::owned() const {
  std::vector<Tensor> out(compiled_->members.size());
  std::size_t next = 0;
  visit([&](nn::Member& m) {
    if (!m.tensor) return;
    if (next < out.size() && compiled_->members[next].name == m.name) out[next++] = *m.tensor;
    else
      for (std::size_t i = 0; i < out.size(); ++i)
        if (compiled_->members[i].name == m.name) out[i] = *m.tensor, next = i + 1;
  });
  for (std::size_t i = 0; i < out.size(); ++i)
    check<ValueError>(out[i].defined(), [&] {
      return "onnx.Model: expected the tensor \"" + compiled_->members[i].name + "\", got none; it was removed";
    });
  return out;
}

Results Model::forward(const Results& given) {
  check<ValueError>(given.size() == compiled_->inputs.size(), [&] {
    return "onnx.Model: expected " + std::to_string(compiled_->inputs.size()) + " inputs, got " +
           std::to_string(given.size()) + "; pass them in the order of input_names";
  });
  for (std::size_t i = 0; i < given.size(); ++i) check_input(compiled_->inputs[i], given[i]);
  const std::vector<Tensor> tensors = owned();
  return compiled_->main->run(given, State{training, tensors});
}

nn::Value Model::forward_boxed(const nn::Args& args) { return boxed(forward(unboxed(args, compiled_->inputs))); }

Ref<Model> load(const std::string& path) {
  const io::Source file(path, true);
  check<FormatError>(file.size() > 0,
                     [&] { return "onnx.load: " + path + ": expected an ONNX file, got an empty one"; });
  return load_bytes({reinterpret_cast<const char*>(file.mapping()->data), std::size_t(file.size())}, path);
}
Ref<Model> load_bytes(std::string_view bytes) { return nn::make<Model>(compile(read_model(bytes))); }
Ref<Model> load_bytes(std::string_view bytes, const std::string& path) {
  return of_file(path, [&] {
    ModelProto model = read_model(bytes);
    ExternalData external(path);
    external.attach(model);
    return nn::make<Model>(compile(model));
  });
}

}  // namespace neura::onnx
