#include "neura/backend/cuda/runtime/dynamic_library.h"

#include <dlfcn.h>

#include "neura/backend/python_packages.h"

namespace neura::cuda {

void* open_library(Setting chosen, const char* name) {
  constexpr int how = RTLD_NOW | RTLD_LOCAL;
  if (const char* file = setting_given(chosen)) return dlopen(file, how);
  for (const std::string& file : nvidia_files(name))
    if (void* library = dlopen(file.c_str(), how)) return library;
  return nullptr;
}

}  // namespace neura::cuda

extern "C" __attribute__((visibility("default"))) void neura_packages(const char* const* folders, std::size_t n) {
  neura::package_folders().assign(folders, folders + n);
}
