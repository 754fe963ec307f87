// Pooling by p-norms, and the inverse of max pooling.
#pragma once
#include "neura/nn/module.h"
#include "neura/nn/per_dim_value.h"
#include "neura/ops/spatial/pool_composed.h"

namespace neura::nn {

struct LpPoolNd : Module {
  Tensor forward(const Tensor& input) const;
  std::string extra_repr() const override;

  Number norm_type;
  PerDim kernel_size, stride;  // stride may be empty: the kernel's size
  bool ceil_mode;
  NEURA_LAYER(LpPoolNd, norm_type, kernel_size, stride, ceil_mode)
  NEURA_FORWARD("input")

 protected:
  LpPoolNd(int rank, Number norm_type, const PerDim& kernel_size, const LpPoolOptions&);
  int rank_;
};

struct UnpoolOptions {
  PerDim stride = {};  // empty: the kernel's size
  PerDim padding = 0;
  NEURA_ARGUMENTS(stride, padding)
};
struct MaxUnpoolNd : Module {
  Tensor forward(const Tensor& input, const Tensor& indices, const std::optional<Shape>& output_size = {}) const;
  std::string extra_repr() const override;

  Shape kernel_size, stride, padding;
  NEURA_LAYER(MaxUnpoolNd, kernel_size, stride, padding)
  NEURA_FORWARD("input", "indices", arg{"output_size"} = none)

 protected:
  MaxUnpoolNd(int rank, const PerDim& kernel_size, const UnpoolOptions&);
  int rank_;
};

#define NEURA_POOL(rank)                                                                                  \
  struct LPPool##rank##d final : LpPoolNd {                                                               \
    NEURA_INIT(LPPool##rank##d, Number norm_type, const PerDim& kernel_size, const LpPoolOptions& o = {}) \
        : LpPoolNd(rank, norm_type, kernel_size, o) {}                                                    \
    explicit LPPool##rank##d(Blank) : LPPool##rank##d(2, 1) {}                                            \
    NEURA_VARIANT(LPPool##rank##d)                                                                        \
  };                                                                                                      \
  struct MaxUnpool##rank##d final : MaxUnpoolNd {                                                         \
    NEURA_INIT(explicit MaxUnpool##rank##d, const PerDim& kernel_size, const UnpoolOptions& o = {})       \
        : MaxUnpoolNd(rank, kernel_size, o) {}                                                            \
    explicit MaxUnpool##rank##d(Blank) : MaxUnpool##rank##d(PerDim(1)) {}                                 \
    NEURA_VARIANT(MaxUnpool##rank##d)                                                                     \
  };
NEURA_POOL(1)
NEURA_POOL(2)
NEURA_POOL(3)
#undef NEURA_POOL

}  // namespace neura::nn
