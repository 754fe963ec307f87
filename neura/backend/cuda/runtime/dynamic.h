// NVIDIA libraries that are loaded at first use, so that programs that do not use them need not have them.
#pragma once

namespace neura::cuda {

// The file that the environment variable names, or `name` at the first of packages.h's places. Null: not there.
void* open_library(const char* variable, const char* name);

#define NEURA_TEXT_OF(x) #x
#define NEURA_TEXT(x) NEURA_TEXT_OF(x)

}  // namespace neura::cuda
