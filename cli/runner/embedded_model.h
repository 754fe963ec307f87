// The model appended to a program, in the form that this program reads.
#pragma once
#include <utility>

#include "cli/runner/appended.h"
#include "neura/io/program.h"

namespace neura::cli {

ProgramFile load_within(const std::string& self, const Appended&);
// The files that its inputs may come from, for errors, and what --help says of a value.
extern const char* const kFiles;
extern const char* const kValueHelp;
// The tensors of a file .safetensors, by name.
std::vector<std::pair<std::string, Tensor>> tensors_in(const std::string& path);

}  // namespace neura::cli
