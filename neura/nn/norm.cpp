#include "neura/nn/norm.h"

#include "neura/autograd/recompute.h"
#include "neura/nn/repr.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/nn/norm.h"

namespace neura::nn {

NEURA_LAYER_BODY(BatchNormNd)
NEURA_LAYER_BODY(LayerNorm)
NEURA_LAYER_BODY(RMSNorm)
NEURA_LAYER_BODY(GroupNorm)
NEURA_LAYER_BODY(LocalResponseNorm)
NEURA_LAYER_BODY(CrossMapLRN2d)

BatchNormNd::BatchNormNd(int least, int most, bool per_sample, std::int64_t num_features, const BatchNormOptions& o)
    : num_features(num_features),
      eps(o.eps),
      momentum(o.momentum),
      affine(o.affine),
      track_running_stats(o.track_running_stats),
      least_(least),
      most_(most),
      per_sample_(per_sample) {
  const TensorOptions place{.dtype = o.dtype, .device = o.device};
  if (affine) weight = ones({num_features}, place), bias = zeros({num_features}, place);
  if (track_running_stats) {
    running_mean = zeros({num_features}, place), running_var = ones({num_features}, place);
    num_batches_tracked = zeros({}, {.dtype = DType::int64, .device = o.device});
  }
}

void BatchNormNd::reset_running_stats() {
  if (!track_running_stats) return;
  if (running_mean) running_mean.zero_();
  if (running_var) running_var.fill_(1);
  if (num_batches_tracked) num_batches_tracked.zero_();
}
void BatchNormNd::reset_parameters() {
  reset_running_stats();
  if (weight) weight.detach().fill_(1);
  if (bias) bias.detach().zero_();
}

// momentum none: the running statistics are the averages over all batches so far. Their count stays on the device.
static Tensor averaged(const BatchNormNd& m, const Tensor& input, Tensor running_mean, Tensor running_var) {
  Tensor mean = zeros_like(running_mean), var = zeros_like(running_var);
  Tensor y = batch_norm(input, mean, var, m.weight, m.bias, {.training = true, .momentum = 1, .eps = m.eps});
  add_(running_mean, (mean - running_mean) / m.num_batches_tracked);
  add_(running_var, (var - running_var) / m.num_batches_tracked);
  return y;
}

Tensor BatchNormNd::forward(const Tensor& input) {
  check<ShapeError>(input.dim() >= least_ && input.dim() <= most_, [&] {
    return type_name() + ": expected an input of " + std::to_string(least_) +
           (most_ > least_ ? " or " + std::to_string(most_) : std::string()) + " dimensions, got " +
           input.shape().str();
  });
  const double factor = momentum.value_or(0);
  const bool again = training && is_recomputing();  // this batch was counted already: its update is discarded
  const Tensor mean = again && running_mean ? running_mean.clone() : running_mean;
  const Tensor var = again && running_var ? running_var.clone() : running_var;
  if (per_sample_) {
    const bool alone = input.dim() == least_;  // without a batch
    const Tensor y =
        instance_norm(alone ? input.unsqueeze(0) : input, mean, var, weight, bias,
                      {.use_input_stats = training || !track_running_stats, .momentum = factor, .eps = eps});
    return alone ? y.squeeze(0) : y;
  }
  if (training && track_running_stats && num_batches_tracked) {
    if (!again) add_(num_batches_tracked, 1);
    if (!momentum && mean && var) return averaged(*this, input, mean, var);
  }
  const bool by_batch = training || (!mean && !var);
  const bool running = !training || track_running_stats;
  return batch_norm(input, running ? mean : Tensor(), running ? var : Tensor(), weight, bias,
                    {.training = by_batch, .momentum = factor, .eps = eps});
}
std::string BatchNormNd::extra_repr() const {
  return Repr()
      .add("", num_features)
      .add("eps", eps)
      .add("momentum", momentum)
      .add("affine", affine)
      .add("track_running_stats", track_running_stats);
}

LayerNorm::LayerNorm(const Dims& normalized_shape, const LayerNormOptions& o)
    : normalized_shape(normalized_shape), eps(o.eps), elementwise_affine(o.elementwise_affine) {
  if (!elementwise_affine) return;
  const TensorOptions place{.dtype = o.dtype, .device = o.device};
  weight = ones(normalized_shape, place);
  if (o.bias) bias = zeros(normalized_shape, place);
}
void LayerNorm::reset_parameters() {
  if (weight) weight.detach().fill_(1);
  if (bias) bias.detach().zero_();
}
Tensor LayerNorm::forward(const Tensor& input) const {
  return layer_norm(input, normalized_shape, weight, bias, {.eps = eps});
}
std::string LayerNorm::extra_repr() const {
  return tuple_text(normalized_shape) + ", " +
         std::string(Repr().add("eps", eps).add("elementwise_affine", elementwise_affine));
}

RMSNorm::RMSNorm(const Dims& normalized_shape, const RmsNormOptions& o)
    : normalized_shape(normalized_shape), eps(o.eps), elementwise_affine(o.elementwise_affine) {
  if (elementwise_affine) weight = ones(normalized_shape, {.dtype = o.dtype, .device = o.device});
}
void RMSNorm::reset_parameters() {
  if (weight) weight.detach().fill_(1);
}
Tensor RMSNorm::forward(const Tensor& input) const { return rms_norm(input, normalized_shape, weight, {.eps = eps}); }
std::string RMSNorm::extra_repr() const {
  return tuple_text(normalized_shape) + ", " +
         std::string(Repr().add("eps", eps).add("elementwise_affine", elementwise_affine));
}

namespace {
int within_int(const char* op, const char* what, std::int64_t n) {
  check<ValueError>(n == int(n), [&] {
    return std::string(op) + ": expected " + what + " within 32 bits, got " + std::to_string(n);
  });
  return int(n);
}
}  // namespace

GroupNorm::GroupNorm(std::int64_t num_groups, std::int64_t num_channels, const GroupNormOptions& o)
    : num_groups(num_groups), num_channels(num_channels), eps(o.eps), affine(o.affine) {
  check<ValueError>(num_groups > 0 && num_channels % num_groups == 0, [&] {
    return "GroupNorm: expected num_channels divisible by num_groups, got " + std::to_string(num_channels) + " and " +
           std::to_string(num_groups);
  });
  const TensorOptions place{.dtype = o.dtype, .device = o.device};
  if (affine) weight = ones({num_channels}, place), bias = zeros({num_channels}, place);
}
void GroupNorm::reset_parameters() {
  if (weight) weight.detach().fill_(1);
  if (bias) bias.detach().zero_();
}
Tensor GroupNorm::forward(const Tensor& input) const {
  return group_norm(input, within_int("GroupNorm", "num_groups", num_groups), weight, bias, {.eps = eps});
}
std::string GroupNorm::extra_repr() const {
  return Repr().add("", num_groups).add("", num_channels).add("eps", eps).add("affine", affine);
}

Tensor LocalResponseNorm::forward(const Tensor& input) const {
  return local_response_norm(input, within_int("LocalResponseNorm", "size", size),
                             {.alpha = alpha, .beta = beta, .k = k});
}
std::string LocalResponseNorm::extra_repr() const {
  return Repr().add("", size).add("alpha", alpha).add("beta", beta).add("k", k);
}
Tensor CrossMapLRN2d::forward(const Tensor& input) const {
  check<ShapeError>(input.dim() == 4,
                    [&] { return "CrossMapLRN2d: expected an input [N, C, H, W], got " + input.shape().str(); });
  check<ValueError>(size >= 1,
                    [&] { return "CrossMapLRN2d: expected size of at least 1, got " + std::to_string(size); });
  const std::int64_t window = (size - 1) / 2 * 2 + 1;  // an even size becomes odd, so that the window has a middle
  return local_response_norm(input, within_int("CrossMapLRN2d", "size", window),
                             {.alpha = alpha * double(window) / double(size), .beta = beta, .k = k});
}
std::string CrossMapLRN2d::extra_repr() const {
  return Repr().add("", size).add("alpha", alpha).add("beta", beta).add("k", k);
}

}  // namespace neura::nn
