// Normalisation layers.
#pragma once
#include "neura/core/device_scope.h"
#include "neura/nn/module.h"

namespace neura::nn {

struct BatchNormOptions {
  double eps = 1e-5;
  std::optional<double> momentum = 0.1;  // none: the average over all batches
  bool affine = true;
  bool track_running_stats = true;
  Device device = default_device();
  std::optional<DType> dtype = {};
  NEURA_ARGUMENTS(eps, momentum, affine, track_running_stats, device, dtype)
};
// In training normalises by the statistics of the batch and updates the running ones; in evaluation by the running
// ones.
struct BatchNormNd : Module {
  Tensor forward(const Tensor& input);
  void reset_running_stats();
  void reset_parameters();
  std::string extra_repr() const override;

  std::int64_t num_features = 0;
  double eps = 1e-5;
  std::optional<double> momentum;
  bool affine = true, track_running_stats = true;
  Parameter weight, bias;                                 // [C], if affine
  Buffer running_mean, running_var, num_batches_tracked;  // [C], [C], []; if track_running_stats
  NEURA_LAYER(BatchNormNd, num_features, eps, momentum, affine, track_running_stats, weight, bias, running_mean,
              running_var, num_batches_tracked)
  NEURA_FORWARD("input")

 protected:
  BatchNormNd(int least, int most, bool per_sample, std::int64_t num_features, const BatchNormOptions&);
  int least_, most_;  // dimensions of the input
  bool per_sample_;   // true for instance norm: statistics per sample
};
struct InstanceNormOptions {
  double eps = 1e-5;
  std::optional<double> momentum = 0.1;
  bool affine = false;
  bool track_running_stats = false;
  Device device = default_device();
  std::optional<DType> dtype = {};
  NEURA_ARGUMENTS(eps, momentum, affine, track_running_stats, device, dtype)
};
#define NEURA_NORM(Name, Options, least, most, per_sample)                                        \
  struct Name final : BatchNormNd {                                                               \
    NEURA_INIT(explicit Name, std::int64_t num_features, const Options& o = {})                   \
        : BatchNormNd(least, most, per_sample, num_features,                                      \
                      {o.eps, o.momentum, o.affine, o.track_running_stats, o.device, o.dtype}) {} \
    explicit Name(Blank) : Name(0) {}                                                             \
    NEURA_VARIANT(Name)                                                                           \
  };
NEURA_NORM(BatchNorm1d, BatchNormOptions, 2, 3, false)       // [N, C] or [N, C, L]
NEURA_NORM(BatchNorm2d, BatchNormOptions, 4, 4, false)       // [N, C, H, W]
NEURA_NORM(BatchNorm3d, BatchNormOptions, 5, 5, false)       // [N, C, D, H, W]
NEURA_NORM(InstanceNorm1d, InstanceNormOptions, 2, 3, true)  // [C, L] or [N, C, L]
NEURA_NORM(InstanceNorm2d, InstanceNormOptions, 3, 4, true)
NEURA_NORM(InstanceNorm3d, InstanceNormOptions, 4, 5, true)
#undef NEURA_NORM

struct LayerNormOptions {
  double eps = 1e-5;
  bool elementwise_affine = true;
  bool bias = true;
  Device device = default_device();
  std::optional<DType> dtype = {};
  NEURA_ARGUMENTS(eps, elementwise_affine, bias, device, dtype)
};
struct LayerNorm final : Module {  // over the last dimensions
  NEURA_INIT(explicit LayerNorm, const Dims& normalized_shape, const LayerNormOptions& = {});
  explicit LayerNorm(std::initializer_list<std::int64_t> normalized_shape, const LayerNormOptions& o = {})
      : LayerNorm(Dims(normalized_shape), o) {}
  explicit LayerNorm(Blank) {}
  Tensor forward(const Tensor& input) const;
  void reset_parameters();  // weight 1, bias 0
  std::string extra_repr() const override;

  Shape normalized_shape;
  double eps = 1e-5;
  bool elementwise_affine = true;
  Parameter weight, bias;  // normalized_shape
  NEURA_LAYER(LayerNorm, normalized_shape, eps, elementwise_affine, weight, bias)
  NEURA_FORWARD("input")
};

struct RmsNormOptions {
  std::optional<double> eps = {};  // the dtype's
  bool elementwise_affine = true;
  Device device = default_device();
  std::optional<DType> dtype = {};
  NEURA_ARGUMENTS(eps, elementwise_affine, device, dtype)
};
struct RMSNorm final : Module {
  NEURA_INIT(explicit RMSNorm, const Dims& normalized_shape, const RmsNormOptions& = {});
  explicit RMSNorm(std::initializer_list<std::int64_t> normalized_shape, const RmsNormOptions& o = {})
      : RMSNorm(Dims(normalized_shape), o) {}
  explicit RMSNorm(Blank) {}
  Tensor forward(const Tensor& input) const;
  void reset_parameters();  // weight 1
  std::string extra_repr() const override;

  Shape normalized_shape;
  std::optional<double> eps;
  bool elementwise_affine = true;
  Parameter weight;
  NEURA_LAYER(RMSNorm, normalized_shape, eps, elementwise_affine, weight)
  NEURA_FORWARD("x")  // torch's name
};

struct GroupNormOptions {
  double eps = 1e-5;
  bool affine = true;
  Device device = default_device();
  std::optional<DType> dtype = {};
  NEURA_ARGUMENTS(eps, affine, device, dtype)
};
struct GroupNorm final : Module {  // over groups of channels of [N, C, *]
  NEURA_INIT(GroupNorm, std::int64_t num_groups, std::int64_t num_channels, const GroupNormOptions& = {});
  explicit GroupNorm(Blank) {}
  Tensor forward(const Tensor& input) const;
  void reset_parameters();  // weight 1, bias 0
  std::string extra_repr() const override;

  std::int64_t num_groups = 1, num_channels = 0;
  double eps = 1e-5;
  bool affine = true;
  Parameter weight, bias;  // [C]
  NEURA_LAYER(GroupNorm, num_groups, num_channels, eps, affine, weight, bias)
  NEURA_FORWARD("input")
};

struct LocalResponseNorm final : Module {
  NEURA_INIT(explicit LocalResponseNorm, std::int64_t size, Number alpha = 1e-4, Number beta = 0.75, Number k = 1.0)
      : size(size), alpha(alpha), beta(beta), k(k) {}
  explicit LocalResponseNorm(Blank) : LocalResponseNorm(1) {}
  Tensor forward(const Tensor& input) const;
  std::string extra_repr() const override;

  std::int64_t size;
  Number alpha, beta, k;
  NEURA_LAYER(LocalResponseNorm, size, alpha, beta, k)
  NEURA_FORWARD("input")
};

// x / (k + alpha / size * the sum of squares over (size - 1) / 2 channels on each side)^beta, of [N, C, H, W].
struct CrossMapLRN2d final : Module {
  NEURA_INIT(explicit CrossMapLRN2d, std::int64_t size, Number alpha = 1e-4, Number beta = 0.75, Number k = 1)
      : size(size), alpha(alpha), beta(beta), k(k) {}
  explicit CrossMapLRN2d(Blank) : CrossMapLRN2d(1) {}
  Tensor forward(const Tensor& input) const;
  std::string extra_repr() const override;

  std::int64_t size;
  Number alpha, beta, k;
  NEURA_LAYER(CrossMapLRN2d, size, alpha, beta, k)
  NEURA_FORWARD("input")
};

}  // namespace neura::nn
