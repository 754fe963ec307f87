// Max pooling over windows that begin at fractional steps.
#pragma once
#include "neura/nn/module.h"
#include "neura/nn/per_dim_value.h"

namespace neura::nn {

struct FractionalMaxPoolOptions {
  PerDim output_size = {};                // of the spatial dimensions; or
  std::vector<double> output_ratio = {};  // the fraction of the input's sizes, between 0 and 1
  bool return_indices = false;
  Tensor _random_samples = {};  // [N, C, spatial dimensions] in [0, 1): where windows begin; else drawn at each call
  NEURA_ARGUMENTS(output_size, output_ratio, return_indices, _random_samples)
};
struct FractionalMaxPoolNd : Module {
  Tensor forward(const Tensor& input) const;
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input) const;  // what return_indices gives boxed

  Shape kernel_size;
  std::optional<Shape> output_size;
  std::optional<std::vector<double>> output_ratio;
  bool return_indices = false;
  Buffer _random_samples;
  NEURA_LAYER(FractionalMaxPoolNd, kernel_size, output_size, output_ratio, return_indices, _random_samples)
  NEURA_FORWARD("input")

 protected:
  FractionalMaxPoolNd(int rank, const PerDim& kernel_size, const FractionalMaxPoolOptions&);
  int rank_;
};

#define NEURA_POOL(rank)                                                                                               \
  struct FractionalMaxPool##rank##d final : FractionalMaxPoolNd {                                                      \
    NEURA_INIT(explicit FractionalMaxPool##rank##d, const PerDim& kernel_size, const FractionalMaxPoolOptions& o = {}) \
        : FractionalMaxPoolNd(rank, kernel_size, o) {}                                                                 \
    explicit FractionalMaxPool##rank##d(Blank) : FractionalMaxPool##rank##d(1, {.output_ratio = {0.5}}) {}             \
    NEURA_VARIANT(FractionalMaxPool##rank##d)                                                                          \
  };
NEURA_POOL(2)
NEURA_POOL(3)
#undef NEURA_POOL

}  // namespace neura::nn
