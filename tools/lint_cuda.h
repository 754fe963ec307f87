// What lets clang-tidy 14 parse kernels of CUDA 13, which is too new for it, as the host's part of them: tools/lint.sh
// includes it before each .cu. Words of CUDA mean nothing except for __global__, each function may be called
// everywhere, and what kernels call is declared by CUDA's own headers, except for those that differ from the host's.
#pragma once
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define __device__ __attribute__((device))  // clang's own <new> has overloads for devices
#include <any>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <variant>
#include <vector>
#undef __device__
#pragma clang force_cuda_host_device begin
#include <math.h>

#include <cmath>

#include <crt/host_defines.h>
#undef __device__
#undef __host__
#undef __global__
#undef __shared__
#undef __constant__
#undef __managed__
#undef __device_builtin__
#undef __cudart_builtin__
#define __device__
#define __host__
#define __global__ __attribute__((global))
#define __shared__
#define __constant__
#define __managed__
#define __device_builtin__
#define __cudart_builtin__

template <class T, class U> auto min(T a, U b) { return a < b ? a : b; }
template <class T, class U> auto max(T a, U b) { return a < b ? b : a; }
using std::isfinite, std::isinf, std::isnan, std::signbit, std::abs;
double rsqrt(double);
float rsqrtf(float);
#define __syncthreads neura_syncthreads  // clang has one for devices alone
#define __MATH_FUNCTIONS_H__             // the host's are there
#define __MATH_FUNCTIONS_HPP__
#define __COMMON_FUNCTIONS_H__
#define __CUDACC__
#include <cuda_runtime.h>
#undef __CUDACC__

namespace cooperative_groups {
struct cluster_group {
  unsigned block_rank() const, num_blocks() const;
  void sync() const;
  template <class T> T* map_shared_rank(T*, unsigned) const;
};
cluster_group this_cluster();
}  // namespace cooperative_groups

#undef __launch_bounds__
#undef __noinline__
#undef __forceinline__
#undef __align__
#define __launch_bounds__(...)
#define __noinline__ __attribute__((noinline))
#define __forceinline__ inline
#define __align__(n) __attribute__((aligned(n)))
#define asm(...)  // of the device
#define NEURA_LINT
