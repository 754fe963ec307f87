// cuBLASLt as products use it: loaded at run time like the rest of NVIDIA's libraries, wherever their package is.
#pragma once
#include <cublasLt.h>
#include <dlfcn.h>

#include "neura/backend/cuda/runtime/dynamic_library.h"

namespace neura::cuda {

// What its header calls ..Init is a line in that header, around these.
#define NEURA_CUBLASLT_CALLS(X)            \
  X(cublasLtCreate)                        \
  X(cublasLtDestroy)                       \
  X(cublasLtGetVersion)                    \
  X(cublasLtGetStatusName)                 \
  X(cublasLtGetStatusString)               \
  X(cublasLtMatmul)                        \
  X(cublasLtMatmulAlgoGetHeuristic)        \
  X(cublasLtMatmulDescInit_internal)       \
  X(cublasLtMatmulDescSetAttribute)        \
  X(cublasLtMatmulPreferenceInit_internal) \
  X(cublasLtMatmulPreferenceSetAttribute)  \
  X(cublasLtMatrixLayoutInit_internal)     \
  X(cublasLtMatrixLayoutSetAttribute)

struct CublasLt {
#define X(name) decltype(&::name) name = nullptr;
  NEURA_CUBLASLT_CALLS(X)
#undef X
  static constexpr const char* file = "libcublasLt.so." NEURA_TEXT(CUBLAS_VER_MAJOR);
  bool loaded = false;

  CublasLt() {
    void* const library = open_library(Setting::cublaslt_library, file);
    loaded = library;
#define X(name) \
  if (loaded) name = reinterpret_cast<decltype(name)>(dlsym(library, #name)), loaded = name;
    NEURA_CUBLASLT_CALLS(X)
#undef X
  }
};
inline const CublasLt& cublas_lt() {
  static const CublasLt library;
  return library;
}

}  // namespace neura::cuda
