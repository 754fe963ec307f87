// neura run, bench and export: a model of an ONNX file, or the network of a run.
#include "cli/model.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/ports.h"
#include "cli/program.h"
#include "cli/task.h"
#include "neura/autograd/grad_mode.h"
#include "neura/io/program.h"
#include "neura/onnx/export.h"
#include "neura/ops/create/create.h"

namespace neura::cli {
namespace {

Ref<onnx::Model> load_model(const std::string& file, const std::string& device) {
  check<ValueError>(std::filesystem::path(file).extension() == ".onnx",
                    [&] { return "expected a file .onnx, got " + file + "; neura export makes one of a run"; });
  Ref<onnx::Model> model = onnx::load(file);
  if (Device(device) != Device()) model->to(Device(device));
  return model;
}

onnx::Results on_device(const std::vector<Tensor>& tensors, Device device) {
  onnx::Results values;
  for (const Tensor& t : tensors) values.push_back(onnx::Value(t.to(device)));
  return values;
}

void write_results(const onnx::Model& model, const onnx::Results& results, const std::string& to) {
  std::vector<Output> outputs;
  for (std::size_t i = 0; i < results.size(); ++i)
    outputs.push_back({model.output_names()[i], results[i].str(), results[i].tensor});
  write_outputs(outputs, to);
}

std::int64_t size_of_name(const char* command, const std::vector<std::string>& sizes, const std::string& name) {
  for (const std::string& text : sizes) {
    const auto [key, value] = parted(text);
    const bool number =
        !value.empty() && value.size() < 10 && value.find_first_not_of("0123456789") == std::string::npos;
    check<ValueError>(number && !key.empty(),
                      [&] { return std::string(command) + ": expected --size NAME=NUMBER, got " + text; });
    if (key == name) return std::stoll(value);
  }
  return 1;
}
Tensor example(const char* command, const onnx::ValueInfoProto& v, const std::vector<std::string>& sizes) {
  check<ValueError>(v.type && v.type->tensor_type && v.type->tensor_type->shape, [&] {
    return std::string(command) + ": expected an input with sizes, got \"" + v.name + "\"" +
           (std::string(command) == "bench" ? "; pass it by --input " + v.name + "=FILE.npy" : "");
  });
  Shape shape;
  for (const onnx::DimensionProto& d : v.type->tensor_type->shape->dim)
    shape.push_back(d.dim_value && *d.dim_value > 0 ? *d.dim_value
                                                    : size_of_name(command, sizes, d.dim_param.value_or("")));
  const DType dtype = onnx::dtype_for(onnx::Type(v.type->tensor_type->elem_type));
  return sample(shape, dtype);
}
// As many of what the network takes.
Tensor items(const Tensor& some, std::int64_t count) {
  Shape shape = some.shape();
  shape[0] = count;
  return zeros(shape, {.dtype = some.dtype()});
}

// With _ for what stands between words in the signature of a program, and different ones.
std::vector<std::string> for_program(std::vector<std::string> names) {
  std::set<std::string> taken;
  for (std::string& name : names) {
    for (char& c : name)
      if (c == ' ' || c == '<' || c == ':' || c == '\n' || c == '\r') c = '_';
    const std::string plain = name;
    for (int i = 2; !taken.insert(name).second; ++i) name = plain + "_" + std::to_string(i);
  }
  return names;
}

std::vector<graph::Named> names_of(const nn::Module& m) {
  std::vector<graph::Named> names;
  for (const auto& [name, tensor] : m.named_parameters()) names.push_back({name, tensor});
  for (const auto& [name, tensor] : m.named_buffers()) names.push_back({name, tensor});
  return names;
}

}  // namespace

int run_model(const RunOptions& o) {
  if (is_program(o.model)) return run_program(o);
  const NoGrad off;
  Status status;
  status.say("reading " + o.model);
  const Ref<onnx::Model> model = load_model(o.model, o.device);
  const std::vector<Tensor> tensors = read_inputs(model->input_names(), o.inputs);
  check_given(model->input_names(), tensors);
  const onnx::Results inputs = on_device(tensors, Device(o.device));
  status.say("running");
  const onnx::Results results = model->forward(inputs);
  status.say("");
  write_results(*model, results, o.output);
  return kDone;
}

int bench_model(const BenchOptions& o) {
  if (is_program(o.model)) return bench_program(o);
  const NoGrad off;
  Status status;
  status.say("reading " + o.model);
  const Clock::time_point start = Clock::now();
  const Ref<onnx::Model> model = load_model(o.model, o.device);
  const double load = since(start);
  std::vector<Tensor> tensors = read_inputs(model->input_names(), o.inputs);
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (!tensors[i]) tensors[i] = example("bench", model->inputs()[i], o.sizes);
  const onnx::Results inputs = on_device(tensors, Device(o.device));
  std::vector<std::pair<std::string, std::string>> shown;
  for (std::size_t i = 0; i < inputs.size(); ++i) shown.push_back({model->input_names()[i], inputs[i].str()});
  measure(o.runs, load, shown, [&] {
    std::vector<Tensor> results;
    for (const onnx::Value& v : model->forward(inputs)) results.push_back(v.tensor);
    return results;
  });
  return kDone;
}

OnnxFunction::OnnxFunction(const char* command, const std::string& file, const std::vector<std::string>& sizes)
    : model(onnx::load(file)) {
  for (const onnx::ValueInfoProto& v : model->inputs()) inputs.push_back(example(command, v, sizes));
  f = [m = model](std::span<const Tensor> in) {
    std::vector<Tensor> out;
    for (const onnx::Value& v : m->forward(onnx::Results(std::vector<Tensor>(in.begin(), in.end()))))
      out.push_back(v.tensor);
    return out;
  };
  names = names_of(*model);
  input_names = for_program(model->input_names()), output_names = for_program(model->output_names());
}

// An ONNX file is written again, for another version of the operators' set; a run's network as a model of one input and
// one output, for any number of items.
int export_model(const ExportOptions& o) {
  onnx::ExportOptions to;
  if (o.opset) to.opset_version = o.opset;
  to.weights = o.weights == "inside"        ? onnx::Weights::inside
               : o.weights == "data"        ? onnx::Weights::data
               : o.weights == "safetensors" ? onnx::Weights::safetensors
                                            : onnx::Weights::automatic;
  Status status;
  status.say("reading " + o.model);
  std::vector<Tensor> inputs;
  std::vector<graph::Named> names;
  graph::Function f;
  Metadata metadata;  // of a program
  std::optional<LoadedRun> run;
  if (std::filesystem::path(o.model).extension() == ".onnx") {
    const OnnxFunction traced("export", o.model, {});
    inputs = traced.inputs, names = traced.names, f = traced.f;
    const bool program = is_program(o.output);
    to.input_names = program ? traced.input_names : traced.model->input_names();
    to.output_names = program ? traced.output_names : traced.model->output_names();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto& dims = traced.model->inputs()[i].type->tensor_type->shape->dim;
      for (std::size_t d = 0; d < dims.size(); ++d)
        if (!dims[d].dim_value) {
          const std::string name = dims[d].dim_param.value_or("");
          to.dynamic.push_back({int(i), int(d), name.empty() ? to.input_names[i] + "_" + std::to_string(d) : name});
        }
    }
  } else {
    run.emplace(o.model, "cpu");
    inputs = {items(run->task->input(), is_program(o.output) ? o.batch : 2)};
    if (!run->task->classes().empty()) metadata["classes"] = nlohmann::json(run->task->classes()).dump();
    to.input_names = {"input"}, to.output_names = {"output"}, to.dynamic = {{0, 0, "batch"}};
    f = [&](std::span<const Tensor> in) { return std::vector<Tensor>{(*run->model)(in[0])}; };
    names = names_of(*run->model);
  }
  status.say("writing " + o.output);
  if (is_program(o.output)) {
    const NoGrad off;
    save_program(o.output, graph::trace(f, inputs, names), {to.input_names, to.output_names, metadata});
    status.say("");
    std::printf("written: %s\n", o.output.c_str());
    return kDone;
  }
  onnx::export_function(f, inputs, o.output, to, names);
  status.say("");
  std::printf("written: %s, opset %lld\n", o.output.c_str(), static_cast<long long>(to.opset_version));
  return kDone;
}

}  // namespace neura::cli
