// neura quantize: a program whose weights have 8 bits.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "cli/model.h"
#include "cli/ports.h"
#include "cli/program.h"
#include "cli/progress.h"
#include "neura/autograd/grad_mode.h"
#include "neura/graph/integer_weights.h"
#include "neura/io/program.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/reduce/reduce.h"

namespace neura::cli {
namespace {

ProgramFile read(const QuantizeOptions& o) {
  if (is_program(o.model)) {
    check<ValueError>(o.sizes.empty(), [&] {
      return "quantize: expected no --size for a program, whose sizes are fixed, got " + o.sizes[0];
    });
    return load_program(o.model, {.trusted = o.trusted});
  }
  check<ValueError>(std::filesystem::path(o.model).extension() == ".onnx", [&] {
    return "quantize: expected a file .neura or .onnx, got " + o.model + "; neura export makes one of a run";
  });
  const OnnxFunction traced("quantize", o.model, o.sizes);
  ProgramFile file;
  file.program = graph::trace(traced.f, traced.inputs, traced.names);
  file.inputs = traced.input_names, file.outputs = traced.output_names;
  return file;
}

// How far results of numbers from -1 to 1 are from each other, as a part of the largest; negative where there is none.
double difference(const graph::Program& a, const graph::Program& b) {
  std::vector<Tensor> inputs;
  for (const Spec& s : a.input_specs()) inputs.push_back(sample(s.sizes(), s.dtype));
  const std::vector<Tensor> x = graph::run(a, inputs), y = graph::run(b, inputs);
  double most = -1;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!is_floating(x[i].dtype()) || !x[i].numel()) continue;
    const double largest = amax(abs(x[i].to(DType::float64))).item<double>();
    const double apart = amax(abs(sub(x[i].to(DType::float64), y[i].to(DType::float64)))).item<double>();
    most = std::max(most, largest > 0 ? apart / largest : apart);
  }
  return most;
}

}  // namespace

int quantize(const QuantizeOptions& o) {
  const NoGrad off;
  check<ValueError>(is_program(o.output),
                    [&] { return "quantize: expected a file .neura to write, got " + o.output + "; rename it"; });
  Status status;
  status.say("reading " + o.model);
  const ProgramFile file = read(o);
  status.say("rounding");
  const graph::IntegerWeights made = graph::with_integer_weights(file.program);
  check<ValueError>(made.weights, [&] {
    return "quantize: expected a model with float32 weights of products or convolutions, 256 numbers or more, got none "
           "in " +
           o.model + "; leave it as it is";
  });
  const double apart = difference(file.program, made.program);
  status.say("writing " + o.output);
  save_program(o.output, made.program, {file.inputs, file.outputs, file.metadata});
  status.say("");
  const auto count = [](std::size_t n) { return thousands(std::int64_t(n)); };
  std::printf("written: %s, %s bytes; %s weights of 8 bits take %s bytes instead of %s\n", o.output.c_str(),
              count(std::filesystem::file_size(o.output)).c_str(), count(made.weights).c_str(),
              count(made.after).c_str(), count(made.before).c_str());
  if (apart >= 0)
    std::printf("results differ by %.2g %% of the largest, for inputs from -1 to 1; compare yours by neura run\n",
                100 * apart);
  return kDone;
}

}  // namespace neura::cli
