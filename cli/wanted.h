// What a program for one model has to have: the file that CMake's NEURA_WANTED names.
#pragma once
#include <string>

#include "neura/graph/program.h"

namespace neura::cli {

// The text of the file (neura/tables/wanted.h); the program is run once on some inputs, for what its calls are made of.
// NotImplementedError names an operation that such programs do not have.
std::string wanted_by(const graph::Program&, const std::string& model);

}  // namespace neura::cli
