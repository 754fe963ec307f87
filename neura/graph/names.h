// A program's parts, for the graph's own files: how they are written, and run alone.
#pragma once
#include "neura/graph/program.h"
#include "neura/ops/pointwise.h"

namespace neura::graph {

std::string name_of(const Row&);
const Row* row_of_name(std::string_view);       // null if there is none
std::string text_of(const Node&);               // without its results
Dtypes dtypes_of(const Program&, const Node&);  // of a pointwise one
// The results of a node that writes nothing, from the tensors of all values.
std::vector<Tensor> evaluated(const Node&, std::span<const Tensor> values);

}  // namespace neura::graph
