// Convolutions and pooling as Python classes.
#include "layers.h"

namespace neura::python {
namespace {

template <class M> void bind_convolution(nb::module_& n, const char* spatial) {
  const std::string doc =
      std::string("Convolution: [N, in_channels, ") + spatial + R"(] or without N -> [N, out_channels, …].

weight [out_channels, in_channels / groups, kernel_size..] and bias [out_channels], both uniform within 1 / sqrt(fan in)
at first.

kernel_size, stride, dilation: a number for every dimension or one each
padding: numbers, 'same' (the size is kept; stride 1) or 'valid' (none)
groups: divides both numbers of channels (ValueError)
padding_mode: 'zeros', 'reflect', 'replicate' or 'circular')";
  const LayerType t = bind_layer<M>(n, doc.c_str());
  t.def(
      "reset_parameters", [](M& m) { m.reset_parameters(); }, "Draws weight and bias again.");
  property(t, "output_padding", [](M& m) { return Shape::filled(m.kernel_size.size(), 0); });
}

template <class M> void bind_transposed(nb::module_& n, const char* spatial) {
  const std::string doc = std::string("Transposed convolution: [N, in_channels, ") + spatial + R"(] or without N.

weight [in_channels, out_channels / groups, kernel_size..] and bias [out_channels]; output_padding grows one side of the
result, and forward(input, output_size) chooses it so that the result has that size.)";
  const LayerType t = bind_layer<M>(n, doc.c_str());
  t.def(
      "reset_parameters", [](M& m) { m.reset_parameters(); }, "Draws weight and bias again.");
  property(t, "padding_mode", [](M&) { return "zeros"; });
}

void bind_max_pools(nb::module_& n) {
  const char* doc = R"(Max pooling over the last dimension(s); NaN counts as the largest value.

stride: kernel_size where None
return_indices: the result is (values, indices), indices into the flattened spatial dimensions of the input
ceil_mode: windows may reach over the end)";
  bind_layer<nn::MaxPool1d>(n, doc);
  bind_layer<nn::MaxPool2d>(n, doc);
  bind_layer<nn::MaxPool3d>(n, doc);
}

constexpr const char* kAveragePool = R"(Average pooling over the last dimension(s).

stride: kernel_size where None
count_include_pad: zeros of the padding count as elements)";
Shape tuple_of_all(const PerDim& s) { return s; }
void bind_average_pools(nb::module_& n) {
  const LayerType t = bind_layer<nn::AvgPool1d>(n, kAveragePool, {.without = "divisor_override"});
  property(t, "kernel_size", [](nn::AvgPool1d& m) { return tuple_of_all(m.kernel_size); });  // as torch has them
  property(t, "stride", [](nn::AvgPool1d& m) { return tuple_of_all(m.stride); });
  property(t, "padding", [](nn::AvgPool1d& m) { return tuple_of_all(m.padding); });
  bind_layer<nn::AvgPool2d>(n, kAveragePool);
  bind_layer<nn::AvgPool3d>(n, kAveragePool);
}

template <class Mean, class Max> void bind_adaptive(nb::module_& n) {
  bind_layer<Mean>(
      n, "Adaptive average pooling to output_size; None keeps the input's size.", "output_size?",
      [](const std::optional<PerDim>& size) { return nn::make<Mean>(neura::detail::adaptive_sizes(size)); });
  bind_layer<Max>(
      n,
      "Adaptive max pooling to output_size; None keeps the input's size.\n\nreturn_indices: the result is (values, "
      "indices).",
      "output_size?, return_indices=False", [](const std::optional<PerDim>& size, bool indices) {
        return nn::make<Max>(neura::detail::adaptive_sizes(size), indices);
      });
}

template <class Lp, class Unpool> void bind_more(nb::module_& n) {
  bind_layer<Lp>(n, "Power-average pooling: (sum of x ** norm_type over each window) ** (1 / norm_type).");
  bind_layer<Unpool>(
      n,
      "Partial inverse of max pooling: writes each value at its index, 0 elsewhere: forward(input, indices, "
      "output_size=None).\n\nindices: those of the pooling with return_indices=True");
}

void bind_patches(nb::module_& n) {
  bind_layer<nn::Unfold>(n, "Sliding patches (im2col): [N, C, H, W] -> [N, C * kh * kw, L], L the number of windows.");
  bind_layer<nn::Fold>(n,
                       "Sums patches into an image of output_size (col2im), the adjoint of Unfold: [N, C * kh * kw, L] "
                       "-> [N, C, H, W].");
}

template <class M> void show_factor(const LayerType& t) {
  property(t, "scale_factor", [](M& m) -> nb::object {
    if (m.scale_factor.empty()) return nb::none();
    if (m.scale_factor.size() == 1) return nb::float_(m.scale_factor[0]);
    nb::list l;
    for (double f : m.scale_factor) l.append(f);
    return nb::tuple(l);
  });
}
void bind_upsampling(nb::module_& n) {
  show_factor<nn::Upsample>(bind_layer<nn::Upsample>(
      n, "Resizes [N, C, spatial..] to size or by scale_factor; see neura.nn.functional.interpolate."));
  show_factor<nn::UpsamplingNearest2d>(bind_layer<nn::UpsamplingNearest2d>(n, "Upsample with mode='nearest'."));
  show_factor<nn::UpsamplingBilinear2d>(
      bind_layer<nn::UpsamplingBilinear2d>(n, "Upsample with mode='bilinear', align_corners=True."));
}

}  // namespace

void bind_window_layers(nb::module_& n) {
  bind_convolution<nn::Conv1d>(n, "L"), bind_convolution<nn::Conv2d>(n, "H, W"),
      bind_convolution<nn::Conv3d>(n, "D, H, W");
  bind_transposed<nn::ConvTranspose1d>(n, "L"), bind_transposed<nn::ConvTranspose2d>(n, "H, W"),
      bind_transposed<nn::ConvTranspose3d>(n, "D, H, W");
  bind_max_pools(n);
  bind_average_pools(n);
  bind_adaptive<nn::AdaptiveAvgPool1d, nn::AdaptiveMaxPool1d>(n);
  bind_adaptive<nn::AdaptiveAvgPool2d, nn::AdaptiveMaxPool2d>(n);
  bind_adaptive<nn::AdaptiveAvgPool3d, nn::AdaptiveMaxPool3d>(n);
  bind_more<nn::LPPool1d, nn::MaxUnpool1d>(n);
  bind_more<nn::LPPool2d, nn::MaxUnpool2d>(n);
  bind_more<nn::LPPool3d, nn::MaxUnpool3d>(n);
  bind_patches(n);
  bind_upsampling(n);
}

}  // namespace neura::python
