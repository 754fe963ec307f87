// Normalisation and padding as Python classes.
#include "layers.h"

#include "neura/nn/norm.h"
#include "neura/nn/padding.h"

namespace neura::python {
namespace {

constexpr const char* kBatchNorm =
    R"(functional.batch_norm with statistics that it keeps: in training by those of the batch, in evaluation by
running_mean and running_var, their average with factor momentum (None: the plain average over all batches).

affine: weight and bias [num_features] are learned. track_running_stats: False keeps none.)";
constexpr const char* kInstanceNorm =
    R"(functional.instance_norm with parameters.

affine: weight and bias [num_features] are learned. track_running_stats: evaluation uses running statistics.)";

template <class M, class O> void bind_statistics(nb::module_& n, const char* input, const char* doc) {
  const O o;
  const LayerType t = bind_layer<M>(
      n, (std::string("Normalises ") + input + ". " + doc).c_str(),
      [](std::int64_t features, double eps, std::optional<double> momentum, bool affine, bool track, AnyDevice device,
         AnyDType dtype) {
        return nn::make<M>(features, O{eps, momentum, affine, track, device.value_or(default_device()), dtype});
      },
      "num_features"_a, "eps"_a = o.eps, "momentum"_a = o.momentum, "affine"_a = o.affine,
      "track_running_stats"_a = o.track_running_stats, NEURA_PLACE);
  t.def(
      "reset_running_stats", [](M& m) { m.reset_running_stats(); },
      "Resets running means to 0, running variances to 1, num_batches_tracked to 0.");
  t.def(
      "reset_parameters", [](M& m) { m.reset_parameters(); },
      "Resets weight to 1, bias to 0, and the running statistics.");
}

Dims dims_of(const Shape& s) { return Dims(s); }

void bind_others(nb::module_& n) {
  const nn::LayerNormOptions layer;
  const nn::RmsNormOptions rms;
  const nn::GroupNormOptions group;
  bind_layer<nn::LayerNorm>(
      n,
      R"(functional.layer_norm with parameters.

elementwise_affine: weight and bias, of normalized_shape, are learned.)",
      [](const Shape& shape, double eps, bool affine, bool bias, AnyDevice device, AnyDType dtype) {
        return nn::make<nn::LayerNorm>(
            dims_of(shape), nn::LayerNormOptions{eps, affine, bias, device.value_or(default_device()), dtype});
      },
      "normalized_shape"_a, "eps"_a = layer.eps, "elementwise_affine"_a = layer.elementwise_affine,
      "bias"_a = layer.bias, NEURA_PLACE)
      .def(
          "reset_parameters", [](nn::LayerNorm& m) { m.reset_parameters(); }, "Weight 1, bias 0.");
  bind_layer<nn::RMSNorm>(
      n, R"(functional.rms_norm with parameters.

eps: the dtype's where None. elementwise_affine: weight, of normalized_shape, is learned.)",
      [](const Shape& shape, std::optional<double> eps, bool affine, AnyDevice device, AnyDType dtype) {
        return nn::make<nn::RMSNorm>(dims_of(shape),
                                     nn::RmsNormOptions{eps, affine, device.value_or(default_device()), dtype});
      },
      "normalized_shape"_a, "eps"_a = rms.eps, "elementwise_affine"_a = rms.elementwise_affine, NEURA_PLACE)
      .def(
          "reset_parameters", [](nn::RMSNorm& m) { m.reset_parameters(); }, "Weight 1.");
  bind_layer<nn::GroupNorm>(
      n, R"(functional.group_norm of [N, num_channels, *] with parameters.

affine: weight and bias [num_channels] are learned. ValueError unless num_groups divides num_channels.)",
      [](std::int64_t groups, std::int64_t channels, double eps, bool affine, AnyDevice device, AnyDType dtype) {
        return nn::make<nn::GroupNorm>(groups, channels,
                                       nn::GroupNormOptions{eps, affine, device.value_or(default_device()), dtype});
      },
      "num_groups"_a, "num_channels"_a, "eps"_a = group.eps, "affine"_a = group.affine, NEURA_PLACE)
      .def(
          "reset_parameters", [](nn::GroupNorm& m) { m.reset_parameters(); }, "Weight 1, bias 0.");
}
void bind_responses(nb::module_& n) {
  const nn::LocalResponseNorm local(1);
  const nn::CrossMapLRN2d across(1);
  bind_layer<nn::LocalResponseNorm>(
      n, "functional.local_response_norm of [N, C, *].",
      [](std::int64_t size, nn::Number alpha, nn::Number beta, nn::Number k) {
        return nn::make<nn::LocalResponseNorm>(size, alpha, beta, k);
      },
      "size"_a, "alpha"_a = local.alpha, "beta"_a = local.beta, "k"_a = local.k);
  bind_layer<nn::CrossMapLRN2d>(
      n,
      "x / (k + alpha / size * the sum of squares over (size - 1) // 2 channels on each side) ** beta, of [N, C, H, "
      "W].",
      [](std::int64_t size, nn::Number alpha, nn::Number beta, nn::Number k) {
        return nn::make<nn::CrossMapLRN2d>(size, alpha, beta, k);
      },
      "size"_a, "alpha"_a = across.alpha, "beta"_a = across.beta, "k"_a = across.k);
}

