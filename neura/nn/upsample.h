// Resizing of images and other signals, [N, C, spatial..].
#pragma once
#include "neura/nn/module.h"
#include "neura/nn/per_dim_value.h"
#include "neura/ops/spatial/interpolate.h"

namespace neura::nn {

struct UpsampleOptions {  // as interpolate's
  PerDim size = {};
  std::vector<double> scale_factor = {};
  std::string mode = "nearest";
  std::optional<bool> align_corners = {};
  std::optional<bool> recompute_scale_factor = {};
  NEURA_ARGUMENTS(size, scale_factor, mode, align_corners, recompute_scale_factor)
};
struct UpsampleNd : Module {
  Tensor forward(const Tensor& input) const;
  std::string extra_repr() const override;

  PerDim size;
  std::vector<double> scale_factor;
  std::string mode;
  std::optional<bool> align_corners, recompute_scale_factor;
  NEURA_LAYER(UpsampleNd, size, scale_factor, mode, align_corners, recompute_scale_factor)
  NEURA_FORWARD("input")

 protected:
  UpsampleNd(const char* name, const UpsampleOptions&);
};
struct Upsample final : UpsampleNd {
  NEURA_INIT(explicit Upsample, const UpsampleOptions& o = {}) : UpsampleNd("Upsample", o) {}
  NEURA_VARIANT(Upsample)
};
struct UpsamplingNearest2d final : UpsampleNd {
  NEURA_INIT(explicit UpsamplingNearest2d, const PerDim& size = {}, const std::vector<double>& scale_factor = {})
      : UpsampleNd("UpsamplingNearest2d", {.size = size, .scale_factor = scale_factor}) {}
  NEURA_VARIANT(UpsamplingNearest2d)
};
struct UpsamplingBilinear2d final : UpsampleNd {  // with align_corners
  NEURA_INIT(explicit UpsamplingBilinear2d, const PerDim& size = {}, const std::vector<double>& scale_factor = {})
      : UpsampleNd("UpsamplingBilinear2d",
                   {.size = size, .scale_factor = scale_factor, .mode = "bilinear", .align_corners = true}) {}
  NEURA_VARIANT(UpsamplingBilinear2d)
};

}  // namespace neura::nn
