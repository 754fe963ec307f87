// The vector part of the random kernels: whole groups of Philox blocks, the same bits on every instruction set.
#pragma once
#include <cstdint>

namespace neura {

inline constexpr int kGroup = 64;  // Philox blocks at a time: 256 words

// words[4 * kGroup] of the blocks [first, first + kGroup); first is a multiple of kGroup.
void philox_group(std::uint64_t seed, std::uint64_t offset, std::uint64_t first, std::uint32_t* words);
// out[i] = a + b * u, u uniform in [0, 1) of 24 bits from words[i].
void uniform_group(const std::uint32_t* words, float a, float b, float* out);
// out[i] = a + b * normal, by the Box-Muller method from pairs of words: radius from the first, angle from the second.
void normal_group(const std::uint32_t* words, float a, float b, float* out);
// out[i] = -log(1 - u) * scale
void exponential_group(const std::uint32_t* words, float scale, float* out);

}  // namespace neura
