// Pooling's fast paths: windows that are inside a float image, with consecutive results in a vector.
#pragma once
#include "neura/backend/kernels/pool.h"

namespace neura {

struct PoolTile {  // of one instruction set; one image
  // Stride 1 or 2 along the last dimension, two spatial dimensions, no padding, every window inside, places in a
  // window.
  void (*max)(const float* x, float* y, std::uint8_t* places, const PoolShape&);
  // Windows of 2 x 2 that do not overlap, in[2] twice out[2]: writes all of x but rows beyond the windows.
  void (*scatter_2x2)(const float* g, const std::uint8_t* places, float* x, const PoolShape&);
};
const PoolTile& pool_tile();

}  // namespace neura
