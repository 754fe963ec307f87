// Philox 4x32-10 on the device: the numbers of core/random.h, addressed by (seed, offset, index).
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

namespace neura::cuda {

__device__ inline uint4 philox(std::uint64_t seed, std::uint64_t offset, std::uint64_t index) {
  std::uint32_t c0 = std::uint32_t(index), c1 = std::uint32_t(index >> 32);
  std::uint32_t c2 = std::uint32_t(offset), c3 = std::uint32_t(offset >> 32);
  std::uint32_t k0 = std::uint32_t(seed), k1 = std::uint32_t(seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const std::uint32_t high0 = __umulhi(0xD2511F53u, c0), low0 = 0xD2511F53u * c0;
    const std::uint32_t high1 = __umulhi(0xCD9E8D57u, c2), low1 = 0xCD9E8D57u * c2;
    c0 = high1 ^ c1 ^ k0, c1 = low1;
    c2 = high0 ^ c3 ^ k1, c3 = low0;
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  return {c0, c1, c2, c3};
}

// The numbers of one call. To its kernel by value, as {seed, offset, replay_offset(index)} of stream.h; there `begin`
// comes first.
struct PhiloxDraw {
  std::uint64_t seed, offset;
  const std::uint64_t* replay;
  __device__ void begin() {
    if (replay) offset += replay[0], seed ^= replay[1];
  }
  __device__ uint4 block(std::uint64_t index) const { return philox(seed, offset, index); }
};

}  // namespace neura::cuda
