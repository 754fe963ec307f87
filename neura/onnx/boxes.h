// Inputs and outputs of a model as values that cross languages: tensors; lists of tensors; texts as a str or as nested
// lists of str; None for an empty optional.
#pragma once
#include "neura/nn/value.h"
#include "neura/onnx/operators.h"

namespace neura::onnx {

// By position, by name, or one dictionary of names. ValueError for a name that is unknown or missing.
Results unboxed(const nn::Args&, const std::vector<ValueInfoProto>& inputs);
nn::Value boxed(const Results&);  // one value, or a tuple

}  // namespace neura::onnx
