// NVRTC's functions, as its manual gives them: loaded by name, so that Neura neither needs its header nor links it.
#pragma once
#ifndef __EMSCRIPTEN__
#include <dlfcn.h>
#include <unistd.h>
#endif

#include <string>
#include <vector>

#include "neura/backend/python_packages.h"
#include "neura/core/settings.h"

namespace neura::cuda {

using NvrtcProgram = void*;
using NvrtcTexts = const char* const*;
#define NEURA_NVRTC_CALLS(X)                                                                    \
  X(int, nvrtcVersion, (int* major, int* minor))                                                \
  X(const char*, nvrtcGetErrorString, (int))                                                    \
  X(int, nvrtcCreateProgram,                                                                    \
    (NvrtcProgram*, const char* source, const char* name, int headers, NvrtcTexts, NvrtcTexts)) \
  X(int, nvrtcDestroyProgram, (NvrtcProgram*))                                                  \
  X(int, nvrtcAddNameExpression, (NvrtcProgram, const char*))                                   \
  X(int, nvrtcCompileProgram, (NvrtcProgram, int options, NvrtcTexts))                          \
  X(int, nvrtcGetProgramLogSize, (NvrtcProgram, std::size_t*))                                  \
  X(int, nvrtcGetProgramLog, (NvrtcProgram, char*))                                             \
  X(int, nvrtcGetLoweredName, (NvrtcProgram, const char* expression, const char** name))        \
  X(int, nvrtcGetCUBINSize, (NvrtcProgram, std::size_t*))                                       \
  X(int, nvrtcGetCUBIN, (NvrtcProgram, char*))

struct Nvrtc {
#define X(result, name, parameters) result(*name) parameters = nullptr;
  NEURA_NVRTC_CALLS(X)
#undef X
  std::string why;     // it cannot be used; empty if it can
  std::string folder;  // of the toolkit's headers; empty if they are not next to it

#ifdef __EMSCRIPTEN__
  Nvrtc() : why("a program of WebAssembly loads no libraries") {}
#else
  Nvrtc() {
    void* library = nullptr;
    std::vector<std::string> files = nvidia_files("libnvrtc.so.13");
    if (const char* const chosen = setting(Setting::nvrtc_library)) files.assign(1, chosen);
    for (const std::string& file : files) {
      if (!library) library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (!library && why.empty()) why = dlerror();
    }
    if (!library) return;
    why.clear();
#define X(result, name, parameters)                               \
  name = reinterpret_cast<decltype(name)>(dlsym(library, #name)); \
  if (!name) why = "it has no " #name;
    NEURA_NVRTC_CALLS(X)
#undef X
    find_headers();
  }

 private:
  void find_headers() {
    std::string beside;
    if (Dl_info at; why.empty() && dladdr(reinterpret_cast<const void*>(nvrtcVersion), &at) && at.dli_fname) {
      beside = at.dli_fname;
      beside.resize(beside.find_last_of('/') + 1);
    }
    for (const std::string& path : {beside + "../include", cuda_toolkit() + "/include"})
      if (folder.empty() && access((path + "/cuda_fp16.h").c_str(), R_OK) == 0) folder = path;
  }
#endif
};

}  // namespace neura::cuda
