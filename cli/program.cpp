#include "cli/program.h"

#include <filesystem>

#include "cli/ports.h"
#include "neura/io/program.h"
#include "neura/ops/create/copy.h"

namespace neura::cli {
namespace {

ProgramFile loaded(const std::string& file, const std::string& device, bool trusted) {
  check<ValueError>(Device(device) == Device(), [&] {
    return "expected the device that the program was traced on, got --device " + device + "; it stands in " + file;
  });
  return load_program(file, {.trusted = trusted});
}

}  // namespace

bool is_program(const std::string& file) { return std::filesystem::path(file).extension() == ".neura"; }

int run_program(const RunOptions& o) {
  Status status;
  status.say("reading " + o.model);
  const ProgramFile f = loaded(o.model, o.device, o.trusted);
  const std::vector<Tensor> inputs = read_inputs(f.inputs, o.inputs);
  check_given(f.inputs, inputs);
  status.say("running");
  const std::vector<Tensor> results = graph::run(f.program, inputs);
  status.say("");
  std::vector<Output> outputs;
  for (std::size_t i = 0; i < results.size(); ++i)
    outputs.push_back({f.outputs[i], results[i].spec().str(), results[i]});
  write_outputs(outputs, o.output);
  return kDone;
}

int bench_program(const BenchOptions& o) {
  check<ValueError>(o.sizes.empty(), [&] {
    return "bench: expected no --size for a program, whose sizes are fixed, got " + o.sizes[0];
  });
  const Clock::time_point start = Clock::now();
  const ProgramFile f = loaded(o.model, o.device, o.trusted);
  const double load = since(start);
  const std::vector<Spec> specs = f.program.input_specs();
  std::vector<Tensor> inputs = read_inputs(f.inputs, o.inputs);
  std::vector<std::pair<std::string, std::string>> shown;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) inputs[i] = sample(specs[i].sizes(), specs[i].dtype);
    shown.push_back({f.inputs[i], inputs[i].spec().str()});
  }
  measure(o.runs, load, shown, [&] { return graph::run(f.program, inputs); });
  return kDone;
}

}  // namespace neura::cli
