// Pixels resized straight into the planes of a batch.
#pragma once
#include <array>
#include <vector>

#include "neura/data/jpeg.h"

namespace neura::data {

// A part of a picture, in its pixels: whole numbers, unless the picture was decoded at a smaller size.
struct Box {
  double top, left, height, width;
};

// The average over each result's pixels, weighted by a triangle, as with antialias in Pillow and PyTorch; bilinear
// where the picture grows. Pixels around the box count where the triangle reaches them. Then v * scale + shift, by
// channel. Keeps its memory from picture to picture: one for each thread.
class Resampler {
 public:
  using PerChannel = std::array<float, 4>;
  // To `out`, [channels, height, width]; `flip`: left becomes right.
  void to_float(const Pixels&, const Box&, std::int64_t height, std::int64_t width, bool flip, const PerChannel& scale,
                const PerChannel& shift, float* out);
  // Rounded to uint8.
  void to_bytes(const Pixels&, const Box&, std::int64_t height, std::int64_t width, bool flip, std::uint8_t* out);

 private:
  std::vector<float> lines_, planes_;
};

}  // namespace neura::data
