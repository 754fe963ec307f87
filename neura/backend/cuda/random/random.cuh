// The numbers that the words of Philox become, for device code: those of core/random.h.
#pragma once
#include "neura/backend/cuda/random/philox.cuh"
#include "neura/backend/cuda/runtime/stream.h"
#include "neura/backend/kernels/random.h"

namespace neura::cuda {

__device__ inline double uniform64(std::uint32_t high, std::uint32_t low) {
  return double((std::uint64_t(high) << 21) ^ (std::uint64_t(low) >> 11)) * 0x1p-53;
}
__device__ inline float uniform32(std::uint32_t x) { return float(x >> 8) * 0x1p-24f; }
inline PhiloxDraw drawn(const Draw& d, int index) { return {d.seed, d.offset, replay_offset(index)}; }

}  // namespace neura::cuda
