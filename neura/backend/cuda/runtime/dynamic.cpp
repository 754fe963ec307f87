#include "neura/backend/cuda/runtime/dynamic.h"

#include <dlfcn.h>

#include <cstdlib>

#include "neura/backend/packages.h"

namespace neura::cuda {

void* open_library(const char* variable, const char* name) {
  constexpr int how = RTLD_NOW | RTLD_LOCAL;
  const char* const chosen = std::getenv(variable);
  if (chosen && *chosen) return dlopen(chosen, how);
  for (const std::string& file : nvidia_files(name))
    if (void* library = dlopen(file.c_str(), how)) return library;
  return nullptr;
}

}  // namespace neura::cuda

extern "C" __attribute__((visibility("default"))) void neura_packages(const char* const* folders, std::size_t n) {
  neura::package_folders().assign(folders, folders + n);
}
