// Images sampled at points: how a point becomes elements of an image.
#pragma once
#include <cstdint>

namespace neura {

enum class Sampling : std::uint8_t { linear, nearest, cubic };          // torch's numbers 0, 1, 2
enum class SamplePadding : std::uint8_t { zeros, border, reflection };  // likewise

struct GridSampling {
  Sampling mode = Sampling::linear;
  SamplePadding padding = SamplePadding::zeros;
  bool align_corners = false;  // do -1 and 1 mean the centres of the corner elements, or their outer edges?
};

}  // namespace neura