template <class M> void bind_pad(nb::module_& n, const char* doc) {
  bind_layer<M>(
      n, doc, [](const Shape& padding) { return nn::make<M>(dims_of(padding)); }, "padding"_a);
}
template <class M> void bind_constant_pad(nb::module_& n, const char* doc) {
  bind_layer<M>(
      n, doc, [](const Shape& padding, nn::Number value) { return nn::make<M>(dims_of(padding), value); }, "padding"_a,
      "value"_a);
}
#define NEURA_AMOUNTS \
  "\n\npadding: a number for every side, or (before, after) of the last dimension, then of the one before, …"
#define NEURA_PADS(rank)                                                                                       \
  bind_pad<nn::ZeroPad##rank##d>(n, "Pads with zeros." NEURA_AMOUNTS);                                         \
  bind_pad<nn::ReflectionPad##rank##d>(n, "Pads by reflecting the input at its borders." NEURA_AMOUNTS);       \
  bind_pad<nn::ReplicationPad##rank##d>(n, "Pads by repeating the border elements." NEURA_AMOUNTS);            \
  bind_pad<nn::CircularPad##rank##d>(n, "Pads circularly: with elements of the opposite side." NEURA_AMOUNTS); \
  bind_constant_pad<nn::ConstantPad##rank##d>(n, "Pads with `value`." NEURA_AMOUNTS);
void bind_pads(nb::module_& n) { NEURA_PADS(1) NEURA_PADS(2) NEURA_PADS(3) }

}  // namespace

void bind_norm_layers(nb::module_& n) {
  bind_statistics<nn::BatchNorm1d, nn::BatchNormOptions>(n, "[N, C] or [N, C, L]", kBatchNorm);
  bind_statistics<nn::BatchNorm2d, nn::BatchNormOptions>(n, "[N, C, H, W]", kBatchNorm);
  bind_statistics<nn::BatchNorm3d, nn::BatchNormOptions>(n, "[N, C, D, H, W]", kBatchNorm);
  bind_statistics<nn::InstanceNorm1d, nn::InstanceNormOptions>(n, "[N, C, L] or [C, L]", kInstanceNorm);
  bind_statistics<nn::InstanceNorm2d, nn::InstanceNormOptions>(n, "[N, C, H, W] or [C, H, W]", kInstanceNorm);
  bind_statistics<nn::InstanceNorm3d, nn::InstanceNormOptions>(n, "[N, C, D, H, W] or [C, D, H, W]", kInstanceNorm);
  bind_others(n);
  bind_responses(n);
  bind_pads(n);
}

}  // namespace neura::python
