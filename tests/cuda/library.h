// What the back end's library says for tests, beside its tables.
#pragma once
#include <dlfcn.h>

#include "tests/cuda/device.h"

namespace neura::test {

// A function of the back end's library that is no part of its tables.
template <class F> inline F* of_library(const char* name) {
  Dl_info info;
  if (!dladdr(reinterpret_cast<const void*>(&plugin_of(kCuda).device), &info)) return nullptr;
  void* const library = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  F* const f = library ? reinterpret_cast<F*>(dlsym(library, name)) : nullptr;
  if (library) dlclose(library);
  return f;
}
inline bool has_cudnn() { return of_library<std::int64_t()>("neura_cudnn_version")() != 0; }
inline void use_cudnn(bool use) { of_library<void(bool)>("neura_cudnn_use")(use); }

}  // namespace neura::test
