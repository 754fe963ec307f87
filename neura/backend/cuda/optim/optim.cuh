// Many tensors in one launch, described in its parameters: which of them a block belongs to.
#pragma once
#include "neura/backend/cuda/runtime/memory.cuh"
#include "neura/backend/kernels/optim.h"

namespace neura::cuda {

// The last of `parts` that begins at this block or before.
template <class P> __device__ const P& part_of_block(const P* part, std::uint32_t parts) {
  std::uint32_t low = 0, high = parts - 1;
  while (low < high) {
    const std::uint32_t middle = (low + high + 1) / 2;
    if (part[middle].block <= blockIdx.x) low = middle;
    else high = middle - 1;
  }
  return part[low];
}

void norm_of_all(Context&, std::span<const View> tensors, View norm);
void clip_all(Context&, std::span<const View> tensors, View norm, double max_norm);
void unscale_all(Context&, std::span<const View> tensors, View by, View found);

}  // namespace neura::cuda
