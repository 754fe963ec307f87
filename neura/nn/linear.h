// Linear, and the layers that only change a shape.
#pragma once
#include "neura/core/device_scope.h"
#include "neura/nn/module.h"

namespace neura::nn {

struct LinearOptions {
  bool bias = true;
  Device device = default_device();
  std::optional<DType> dtype = {};
  NEURA_ARGUMENTS(bias, device, dtype)
};
// y = x weightᵀ + bias: [..., in_features] -> [..., out_features].
struct Linear : Module {
  NEURA_INIT(Linear, std::int64_t in_features, std::int64_t out_features, const LinearOptions& = {});
  explicit Linear(Blank) {}
  Tensor forward(const Tensor& input) const;
  void reset_parameters();  // uniform within 1 / sqrt(in_features)
  std::string extra_repr() const override;

  std::int64_t in_features = 0, out_features = 0;
  Parameter weight, bias;  // [out, in], [out]
  NEURA_LAYER(Linear, in_features, out_features, weight, bias)
  NEURA_FORWARD("input")
};

// The projection of MultiheadAttention: a Linear under PyTorch's name.
struct NonDynamicallyQuantizableLinear final : Linear {
  using Linear::Linear;
  NEURA_VARIANT(NonDynamicallyQuantizableLinear)
};

// y = x1ᵀ weight x2 + bias: [..., in1] and [..., in2] -> [..., out].
struct Bilinear final : Module {
  NEURA_INIT(Bilinear, std::int64_t in1_features, std::int64_t in2_features, std::int64_t out_features,
             const LinearOptions& = {});
  explicit Bilinear(Blank) {}
  Tensor forward(const Tensor& input1, const Tensor& input2) const;
  void reset_parameters();  // uniform within 1 / sqrt(in1_features)
  std::string extra_repr() const override;

  std::int64_t in1_features = 0, in2_features = 0, out_features = 0;
  Parameter weight, bias;  // [out, in1, in2], [out]
  NEURA_LAYER(Bilinear, in1_features, in2_features, out_features, weight, bias)
  NEURA_FORWARD("input1", "input2")
};

struct Identity final : Module {  // returns its input; a placeholder
  NEURA_INIT(Identity) {}
  Tensor forward(const Tensor& input) const { return input; }
  NEURA_LAYER(Identity)
  NEURA_FORWARD("input")
};

struct Flatten final : Module {  // flattens dimensions start_dim to end_dim into one
  NEURA_INIT(explicit Flatten, int start_dim = 1, int end_dim = -1) : start_dim(start_dim), end_dim(end_dim) {}
  Tensor forward(const Tensor& input) const;
  std::string extra_repr() const override;

  int start_dim, end_dim;
  NEURA_LAYER(Flatten, start_dim, end_dim)
  NEURA_FORWARD("input")
};

struct Unflatten final : Module {  // splits one dimension into several, of which one size may be -1
  NEURA_INIT(Unflatten, int dim, const Shape& unflattened_size) : dim(dim), unflattened_size(unflattened_size) {}
  explicit Unflatten(Blank) : dim(0) {}
  Tensor forward(const Tensor& input) const;
  std::string extra_repr() const override;

  int dim;
  Shape unflattened_size;
  NEURA_LAYER(Unflatten, dim, unflattened_size)
  NEURA_FORWARD("input")
};

struct PixelShuffle final : Module {  // [..., C r², H, W] -> [..., C, H r, W r]
  NEURA_INIT(explicit PixelShuffle, std::int64_t upscale_factor) : upscale_factor(upscale_factor) {}
  explicit PixelShuffle(Blank) : upscale_factor(1) {}
  Tensor forward(const Tensor& input) const;
  std::string extra_repr() const override;

  std::int64_t upscale_factor;
  NEURA_LAYER(PixelShuffle, upscale_factor)
  NEURA_FORWARD("input")
};

struct PixelUnshuffle final : Module {  // and back
  NEURA_INIT(explicit PixelUnshuffle, std::int64_t downscale_factor) : downscale_factor(downscale_factor) {}
  explicit PixelUnshuffle(Blank) : downscale_factor(1) {}
  Tensor forward(const Tensor& input) const;
  std::string extra_repr() const override;

  std::int64_t downscale_factor;
  NEURA_LAYER(PixelUnshuffle, downscale_factor)
  NEURA_FORWARD("input")
};

struct ChannelShuffle final : Module {  // [N, groups, C / groups, *] -> [N, C / groups, groups, *]
  NEURA_INIT(explicit ChannelShuffle, std::int64_t groups) : groups(groups) {}
  explicit ChannelShuffle(Blank) : groups(1) {}
  Tensor forward(const Tensor& input) const;
  std::string extra_repr() const override;

  std::int64_t groups;
  NEURA_LAYER(ChannelShuffle, groups)
  NEURA_FORWARD("input")
};

}  // namespace neura::nn
