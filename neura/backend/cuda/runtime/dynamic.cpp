#include "neura/backend/cuda/runtime/dynamic.h"

#include <cublasLt.h>
#include <dlfcn.h>

#include <cstdlib>
#include <string>

namespace neura::cuda {

void* open_library(const char* variable, const char* name) {
  constexpr int how = RTLD_NOW | RTLD_LOCAL;
  const char* const chosen = std::getenv(variable);
  if (chosen && *chosen) return dlopen(chosen, how);
  if (void* library = dlopen(name, how)) return library;
  Dl_info neighbour;  // packages put all libraries of the toolkit into one folder
  if (!dladdr(reinterpret_cast<void*>(&cublasLtGetVersion), &neighbour) || !neighbour.dli_fname) return nullptr;
  const std::string file = neighbour.dli_fname;
  return dlopen((file.substr(0, file.rfind('/') + 1) + name).c_str(), how);
}

}  // namespace neura::cuda
