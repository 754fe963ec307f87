// Convolutions and their transposes over one, two and three spatial dimensions.
#pragma once
#include "neura/core/device_scope.h"
#include "neura/nn/module.h"
#include "neura/nn/per_dim_value.h"

namespace neura::nn {

struct ConvOptions {
  PerDim stride = 1;
  Padding padding = 0;  // numbers, "same" or "valid"
  PerDim dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  std::string padding_mode = "zeros";  // or "reflect", "replicate", "circular"
  Device device = default_device();
  std::optional<DType> dtype = {};
  NEURA_ARGUMENTS(stride, padding, dilation, groups, bias, padding_mode, device, dtype)
};
// [N, in_channels, spatial..] or without N -> [N, out_channels, spatial..].
struct ConvNd : Module {
  Tensor forward(const Tensor& input) const;
  void reset_parameters();  // uniform within 1 / sqrt(fan in)
  std::string extra_repr() const override;

  std::int64_t in_channels = 0, out_channels = 0;
  Shape kernel_size, stride, dilation;
  Padding padding;
  std::int64_t groups = 1;
  std::string padding_mode = "zeros";
  Parameter weight, bias;  // [out, in / groups, kernel..], [out]
  NEURA_LAYER(ConvNd, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, padding_mode, weight,
              bias)
  NEURA_FORWARD("input")

 protected:
  ConvNd(int rank, std::int64_t in_channels, std::int64_t out_channels, const PerDim& kernel_size, const ConvOptions&);
  ConvNd(int rank, Blank) : rank_(rank) {}
  int rank_ = 0;
};
#define NEURA_CONV(Name, rank)                                                                       \
  struct Name final : ConvNd {                                                                       \
    NEURA_INIT(Name, std::int64_t in_channels, std::int64_t out_channels, const PerDim& kernel_size, \
               const ConvOptions& o = {})                                                            \
        : ConvNd(rank, in_channels, out_channels, kernel_size, o) {}                                 \
    explicit Name(Blank b) : ConvNd(rank, b) {}                                                      \
    NEURA_VARIANT(Name)                                                                              \
  };
NEURA_CONV(Conv1d, 1)
NEURA_CONV(Conv2d, 2)
NEURA_CONV(Conv3d, 3)
#undef NEURA_CONV

struct ConvTransposeOptions {
  PerDim stride = 1, padding = 0, output_padding = 0;
  std::int64_t groups = 1;
  bool bias = true;
  PerDim dilation = 1;
  std::string padding_mode = "zeros";  // nothing else
  Device device = default_device();
  std::optional<DType> dtype = {};
  NEURA_ARGUMENTS(stride, padding, output_padding, groups, bias, dilation, padding_mode, device, dtype)
};
struct ConvTransposeNd : Module {
  // output_size, of the spatial dimensions or of all, takes the place of output_padding.
  Tensor forward(const Tensor& input, const std::optional<Shape>& output_size = {}) const;
  void reset_parameters();
  std::string extra_repr() const override;

  std::int64_t in_channels = 0, out_channels = 0;
  Shape kernel_size, stride, padding, output_padding, dilation;
  std::int64_t groups = 1;
  Parameter weight, bias;  // [in, out / groups, kernel..], [out]
  NEURA_LAYER(ConvTransposeNd, in_channels, out_channels, kernel_size, stride, padding, output_padding, dilation,
              groups, weight, bias)
  NEURA_FORWARD("input", arg{"output_size"} = none)

 protected:
  ConvTransposeNd(int rank, std::int64_t in_channels, std::int64_t out_channels, const PerDim& kernel_size,
                  const ConvTransposeOptions&);
  ConvTransposeNd(int rank, Blank) : rank_(rank) {}
  Shape padding_for(const Tensor& input, const Shape& output_size) const;
  int rank_ = 0;
};
#define NEURA_CONV(Name, rank)                                                                       \
  struct Name final : ConvTransposeNd {                                                              \
    NEURA_INIT(Name, std::int64_t in_channels, std::int64_t out_channels, const PerDim& kernel_size, \
               const ConvTransposeOptions& o = {})                                                   \
        : ConvTransposeNd(rank, in_channels, out_channels, kernel_size, o) {}                        \
    explicit Name(Blank b) : ConvTransposeNd(rank, b) {}                                             \
    NEURA_VARIANT(Name)                                                                              \
  };
NEURA_CONV(ConvTranspose1d, 1)
NEURA_CONV(ConvTranspose2d, 2)
NEURA_CONV(ConvTranspose3d, 3)
#undef NEURA_CONV

// The patches under a sliding window of [N, C, H, W] or [C, H, W] as columns, and back, where they add up.
struct Unfold final : Module {
  NEURA_INIT(explicit Unfold, const PerDim& kernel_size, const UnfoldOptions& = {});
  explicit Unfold(Blank) : Unfold(PerDim(1)) {}
  Tensor forward(const Tensor& input) const;
  std::string extra_repr() const override;

  PerDim kernel_size, dilation, padding, stride;
  NEURA_LAYER(Unfold, kernel_size, dilation, padding, stride)
  NEURA_FORWARD("input")
};
struct Fold final : Module {
  NEURA_INIT(Fold, const PerDim& output_size, const PerDim& kernel_size, const UnfoldOptions& = {});
  explicit Fold(Blank) : Fold(1, 1) {}
  Tensor forward(const Tensor& input) const;
  std::string extra_repr() const override;

  PerDim output_size, kernel_size, dilation, padding, stride;
  NEURA_LAYER(Fold, output_size, kernel_size, dilation, padding, stride)
  NEURA_FORWARD("input")
};

}  // namespace neura::nn
