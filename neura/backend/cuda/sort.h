// What the sorting kernels share with each other, and with random draws.
#pragma once
#include <cstdint>

#include "neura/backend/cuda/scratch.h"

namespace neura::cuda {

// Sorts n pairs by the lowest `bits` of their keys; stable. Each has two buffers of n; the pairs stand in the first
// ones, before and after.
Failed sort_pairs(Scratch&, cudaStream_t, std::int64_t n, int bits, std::uint32_t* (&keys)[2],
                  std::uint32_t* (&values)[2]);
Failed sort_pairs(Scratch&, cudaStream_t, std::int64_t n, int bits, std::uint64_t* (&keys)[2],
                  std::uint32_t* (&values)[2]);
// Of the numbers below n.
inline int bits_below(std::int64_t n) { return n > 1 ? 64 - __builtin_clzll(std::uint64_t(n - 1)) : 1; }

}  // namespace neura::cuda
