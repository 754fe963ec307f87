// Where the elements of a fold are.
#pragma once
#include "neura/backend/cuda/runtime/memory.cuh"
#include "neura/backend/cuda/reduce/reduce.h"

namespace neura::cuda {

// Adds the steps from the first element to the i-th, in x and in y.
__device__ inline void locate(const Axes& a, std::uint32_t i, std::int64_t& x, std::int64_t& y) {
#pragma unroll 1
  for (int d = a.rank - 1; d >= 0; --d) {
    const std::uint32_t q = d ? quotient(i, a.size[d]) : 0, r = i - q * a.size[d].divisor;
    x += std::int64_t(r) * a.x[d], y += std::int64_t(r) * a.y[d];
    i = q;
  }
}

}  // namespace neura::cuda
