// Normalisation: subtract a mean, divide by a deviation, scale and shift. Statistics of halves are float32.
#pragma once
#include <array>
#include <optional>

#include "neura/core/tensor.h"

namespace neura {

struct NormOptions {
  double eps = 1e-5;
};
struct RmsNormOptions {
  std::optional<double> eps = {};  // else the epsilon of the dtype
};
struct BatchNormOptions {
  bool training = false;
  double momentum = 0.1;  // running = (1 - momentum) * running + momentum * of the batch
  double eps = 1e-5;
};
struct InstanceNormOptions {
  bool use_input_stats = true;
  double momentum = 0.1;
  double eps = 1e-5;
};
struct LocalResponseNormOptions {
  double alpha = 1e-4, beta = 0.75, k = 1;
};

// Over the last dimensions, whose sizes are `normalized_shape`; weight and bias, of that shape, may be absent.
// ShapeError where the shapes do not agree.
Tensor layer_norm(const Tensor& input, const Shape& normalized_shape, const Tensor& weight = {},
                  const Tensor& bias = {}, NormOptions = {});
// x / sqrt(mean(x²) + eps) * weight over the last dimensions.
Tensor rms_norm(const Tensor& input, const Shape& normalized_shape, const Tensor& weight = {}, RmsNormOptions = {});
// Of [N, C, *]: over each of `num_groups` groups of channels; weight and bias [C] may be absent.
Tensor group_norm(const Tensor& input, int num_groups, const Tensor& weight = {}, const Tensor& bias = {},
                  NormOptions = {});
// Of [N, C] or [N, C, *]: over all but the channels. In training by the statistics of the batch, by which running_mean
// and running_var, if given, are updated in place; else by the running ones, which are then required. ValueError in
// training for a single value per channel.
Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight = {},
                  const Tensor& bias = {}, BatchNormOptions = {});
// Of [N, C, *]: batch_norm of each sample by itself.
Tensor instance_norm(const Tensor& input, const Tensor& running_mean = {}, const Tensor& running_var = {},
                     const Tensor& weight = {}, const Tensor& bias = {}, InstanceNormOptions = {});
// x / (k + alpha * mean of x² over `size` neighbouring channels)^beta, of [N, C, *].
Tensor local_response_norm(const Tensor& input, int size, LocalResponseNormOptions = {});

// torch's native_ functions: the result, the mean and 1 / deviation.
std::array<Tensor, 3> native_layer_norm(const Tensor& input, const Shape& normalized_shape, const Tensor& weight,
                                        const Tensor& bias, double eps);
std::array<Tensor, 3> native_group_norm(const Tensor& input, int num_groups, const Tensor& weight, const Tensor& bias,
                                        double eps);
std::array<Tensor, 3> native_batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                                        const Tensor& running_mean, const Tensor& running_var, bool training,
                                        double momentum, double eps);

}  // namespace neura
