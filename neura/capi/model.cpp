#include "neura/capi/model.h"

#include <filesystem>
#include <mutex>

#include "neura/core/file.h"
#include "neura/io/program.h"
#include "neura/ops/create/copy.h"

namespace neura::capi {
namespace {

using graph::External;
using graph::Program;

// Of a program that writes no memory: all share it.
class SharedRunner final : public Runner {
 public:
  explicit SharedRunner(std::shared_ptr<const Program> p) : program_(std::move(p)) {}
  std::vector<Tensor> run(std::span<const Tensor> inputs) override { return graph::run(*program_, inputs); }

 private:
  std::shared_ptr<const Program> program_;
};

// The others have the memory that is written for themselves, and one run after the other.
class StateRunner final : public Runner {
 public:
  explicit StateRunner(const Program& p) : program_(p) {
    for (const graph::Update& u : program_.updates) {
      External& e = program_.externals[u.external];
      if (e.kind != External::input) e.tensor = e.tensor.clone();
      else inputs_.push_back(u.external);
    }
  }
  std::vector<Tensor> run(std::span<const Tensor> given) override {
    const std::lock_guard lock(turn_);
    std::vector<Tensor> inputs(given.begin(), given.end());
    for (const graph::ValueId v : inputs_) own(inputs, v);
    std::vector<Tensor> all = graph::run(program_, inputs);
    for (Tensor& t : all) t = t.clone();  // it may be memory that the next run writes
    return all;
  }

 private:
  // The caller's memory is never written.
  void own(std::vector<Tensor>& inputs, graph::ValueId v) const {
    std::size_t at = 0;
    for (graph::ValueId i = 0; i < v; ++i) at += program_.externals[i].kind == External::input;
    if (at < inputs.size()) inputs[at] = Tensor::empty(program_.values[v]).copy_(inputs[at]);
  }
  Program program_;
  std::vector<graph::ValueId> inputs_;
  std::mutex turn_;
};

class ProgramModel final : public Model {
 public:
  ProgramModel(ProgramFile f, const std::string& name, const Opening& o) {
    metadata = std::move(f.metadata);
    const Program& p = f.program;
    const std::vector<Spec> in = p.input_specs(), out = p.output_specs();
    for (std::size_t i = 0; i < in.size(); ++i) inputs.push_back(port(f.inputs[i], in[i]));
    for (std::size_t i = 0; i < out.size(); ++i) outputs.push_back(port(f.outputs[i], out[i]));
    Device device;
    for (const Spec& s : p.values)
      if (!s.device.is_cpu()) device = s.device;
    check<DeviceError>(o.device.empty() || Device(o.device) == device, [&] {
      return name + ": expected a program of the device " + Device(o.device).str() + ", got one of " + device.str() +
             "; trace it there, or ask for " + device.str();
    });
    program_ = std::make_shared<const Program>(std::move(f.program));
  }
  std::unique_ptr<Runner> runner() const override {
    if (program_->updates.empty()) return std::make_unique<SharedRunner>(program_);
    return std::make_unique<StateRunner>(*program_);
  }

 private:
  static Port port(const std::string& name, const Spec& s) {
    const Shape sizes = s.sizes();
    return {name, s.dtype, {sizes.begin(), sizes.end()}, true, s.device};
  }
  std::shared_ptr<const Program> program_;
};

std::shared_ptr<const Model> open_program(const io::Source& source, const Opening& o) {
  return std::make_shared<ProgramModel>(load_program(source, o.trusted), source.name(), o);
}
// A safetensors file begins with the size of its header in 8 bytes, and a brace.
bool is_safetensors(std::span<const std::byte> bytes) { return bytes.size() > 8 && bytes[8] == std::byte('{'); }

}  // namespace

std::shared_ptr<const Model> open(const std::string& path, const Opening& o) {
  const std::string kind = std::filesystem::path(path).extension().string();
  if (kind == ".onnx") return open_onnx(io::read_file(path), path, o);
  check<ValueError>(kind == ".neura", [&] { return "neura_open: expected a file .neura or .onnx, got " + path; });
  return open_program(io::Source(path, !o.verify), o);
}
std::shared_ptr<const Model> open(std::span<const std::byte> bytes, const Opening& o) {
  if (is_safetensors(bytes)) return open_program(io::Source(bytes, "bytes", o.borrow && !o.verify), o);
  return open_onnx({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "", o);
}

#ifndef NEURA_ONNX
std::shared_ptr<const Model> open_onnx(std::string_view, const std::string& path, const Opening&) {
  throw NotImplementedError((path.empty() ? "bytes" : path) +
                            ": expected a program (.neura), got an ONNX model or other bytes, and this library is "
                            "built without ONNX; neura export makes a program of it");
}
#endif

}  // namespace neura::capi
