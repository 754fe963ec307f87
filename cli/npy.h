// Files of NumPy's format .npy: one tensor each.
#pragma once
#include <string>

#include "neura/core/tensor.h"

namespace neura::cli {

// On the cpu. IoError; FormatError for what is no such file or is cut off; NotImplementedError for a dtype that Neura
// does not have.
Tensor read_npy(const std::string& path);
// bfloat16, which NumPy does not have, is written as float32.
void write_npy(const std::string& path, const Tensor&);

}  // namespace neura::cli
