// Channels that are scaled by learned numbers.
#pragma once
#include "neura/core/device_scope.h"
#include "neura/nn/module.h"

namespace neura::nn {

struct LayerScaleOptions {
  double init = 1e-4;
  Device device = default_device();
  std::optional<DType> dtype = {};
  NEURA_ARGUMENTS(init, device, dtype)
};
struct LayerScale final : Module {  // [..., channels]
  NEURA_INIT(explicit LayerScale, std::int64_t channels, const LayerScaleOptions& = {});
  explicit LayerScale(Blank) {}
  Tensor forward(const Tensor& input) const;
  std::string extra_repr() const override;

  std::int64_t channels = 0;
  Parameter weight;  // [channels]
  NEURA_LAYER(LayerScale, channels, weight)
  NEURA_FORWARD("input")
};

}  // namespace neura::nn
