// The two numbers that a graph's random draws read when it is replayed; see replay_offset.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

namespace neura::cuda {

void write_numbers(std::uint64_t* to, std::uint64_t offset, std::uint64_t seed, cudaStream_t);

}  // namespace neura::cuda
