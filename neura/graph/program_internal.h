// What the sources of programs share: names and texts of nodes, evaluation of one node. Private to graph/.
#pragma once
#include "neura/core/state.h"
#include "neura/graph/program.h"
#include "neura/op/pointwise/pointwise.h"

namespace neura::graph {

struct NoRecordScope {  // nothing is recorded while it lives
  std::uint32_t before = state.active;
  NoRecordScope() { state.active |= kNoGrad; }
  NoRecordScope(const NoRecordScope&) = delete;
  ~NoRecordScope() { state.active = before; }
};

std::string name_of(const Row&);
std::string text_of(const Node&);               // without its results
Dtypes dtypes_of(const Program&, const Node&);  // of a pointwise one
// As an operation's infer gets them: kAbsent where there is no value.
std::vector<const Spec*> operand_specs(const Program&, const Node&);
// Runs p with the numbers of optimizers' steps from a device's memory: by node, operand 0 of those that have them.
std::vector<Tensor> run(const Program&, std::span<const Tensor> inputs, std::span<const Tensor> steps);
// The results of a node that writes nothing, from the tensors of all values.
std::vector<Tensor> evaluated(const Node&, std::span<const Tensor> values);

}  // namespace neura::graph
