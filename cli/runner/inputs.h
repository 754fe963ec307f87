// Inputs from the command line of a deployed model.
#pragma once
#include <string>
#include <vector>

#include "neura/core/tensor.h"

namespace neura::cli {

// One tensor for each input, undefined where no value is given. A value, `NAME=VALUE` or one for the next input that
// has none: FILE.npy, FILE.safetensors, or numbers between commas or spaces. ValueError, ShapeError and DTypeError for
// what does not fit; what reading a file throws.
std::vector<Tensor> given(const std::vector<std::string>& names, const std::vector<Spec>& specs,
                          const std::vector<std::string>& values);

}  // namespace neura::cli
