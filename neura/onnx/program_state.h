// The state that the writer of a program shares with the writers of its calls.
#pragma once
#include "neura/onnx/row_call.h"

namespace neura::onnx {

struct ProgramState {
  GraphWriter& to;
  const Symbols& symbols;
  const Names& inputs;  // of the graph
  std::vector<graph::Program> traces;
  std::vector<std::pair<std::string, Tensor>> known;  // tensors that have a name
  Names names;                                        // of values; empty where they are not written yet
  std::vector<std::size_t> last, makers;              // by value
  std::string module;                                 // the last one whose parameters were read
  std::vector<Tensor> constants = {};                 // by value; those that are known now

  const graph::Program& program() const { return traces[0]; }
  std::string name_of(graph::ValueId);  // writes the tensor of an external
  Size size(graph::ValueId, int dim) const;
};

}  // namespace neura::onnx
