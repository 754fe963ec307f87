// Normalisation and padding as Python classes.
#include "layers.h"

namespace neura::python {
namespace {

constexpr const char* kBatchNorm =
    R"(functional.batch_norm with statistics that it keeps: in training by those of the batch, in evaluation by
running_mean and running_var, their average with factor momentum (None: the plain average over all batches).

affine: weight and bias [num_features] are learned. track_running_stats: False keeps none.)";
constexpr const char* kInstanceNorm =
    R"(functional.instance_norm with parameters.

affine: weight and bias [num_features] are learned. track_running_stats: evaluation uses running statistics.)";

template <class M> void bind_statistics(nb::module_& n, const char* input, const char* doc) {
  const LayerType t = bind_layer<M>(n, (std::string("Normalises ") + input + ". " + doc).c_str());
  t.def(
      "reset_running_stats", [](M& m) { m.reset_running_stats(); },
      "Resets running means to 0, running variances to 1, num_batches_tracked to 0.");
  t.def(
      "reset_parameters", [](M& m) { m.reset_parameters(); },
      "Resets weight to 1, bias to 0, and the running statistics.");
}

void bind_others(nb::module_& n) {
  bind_layer<nn::LayerNorm>(n, R"(functional.layer_norm with parameters.

elementwise_affine: weight and bias, of normalized_shape, are learned.)")
      .def(
          "reset_parameters", [](nn::LayerNorm& m) { m.reset_parameters(); }, "Weight 1, bias 0.");
  bind_layer<nn::RMSNorm>(n, R"(functional.rms_norm with parameters.

eps: the dtype's where None. elementwise_affine: weight, of normalized_shape, is learned.)")
      .def(
          "reset_parameters", [](nn::RMSNorm& m) { m.reset_parameters(); }, "Weight 1.");
  bind_layer<nn::GroupNorm>(n, R"(functional.group_norm of [N, num_channels, *] with parameters.

affine: weight and bias [num_channels] are learned. ValueError unless num_groups divides num_channels.)")
      .def(
          "reset_parameters", [](nn::GroupNorm& m) { m.reset_parameters(); }, "Weight 1, bias 0.");
  bind_layer<nn::LocalResponseNorm>(n, "functional.local_response_norm of [N, C, *].");
  bind_layer<nn::CrossMapLRN2d>(
      n,
      "x / (k + alpha / size * the sum of squares over (size - 1) // 2 channels on each side) ** beta, of [N, C, H, "
      "W].");
}

#define NEURA_AMOUNTS \
  "\n\npadding: a number for every side, or (before, after) of the last dimension, then of the one before, …"
#define NEURA_PADS(rank)                                                                                         \
  bind_layer<nn::ZeroPad##rank##d>(n, "Pads with zeros." NEURA_AMOUNTS);                                         \
  bind_layer<nn::ReflectionPad##rank##d>(n, "Pads by reflecting the input at its borders." NEURA_AMOUNTS);       \
  bind_layer<nn::ReplicationPad##rank##d>(n, "Pads by repeating the border elements." NEURA_AMOUNTS);            \
  bind_layer<nn::CircularPad##rank##d>(n, "Pads circularly: with elements of the opposite side." NEURA_AMOUNTS); \
  bind_layer<nn::ConstantPad##rank##d>(n, "Pads with `value`." NEURA_AMOUNTS);
void bind_pads(nb::module_& n) { NEURA_PADS(1) NEURA_PADS(2) NEURA_PADS(3) }

}  // namespace

void bind_norm_layers(nb::module_& n) {
  bind_statistics<nn::BatchNorm1d>(n, "[N, C] or [N, C, L]", kBatchNorm);
  bind_statistics<nn::BatchNorm2d>(n, "[N, C, H, W]", kBatchNorm);
  bind_statistics<nn::BatchNorm3d>(n, "[N, C, D, H, W]", kBatchNorm);
  bind_statistics<nn::InstanceNorm1d>(n, "[N, C, L] or [C, L]", kInstanceNorm);
  bind_statistics<nn::InstanceNorm2d>(n, "[N, C, H, W] or [C, H, W]", kInstanceNorm);
  bind_statistics<nn::InstanceNorm3d>(n, "[N, C, D, H, W] or [C, D, H, W]", kInstanceNorm);
  bind_others(n);
  bind_pads(n);
}

}  // namespace neura::python
