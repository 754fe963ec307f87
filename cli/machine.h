// What the program runs on.
#pragma once
#include <string>

namespace neura::cli {

std::string processor_name();
std::string instruction_set();  // that the kernels use here

}  // namespace neura::cli
