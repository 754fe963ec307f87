// Models of ONNX files, as functions to trace.
#pragma once
#include <string>
#include <vector>

#include "cli/commands.h"
#include "neura/graph/trace.h"
#include "neura/onnx/model.h"

namespace neura::cli {

struct OnnxFunction {
  // command: of neura, for errors. sizes: NAME=N for open ones, which are 1 otherwise.
  OnnxFunction(const char* command, const std::string& file, const std::vector<std::string>& sizes);
  Ref<onnx::Model> model;
  std::vector<Tensor> inputs;  // examples
  std::vector<graph::Named> names;
  // Of inputs and outputs, as files .neura may have them: PyTorch's exporter writes "onnx::Add_0".
  std::vector<std::string> input_names, output_names;
  graph::Function f;
};

}  // namespace neura::cli
