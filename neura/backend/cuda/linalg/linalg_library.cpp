#include "neura/backend/cuda/linalg/linalg_library.h"

#include <dlfcn.h>

#include <algorithm>

#include "neura/backend/cuda/runtime/capture.h"
#include "neura/backend/cuda/runtime/dynamic_library.h"

namespace neura::cuda::solver {

Library::Library() {
  constexpr const char *solver = "libcusolver.so." NEURA_TEXT(CUSOLVER_VER_MAJOR),
                       *blas = "libcublas.so." NEURA_TEXT(CUBLAS_VER_MAJOR);
  void* at = open_library(Setting::cublas_library, blas);
  if (!at) missing = blas;
#define X(name) \
  if (!missing && !(name = reinterpret_cast<decltype(name)>(dlsym(at, #name)))) missing = blas;
  NEURA_BLAS_CALLS(X)
#undef X
  if (missing) return;
  at = open_library(Setting::cusolver_library, solver);
  if (!at) missing = solver;
#define X(name) \
  if (!missing && !(name = reinterpret_cast<decltype(name)>(dlsym(at, #name)))) missing = solver;
  NEURA_SOLVER_CALLS(X)
#undef X
}

const Library& library() {
  static const Library all;
  return all;
}

Failed failed(cusolverStatus_t s, const char* what) {
  if (s == CUSOLVER_STATUS_SUCCESS) return nullptr;
  cudaGetLastError();
  return fail(s == CUSOLVER_STATUS_ALLOC_FAILED ? DeviceFailure::memory : DeviceFailure::device,
              "cuSOLVER: error %d (%s)", int(s), what);
}
Failed failed(cublasStatus_t s, const char* what) {
  if (s == CUBLAS_STATUS_SUCCESS) return nullptr;
  cudaGetLastError();
  return fail(s == CUBLAS_STATUS_ALLOC_FAILED ? DeviceFailure::memory : DeviceFailure::device, "cuBLAS: error %d (%s)",
              int(s), what);
}

namespace {

Failed make(Session& s) {
  const Library& l = library();
  NEURA_SOLVER_TRY(l.cublasCreate_v2(&s.blas), "a handle");
  NEURA_SOLVER_TRY(l.cusolverDnCreate(&s.solver), "a handle");
  NEURA_SOLVER_TRY(l.cusolverDnCreateParams(&s.params), "a handle");
  NEURA_SOLVER_TRY(l.cusolverDnCreateGesvdjInfo(&s.jacobi), "a handle");
  return failed(l.cusolverDnXgesvdjSetSortEig(s.jacobi, 1), "the order of singular values");
}

}  // namespace

Failed Solver::open() {
  if (const char* file = library().missing)
    return fail(DeviceFailure::absent,
                "expected %s for linear algebra on cuda, got no such library; install cuSOLVER and cuBLAS of the CUDA "
                "toolkit or nvidia-cusolver, or let NEURA_CUSOLVER_LIBRARY and NEURA_CUBLAS_LIBRARY name them",
                file);
  Session& s = *lease_;
  const RelaxedCapture relaxed;
  if (!s.jacobi)
    if (Failed f = make(s)) return f;
  NEURA_SOLVER_TRY(library().cublasSetStream_v2(s.blas, stream), "the stream");
  return failed(library().cusolverDnSetStream(s.solver, stream), "the stream");
}

Failed Solver::rooms(Scratch& scratch, std::size_t device, std::size_t host, void** work) {
  Session& s = *lease_;
  if (s.host.size() < host) {
    if (Failed f = synchronize(index)) return f;  // the one before may still be in use
    s.host.resize(host);
  }
  return scratch.take(std::max<std::size_t>(device, 1), reinterpret_cast<char**>(work));
}

}  // namespace neura::cuda::solver
