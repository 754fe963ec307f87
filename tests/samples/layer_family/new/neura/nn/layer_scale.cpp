#include "neura/nn/layer_scale.h"

#include "neura/nn/repr.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"

namespace neura::nn {

NEURA_LAYER_BODY(LayerScale)
LayerScale::LayerScale(std::int64_t channels, const LayerScaleOptions& o)
    : channels(channels), weight(full({channels}, o.init, {.dtype = o.dtype, .device = o.device})) {}
Tensor LayerScale::forward(const Tensor& input) const { return input * weight; }
std::string LayerScale::extra_repr() const { return Repr().add("", channels); }

}  // namespace neura::nn
