// NVIDIA libraries that are loaded at first use, so that programs that do not use them need not have them.
#pragma once
#include "neura/core/settings.h"

namespace neura::cuda {

// The file that the setting names, or `name` at the first of python_packages.h's places. Null: not there.
void* open_library(Setting chosen, const char* name);

#define NEURA_TEXT_OF(x) #x
#define NEURA_TEXT(x) NEURA_TEXT_OF(x)

}  // namespace neura::cuda
