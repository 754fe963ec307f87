// Images sampled at points.
#pragma once
#include "neura/backend/backend.h"

namespace neura {

enum class Sampling : std::uint8_t { linear, nearest, cubic };          // torch's numbers 0, 1, 2
enum class SamplePadding : std::uint8_t { zeros, border, reflection };  // likewise

struct GridSampling {
  Sampling mode = Sampling::linear;
  SamplePadding padding = SamplePadding::zeros;
  bool align_corners = false;  // do -1 and 1 mean the centres of the corner elements, or their outer edges?
};

struct grid_sample_kernels {
  // x [n, channels, in..], grid [n, out.., d] of d = 2 or 3 spatial dimensions, the last one first; y [n, channels,
  // out..]. All contiguous and of one floating dtype. Null where a back end has none: the definition runs.
  NEURA_KERNEL(grid_sample, forward, void(Context&, View x, View grid, View y, const GridSampling&));
  // x is read for the grid's gradient alone; gx or ggrid may be absent.
  NEURA_KERNEL(grid_sample, backward,
               void(Context&, View g, View x, View grid, View gx, View ggrid, const GridSampling&));
};

}  // namespace neura
