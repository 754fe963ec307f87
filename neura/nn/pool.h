// Pooling over one, two and three spatial dimensions of [N, C, spatial..] or [C, spatial..].
#pragma once
#include "neura/nn/module.h"
#include "neura/nn/per_dim_value.h"

namespace neura::nn {

struct MaxPoolOptions {
  PerDim stride = {};  // empty: the kernel's size
  PerDim padding = 0, dilation = 1;
  bool return_indices = false;
  bool ceil_mode = false;
  NEURA_ARGUMENTS(stride, padding, dilation, return_indices, ceil_mode)
};
struct MaxPoolNd : Module {
  Tensor forward(const Tensor& input) const;
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input) const;  // what return_indices gives boxed
  std::string extra_repr() const override;

  PerDim kernel_size, stride, padding, dilation;
  bool return_indices = false, ceil_mode = false;
  NEURA_LAYER(MaxPoolNd, kernel_size, stride, padding, dilation, return_indices, ceil_mode)
  NEURA_FORWARD("input")

 protected:
  MaxPoolNd(int rank, const PerDim& kernel_size, const MaxPoolOptions&);
  int rank_;
};

struct AvgPoolOptions {
  PerDim stride = {};
  PerDim padding = 0;
  bool ceil_mode = false, count_include_pad = true;
  std::optional<std::int64_t> divisor_override = {};
  NEURA_ARGUMENTS(stride, padding, ceil_mode, count_include_pad, divisor_override)
};
struct AvgPoolNd : Module {
  Tensor forward(const Tensor& input) const;
  std::string extra_repr() const override;

  PerDim kernel_size, stride, padding;
  bool ceil_mode, count_include_pad;
  std::optional<std::int64_t> divisor_override;
  NEURA_LAYER(AvgPoolNd, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
  NEURA_FORWARD("input")

 protected:
  AvgPoolNd(int rank, const PerDim& kernel_size, const AvgPoolOptions&);
  int rank_;
};

struct AdaptiveAvgPoolNd : Module {
  Tensor forward(const Tensor& input) const;
  std::string extra_repr() const override;

  PerDim output_size;  // kKeepSize: the input's
  NEURA_LAYER(AdaptiveAvgPoolNd, output_size)
  NEURA_FORWARD("input")

 protected:
  AdaptiveAvgPoolNd(int rank, const PerDim& output_size) : output_size(output_size), rank_(rank) {}
  int rank_;
};

struct AdaptiveMaxPoolNd : Module {
  Tensor forward(const Tensor& input) const;
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input) const;
  std::string extra_repr() const override;

  PerDim output_size;
  bool return_indices;
  NEURA_LAYER(AdaptiveMaxPoolNd, output_size, return_indices)
  NEURA_FORWARD("input")

 protected:
  AdaptiveMaxPoolNd(int rank, const PerDim& output_size, bool return_indices)
      : output_size(output_size), return_indices(return_indices), rank_(rank) {}
  int rank_;
};

#define NEURA_POOL(rank)                                                                                            \
  struct MaxPool##rank##d final : MaxPoolNd {                                                                       \
    NEURA_INIT(explicit MaxPool##rank##d, const PerDim& kernel_size, const MaxPoolOptions& o = {})                  \
        : MaxPoolNd(rank, kernel_size, o) {}                                                                        \
    explicit MaxPool##rank##d(Blank) : MaxPool##rank##d(PerDim(1)) {}                                               \
    NEURA_VARIANT(MaxPool##rank##d)                                                                                 \
  };                                                                                                                \
  struct AvgPool##rank##d final : AvgPoolNd {                                                                       \
    NEURA_INIT(explicit AvgPool##rank##d, const PerDim& kernel_size, const AvgPoolOptions& o = {})                  \
        : AvgPoolNd(rank, kernel_size, o) {}                                                                        \
    explicit AvgPool##rank##d(Blank) : AvgPool##rank##d(PerDim(1)) {}                                               \
    NEURA_VARIANT(AvgPool##rank##d)                                                                                 \
  };                                                                                                                \
  struct AdaptiveAvgPool##rank##d final : AdaptiveAvgPoolNd {                                                       \
    explicit AdaptiveAvgPool##rank##d(const PerDim& output_size) : AdaptiveAvgPoolNd(rank, output_size) {}          \
    explicit AdaptiveAvgPool##rank##d(Blank) : AdaptiveAvgPool##rank##d(PerDim(1)) {}                               \
    NEURA_VARIANT(AdaptiveAvgPool##rank##d)                                                                         \
  };                                                                                                                \
  struct AdaptiveMaxPool##rank##d final : AdaptiveMaxPoolNd {                                                       \
    explicit AdaptiveMaxPool##rank##d(const PerDim& output_size, bool return_indices = false)                       \
        : AdaptiveMaxPoolNd(rank, output_size, return_indices) {}                                                   \
    explicit AdaptiveMaxPool##rank##d(std::initializer_list<std::int64_t> output_size, bool return_indices = false) \
        : AdaptiveMaxPoolNd(rank, output_size, return_indices) {}                                                   \
    explicit AdaptiveMaxPool##rank##d(Blank) : AdaptiveMaxPool##rank##d(PerDim(1)) {}                               \
    NEURA_VARIANT(AdaptiveMaxPool##rank##d)                                                                         \
  };
NEURA_POOL(1)
NEURA_POOL(2)
NEURA_POOL(3)
#undef NEURA_POOL

}  // namespace neura::nn
