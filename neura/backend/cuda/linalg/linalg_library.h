// cuSOLVER and cuBLAS as factorisations use them: loaded at run time, with one handle of each for a call.
#pragma once
#include <cublas_v2.h>
#include <cusolverDn.h>

#include <vector>

#include "neura/backend/cuda/runtime/failure.h"
#include "neura/backend/cuda/runtime/lease.h"
#include "neura/backend/cuda/runtime/scratch.h"

namespace neura::cuda::solver {

// Functions that there are once, with dtypes as arguments; and those that there are for each of four dtypes.
// clang-format off: one to three names a line
#define NEURA_CUSOLVER_CALLS(X)  \
  X(cusolverDnCreate)            \
  X(cusolverDnSetStream)         \
  X(cusolverDnCreateParams)      \
  X(cusolverDnCreateGesvdjInfo)  \
  X(cusolverDnXgesvdjSetSortEig) \
  X(cusolverDnXgetrf_bufferSize) \
  X(cusolverDnXgetrf)            \
  X(cusolverDnXpotrf_bufferSize) \
  X(cusolverDnXpotrf)            \
  X(cusolverDnXgeqrf_bufferSize) \
  X(cusolverDnXgeqrf)            \
  X(cusolverDnXsyevd_bufferSize) \
  X(cusolverDnXsyevd)            \
  X(cusolverDnXsyevBatched_bufferSize) X(cusolverDnXsyevBatched) X(cusolverDnXgeev_bufferSize) X(cusolverDnXgeev)
#define NEURA_CUSOLVER_TYPED(X, s, q) \
  X(cusolverDn##s##potrfBatched)      \
  X(cusolverDn##s##q##gqr_bufferSize) \
  X(cusolverDn##s##q##gqr)            \
  X(cusolverDn##s##gesvdj_bufferSize) \
  X(cusolverDn##s##gesvdj) X(cusolverDn##s##gesvdjBatched_bufferSize) X(cusolverDn##s##gesvdjBatched)
#define NEURA_CUBLAS_TYPED(X, s) X(cublas##s##trsm_v2_64) X(cublas##s##trsmBatched_64) X(cublas##s##getrfBatched)
#define NEURA_SOLVER_CALLS(X)    \
  NEURA_CUSOLVER_CALLS(X)        \
  NEURA_CUSOLVER_TYPED(X, S, or) \
  NEURA_CUSOLVER_TYPED(X, D, or) NEURA_CUSOLVER_TYPED(X, C, un) NEURA_CUSOLVER_TYPED(X, Z, un)
#define NEURA_BLAS_CALLS(X) \
  X(cublasCreate_v2)        \
  X(cublasSetStream_v2)     \
  NEURA_CUBLAS_TYPED(X, S) NEURA_CUBLAS_TYPED(X, D) NEURA_CUBLAS_TYPED(X, C) NEURA_CUBLAS_TYPED(X, Z)
// clang-format on

struct Library {
#define X(name) decltype(&::name) name = nullptr;
  NEURA_SOLVER_CALLS(X)
  NEURA_BLAS_CALLS(X)
#undef X
  const char* missing = nullptr;  // the file that is not there
  Library();
};
const Library& library();

// The functions of a dtype, by their names without it.
template <class T> struct Routines;
#define NEURA_ROUTINES(T, R, s, q, number, of_real)                                                 \
  template <> struct Routines<T> {                                                                  \
    using Real = R;                                                                                 \
    static constexpr cudaDataType dtype = number, real_dtype = of_real;                             \
    static constexpr bool is_complex = number != of_real;                                           \
    static auto trsm() { return library().cublas##s##trsm_v2_64; }                                  \
    static auto trsm_batched() { return library().cublas##s##trsmBatched_64; }                      \
    static auto getrf_batched() { return library().cublas##s##getrfBatched; }                       \
    static auto potrf_batched() { return library().cusolverDn##s##potrfBatched; }                   \
    static auto orgqr_room() { return library().cusolverDn##s##q##gqr_bufferSize; }                 \
    static auto orgqr() { return library().cusolverDn##s##q##gqr; }                                 \
    static auto gesvdj_room() { return library().cusolverDn##s##gesvdj_bufferSize; }                \
    static auto gesvdj() { return library().cusolverDn##s##gesvdj; }                                \
    static auto gesvdj_batched_room() { return library().cusolverDn##s##gesvdjBatched_bufferSize; } \
    static auto gesvdj_batched() { return library().cusolverDn##s##gesvdjBatched; }                 \
  }
NEURA_ROUTINES(float, float, S, or, CUDA_R_32F, CUDA_R_32F);
NEURA_ROUTINES(double, double, D, or, CUDA_R_64F, CUDA_R_64F);
NEURA_ROUTINES(cuComplex, float, C, un, CUDA_C_32F, CUDA_R_32F);
NEURA_ROUTINES(cuDoubleComplex, double, Z, un, CUDA_C_64F, CUDA_R_64F);
#undef NEURA_ROUTINES

Failed failed(cusolverStatus_t, const char* what);
Failed failed(cublasStatus_t, const char* what);
#define NEURA_SOLVER_TRY(call, what)                                                         \
  do {                                                                                       \
    if (::neura::Failed refused = ::neura::cuda::solver::failed(call, what)) return refused; \
  } while (false)

struct Session {
  cusolverDnHandle_t solver = nullptr;
  cusolverDnParams_t params = nullptr;
  gesvdjInfo_t jacobi = nullptr;
  cublasHandle_t blas = nullptr;
  std::vector<char> host;  // workspace, which a call may use after it has returned
};

// The handles for a call on the current stream.
class Solver {
 public:
  explicit Solver(int i) : index(i), stream(current_stream(i)), lease_(i) {}
  Failed open();
  Session& operator*() const { return *lease_; }
  Session* operator->() const { return &*lease_; }
  // Workspace of a function with dtypes as arguments
  Failed rooms(Scratch&, std::size_t device, std::size_t host, void** work);
  const int index;
  const cudaStream_t stream;

 private:
  Lease<Session> lease_;
};

}  // namespace neura::cuda::solver
