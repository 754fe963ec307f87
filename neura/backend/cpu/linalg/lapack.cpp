#include "neura/backend/cpu/linalg/lapack.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "neura/core/settings.h"

#ifndef __EMSCRIPTEN__
#include <dlfcn.h>

#include <filesystem>
#include <system_error>
#endif

namespace neura::lapack {

std::mutex& lock_of_library() {
  static auto* const lock = new std::mutex;  // outlives every thread
  return *lock;
}

#ifdef __EMSCRIPTEN__
const Library* library() { return nullptr; }
#else
namespace {

namespace fs = std::filesystem;

constexpr const char* kRealNames[] = {
#define NEURA_ROUTINE(real, complex) #real,
    NEURA_LAPACK_ROUTINES(NEURA_ROUTINE)
#undef NEURA_ROUTINE
};
constexpr const char* kComplexNames[] = {
#define NEURA_ROUTINE(real, complex) #complex,
    NEURA_LAPACK_ROUTINES(NEURA_ROUTINE)
#undef NEURA_ROUTINE
};
constexpr struct {
  const char *prefix, *suffix;
  bool wide;
} kSpellings[] = {{"", "_", false}, {"scipy_", "_", false}, {"", "_64_", true}, {"scipy_", "_64_", true}};

const char* core_of(void* handle) {  // whose kernels an OpenBLAS runs
  for (const char* name : {"openblas_get_corename", "scipy_openblas_get_corename", "openblas_get_corename64_",
                           "scipy_openblas_get_corename64_"})
    if (void* ask = dlsym(handle, name)) return reinterpret_cast<const char* (*)()>(ask)();
  return "";
}

bool fill(void* handle, Library& l) {
  for (const auto& spelling : kSpellings) {
    bool whole = true;
    for (int letter = 0; letter < 4 && whole; ++letter)
      for (int r = 0; r < kRoutines && whole; ++r) {
        l.routine[letter][r] = nullptr;
        if (letter < 2 ? of_complex(r) : of_real(r)) continue;
        const std::string name = (letter < 2 ? kRealNames : kComplexNames)[r];
        const std::string symbol = spelling.prefix + std::string(1, "sdcz"[letter]) + name + spelling.suffix;
        whole = (l.routine[letter][r] = dlsym(handle, symbol.c_str())) != nullptr;
      }
    if (!whole) continue;
    l.wide = spelling.wide;
    l.alone = false;
    l.core = core_of(handle);
    for (const char* name : {"openblas_get_parallel", "scipy_openblas_get_parallel", "openblas_get_parallel64_",
                             "scipy_openblas_get_parallel64_"})
      if (void* ask = dlsym(handle, name)) l.alone = reinterpret_cast<int (*)()>(ask)() == 0;
    // Batches are shared among the threads of Neura: a matrix has one thread.
    for (const char* name : {"openblas_set_num_threads", "scipy_openblas_set_num_threads",
                             "openblas_set_num_threads64_", "scipy_openblas_set_num_threads64_"})
      if (void* set = dlsym(handle, name)) reinterpret_cast<void (*)(int)>(set)(1);
    return true;
  }
  return false;
}

// For a processor that is younger than itself, OpenBLAS takes kernels without AVX. It is loaded again then, and told of
// an older processor that has the same instructions.
void* open(const char* name) {
  void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
#ifdef __x86_64__
  constexpr Setting kCore = Setting::openblas_coretype;
  if (handle && !std::strcmp(core_of(handle), "Prescott") && __builtin_cpu_supports("avx2") && !setting(kCore)) {
    dlclose(handle);
    setenv(variable_of(kCore), __builtin_cpu_supports("avx512vl") ? "SkylakeX" : "Haswell", 1);
    handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    unsetenv(variable_of(kCore));
  }
#endif
  return handle;
}

// Libraries that are installed next to this one in a Python environment.
std::vector<std::string> neighbours() {
  std::vector<std::string> found;
  Dl_info here{};
  if (!dladdr(reinterpret_cast<const void*>(&fill), &here) || !here.dli_fname) return found;
  std::error_code no;
  fs::path folder = fs::absolute(here.dli_fname, no).parent_path();
  for (int up = 0; up < 3 && folder.has_relative_path(); ++up, folder = folder.parent_path())
    for (const char* name : {"scipy_openblas32/lib", "numpy.libs", "scipy.libs"})
      for (fs::directory_iterator i(folder / name, no), end; !no && i != end; i.increment(no))
        if (i->path().filename().string().find("openblas") != std::string::npos) found.push_back(i->path().string());
  return found;
}

const Library* load() {
  std::vector<std::string> names;
  if (const char* asked = setting_given(Setting::lapack)) names.push_back(asked);
  for (const char* name : {"libopenblas.so.0", "liblapack.so.3", "libopenblas.dylib"}) names.push_back(name);
  const auto first_of = [](const std::vector<std::string>& all) -> const Library* {
    for (const std::string& name : all) {
      void* handle = open(name.c_str());
      if (!handle) continue;
      auto* l = new Library;  // as long as the process lives
      if (fill(handle, *l)) return l;
      delete l;
      dlclose(handle);
    }
    return nullptr;
  };
  const Library* l = first_of(names);
  return l ? l : first_of(neighbours());
}

}  // namespace

const Library* library() {
  static const Library* const found = load();
  return found;
}
#endif

}  // namespace neura::lapack
