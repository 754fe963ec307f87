#include "neura/models/mobilenet.h"

#include <algorithm>
#include <cmath>

#include "neura/core/error.h"
#include "neura/nn/activation.h"
#include "neura/nn/conv.h"
#include "neura/nn/dropout.h"
#include "neura/nn/init.h"
#include "neura/nn/linear.h"
#include "neura/nn/norm.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/spatial/pool.h"

namespace neura::models {
namespace {

using nn::make, nn::Sequential;

const std::vector<std::array<std::int64_t, 4>> kSetting = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                                           {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

// The multiple that is next to value, and not less than nine tenths of it.
std::int64_t divisible(double value, std::int64_t by) {
  const std::int64_t near = std::max(by, std::int64_t(value + double(by) / 2) / by * by);
  return double(near) < 0.9 * value ? near + by : near;
}

Ref<Sequential> conv_norm(std::int64_t in, std::int64_t out, std::int64_t kernel_size, std::int64_t stride = 1,
                          std::int64_t groups = 1) {
  return make<Sequential>(
      nn::Conv2d(in, out, kernel_size,
                 {.stride = stride, .padding = (kernel_size - 1) / 2, .groups = groups, .bias = false}),
      nn::BatchNorm2d(out), nn::ReLU6());
}

void start(nn::Module& net) {
  for (const Ref<nn::Module>& m : net.modules()) {
    if (const auto* conv = m->as<nn::Conv2d>()) {
      nn::init::kaiming_normal_(conv->weight, {.mode = "fan_out"});
    } else if (const auto* linear = m->as<nn::Linear>()) {
      nn::init::normal_(linear->weight, 0, 0.01);
      nn::init::zeros_(linear->bias);
    }
  }
}

}  // namespace

NEURA_LAYER_BODY(InvertedResidual)
NEURA_LAYER_BODY(MobileNetV2)

InvertedResidual::InvertedResidual(std::int64_t inp, std::int64_t oup, std::int64_t stride, double expand_ratio)
    : use_res_connect(stride == 1 && inp == oup) {
  check<ValueError>(stride == 1 || stride == 2,
                    [&] { return "InvertedResidual: expected stride 1 or 2, got " + std::to_string(stride); });
  const auto inside = std::int64_t(std::lround(double(inp) * expand_ratio));
  conv = make<Sequential>();
  if (expand_ratio != 1) conv->append(conv_norm(inp, inside, 1));
  conv->append(conv_norm(inside, inside, 3, stride, inside));
  conv->append(nn::Conv2d(inside, oup, 1, {.bias = false}));
  conv->append(nn::BatchNorm2d(oup));
}

Tensor InvertedResidual::forward(const Tensor& x) { return use_res_connect ? x + conv(x) : Tensor(conv(x)); }

MobileNetV2::MobileNetV2(const MobileNetV2Options& o) {
  std::int64_t channels = divisible(32 * o.width_mult, o.round_nearest);
  const std::int64_t last = divisible(1280 * std::max(1.0, o.width_mult), o.round_nearest);
  features = make<Sequential>();
  features->append(conv_norm(3, channels, 3, 2));
  for (const auto& [expansion, width, count, stride] :
       o.inverted_residual_setting.empty() ? kSetting : o.inverted_residual_setting) {
    const std::int64_t out = divisible(double(width) * o.width_mult, o.round_nearest);
    for (std::int64_t i = 0; i < count; ++i, channels = out)
      features->append(make<InvertedResidual>(channels, out, i == 0 ? stride : 1, double(expansion)));
  }
  features->append(conv_norm(channels, last, 1));
  classifier = make<Sequential>(nn::Dropout(o.dropout), nn::Linear(last, o.num_classes));
  start(*this);
}

Tensor MobileNetV2::forward(const Tensor& x) { return classifier(flatten(adaptive_avg_pool2d(features(x), 1), 1)); }

Ref<MobileNetV2> mobilenet_v2(const MobileNetV2Options& o) { return make<MobileNetV2>(o); }

}  // namespace neura::models
