// The model behind a program, in the form that this program reads.
#pragma once
#include <utility>

#include "cli/runner/appended.h"
#include "neura/io/program.h"

namespace neura::cli {

ProgramFile load_within(const std::string& self, const Appended&);
// Of a file .safetensors, by name.
std::vector<std::pair<std::string, Tensor>> tensors_in(const std::string& path);

}  // namespace neura::cli
