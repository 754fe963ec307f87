// MobileNetV2 (Sandler et al., 2018), by torchvision's names.
#pragma once
#include <array>
#include <vector>

#include "neura/nn/container.h"

namespace neura::models {

// A narrow input made wide, convolved channel by channel, and narrow again: [N, inp, H, W] -> [N, oup, H', W'].
// ValueError for a stride other than 1 and 2.
struct InvertedResidual final : nn::Module {
  InvertedResidual(std::int64_t inp, std::int64_t oup, std::int64_t stride, double expand_ratio);
  explicit InvertedResidual(nn::Blank) {}
  Tensor forward(const Tensor& x);

  bool use_res_connect = false;
  nn::Child<nn::Sequential> conv;
  NEURA_LAYER(InvertedResidual, use_res_connect, conv)
  NEURA_FORWARD("x")
};

struct MobileNetV2Options {
  std::int64_t num_classes = 1000;
  double width_mult = 1;  // how many channels, as a part of the paper's
  // Rows: expansion, channels, how many, stride of the first. Empty: the paper's.
  std::vector<std::array<std::int64_t, 4>> inverted_residual_setting = {};
  std::int64_t round_nearest = 8;  // channels are multiples of it
  double dropout = 0.2;
};
// Pictures [N, 3, H, W] to scores [N, num_classes].
struct MobileNetV2 final : nn::Module {
  explicit MobileNetV2(const MobileNetV2Options& = {});
  Tensor forward(const Tensor& x);

  nn::Child<nn::Sequential> features, classifier;
  NEURA_LAYER(MobileNetV2, features, classifier)
  NEURA_FORWARD("x")
};
Ref<MobileNetV2> mobilenet_v2(const MobileNetV2Options& = {});  // a MobileNetV2 on the heap

}  // namespace neura::models
