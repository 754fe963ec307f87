// Libraries: the versions of those that kernels come from, and kernels of programs' own.
#include "neura/core/library_api.h"

#include <cuda_runtime_api.h>

#include <cstring>

#include "neura/backend/cuda/product/cublaslt.h"
#include "neura/backend/cuda/runtime/capture.h"
#ifdef NEURA_CUDNN
#include "neura/backend/cuda/conv/cudnn.h"
#endif

namespace neura::cuda {
namespace {

bool version(const char* name, int parts[3]) {
  std::size_t n = 0;
  if (!std::strcmp(name, "cuBLAS") && cublas_lt().loaded) n = cublas_lt().cublasLtGetVersion();
#ifdef NEURA_CUDNN
  if (!std::strcmp(name, "cuDNN") && cudnn().loaded) n = cudnn().cudnnGetVersion();
#endif
  parts[0] = int(n / 10000), parts[1] = int(n / 100 % 100), parts[2] = int(n % 100);
  return n;
}

Failed load(const void* code, std::size_t, const char* name, void** kernel) {
  const RelaxedCapture relaxed;
  cudaLibrary_t library;
  NEURA_CUDA_TRY(cudaLibraryLoadData(&library, code, nullptr, nullptr, 0, nullptr, nullptr, 0), "kernel");
  cudaKernel_t found;
  NEURA_CUDA_TRY(cudaLibraryGetKernel(&found, library, name), "kernel");
  *kernel = found;
  return nullptr;
}

Failed refused(cudaKernel_t kernel, const LaunchShape& s, cudaError_t e) {
  cudaFuncAttributes a;
  const unsigned threads = s.block[0] * s.block[1] * s.block[2];
  if (cudaFuncGetAttributes(&a, static_cast<const void*>(kernel)) == cudaSuccess &&
      threads > unsigned(a.maxThreadsPerBlock)) {
    cudaGetLastError();
    return fail(DeviceFailure::device,
                "expected blocks of at most %d threads, which is what the kernel's code and registers allow, got %u",
                a.maxThreadsPerBlock, threads);
  }
  return failed(e, "kernel");
}

Failed launch(int index, void* handle, const LaunchShape& s, void** arguments) {
  const OnDevice on(index);
  const RelaxedCapture relaxed;  // a first launch may load code
  const auto kernel = static_cast<cudaKernel_t>(handle);
  constexpr std::size_t usual = 48 << 10;  // more must be asked for
  if (s.shared > usual)
    NEURA_CUDA_TRY(
        cudaKernelSetAttributeForDevice(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(s.shared), index),
        "shared memory");
  const cudaError_t e =
      cudaLaunchKernel(static_cast<const void*>(kernel), dim3(s.grid[0], s.grid[1], s.grid[2]),
                       dim3(s.block[0], s.block[1], s.block[2]), arguments, s.shared, current_stream(index));
  return e == cudaSuccess ? launched(index) : refused(kernel, s, e);
}

}  // namespace

const LibraryApi& libraries() {
  static const LibraryApi table = {.version = version, .load = load, .launch = launch};
  return table;
}

}  // namespace neura::cuda
