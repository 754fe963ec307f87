// The tensors of a model that is written, in a file of their own.
#pragma once
#include "neura/onnx/export.h"
#include "neura/onnx/proto.h"

namespace neura::onnx {

// Where they belong in another file, it is written, and the model refers to it. IoError; NotImplementedError for a
// model of more than 2 GB that keeps them inside.
void move_weights(ModelProto&, const std::string& path, Weights);

}  // namespace neura::onnx
