#include "neura/nn/linear.h"

#include <cmath>

#include "neura/nn/init.h"
#include "neura/nn/repr.h"
#include "neura/ops/create/create.h"
#include "neura/ops/nn/functions.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"

namespace neura::nn {

NEURA_LAYER_BODY(Linear)
NEURA_LAYER_BODY(Bilinear)
NEURA_LAYER_BODY(Identity)
NEURA_LAYER_BODY(Flatten)
NEURA_LAYER_BODY(Unflatten)
NEURA_LAYER_BODY(PixelShuffle)
NEURA_LAYER_BODY(PixelUnshuffle)
NEURA_LAYER_BODY(ChannelShuffle)

Linear::Linear(std::int64_t in_features, std::int64_t out_features, const LinearOptions& o)
    : in_features(in_features), out_features(out_features) {
  const TensorOptions place{.dtype = o.dtype, .device = o.device};
  weight = empty({out_features, in_features}, place);
  if (o.bias) bias = empty({out_features}, place);
  reset_parameters();
}
void Linear::reset_parameters() {
  init::kaiming_uniform_(weight, {.a = std::sqrt(5.0)});
  const double bound = in_features > 0 ? 1 / std::sqrt(double(in_features)) : 0;
  if (bias) init::uniform_(bias, -bound, bound);
}
Tensor Linear::forward(const Tensor& input) const { return linear(input, weight, bias); }
std::string Linear::extra_repr() const {
  return Repr().add("in_features", in_features).add("out_features", out_features).add("bias", bias.defined());
}

Bilinear::Bilinear(std::int64_t in1_features, std::int64_t in2_features, std::int64_t out_features,
                   const LinearOptions& o)
    : in1_features(in1_features), in2_features(in2_features), out_features(out_features) {
  const TensorOptions place{.dtype = o.dtype, .device = o.device};
  weight = empty({out_features, in1_features, in2_features}, place);
  if (o.bias) bias = empty({out_features}, place);
  reset_parameters();
}
void Bilinear::reset_parameters() {
  const double bound = in1_features > 0 ? 1 / std::sqrt(double(in1_features)) : 0;
  init::uniform_(weight, -bound, bound);
  if (bias) init::uniform_(bias, -bound, bound);
}
Tensor Bilinear::forward(const Tensor& input1, const Tensor& input2) const {
  return bilinear(input1, input2, weight, bias);
}
std::string Bilinear::extra_repr() const {
  return Repr()
      .add("in1_features", in1_features)
      .add("in2_features", in2_features)
      .add("out_features", out_features)
      .add("bias", bias.defined());
}

Tensor Flatten::forward(const Tensor& input) const { return flatten(input, start_dim, end_dim); }
std::string Flatten::extra_repr() const { return Repr().add("start_dim", start_dim).add("end_dim", end_dim); }

Tensor Unflatten::forward(const Tensor& input) const { return unflatten(input, dim, unflattened_size); }
std::string Unflatten::extra_repr() const { return Repr().add("dim", dim).add("unflattened_size", unflattened_size); }

Tensor PixelShuffle::forward(const Tensor& input) const { return pixel_shuffle(input, upscale_factor); }
std::string PixelShuffle::extra_repr() const { return Repr().add("upscale_factor", upscale_factor); }

Tensor PixelUnshuffle::forward(const Tensor& input) const { return pixel_unshuffle(input, downscale_factor); }
std::string PixelUnshuffle::extra_repr() const { return Repr().add("downscale_factor", downscale_factor); }

Tensor ChannelShuffle::forward(const Tensor& input) const { return channel_shuffle(input, groups); }
std::string ChannelShuffle::extra_repr() const { return Repr().add("groups", groups); }

}  // namespace neura::nn
