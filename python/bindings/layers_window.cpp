// Convolutions and pooling as Python classes.
#include "layers.h"

#include "neura/nn/conv.h"
#include "neura/nn/pool.h"
#include "neura/nn/pool_composed.h"
#include "neura/nn/upsample.h"
#include "network.h"

namespace neura::python {
namespace {

using Count = std::optional<std::int64_t>;

template <class M> void bind_convolution(nb::module_& n, const char* spatial) {
  const nn::ConvOptions o;
  const std::string doc =
      std::string("Convolution: [N, in_channels, ") + spatial + R"(] or without N -> [N, out_channels, …].

weight [out_channels, in_channels / groups, kernel_size..] and bias [out_channels], both uniform within 1 / sqrt(fan in)
at first.

kernel_size, stride, dilation: a number for every dimension or one each
padding: numbers, 'same' (the size is kept; stride 1) or 'valid' (none)
groups: divides both numbers of channels (ValueError)
padding_mode: 'zeros', 'reflect', 'replicate' or 'circular')";
  const LayerType t = bind_layer<M>(
      n, doc.c_str(),
      [](std::int64_t in, std::int64_t out, const PerDim& kernel, const PerDim& stride, nb::handle padding,
         const PerDim& dilation, std::int64_t groups, bool bias, std::string mode, AnyDevice device, AnyDType dtype) {
        return nn::make<M>(in, out, kernel,
                           nn::ConvOptions{stride, padding_of(padding), dilation, groups, bias, std::move(mode),
                                           device.value_or(default_device()), dtype});
      },
      "in_channels"_a, "out_channels"_a, "kernel_size"_a, "stride"_a = o.stride[0], "padding"_a = o.padding.amount[0],
      "dilation"_a = o.dilation[0], "groups"_a = o.groups, "bias"_a = o.bias, "padding_mode"_a = o.padding_mode,
      NEURA_PLACE);
  t.def(
      "reset_parameters", [](M& m) { m.reset_parameters(); }, "Draws weight and bias anew.");
  property(t, "output_padding", [](M& m) { return Shape::filled(m.kernel_size.size(), 0); });
}

template <class M> void bind_transposed(nb::module_& n, const char* spatial) {
  const nn::ConvTransposeOptions o;
  const std::string doc = std::string("Transposed convolution: [N, in_channels, ") + spatial + R"(] or without N.

weight [in_channels, out_channels / groups, kernel_size..] and bias [out_channels]; output_padding grows one side of the
result, and forward(input, output_size) chooses it so that the result has that size.)";
  const LayerType t = bind_layer<M>(
      n, doc.c_str(),
      [](std::int64_t in, std::int64_t out, const PerDim& kernel, const PerDim& stride, const PerDim& padding,
         const PerDim& output_padding, std::int64_t groups, bool bias, const PerDim& dilation, const std::string& mode,
         AnyDevice device, AnyDType dtype) {
        check<ValueError>(mode == "zeros",
                          [&] { return std::string(M::class_name()) + ": expected padding_mode zeros, got " + mode; });
        return nn::make<M>(in, out, kernel,
                           nn::ConvTransposeOptions{stride, padding, output_padding, groups, bias, dilation,
                                                    device.value_or(default_device()), dtype});
      },
      "in_channels"_a, "out_channels"_a, "kernel_size"_a, "stride"_a = o.stride[0], "padding"_a = o.padding[0],
      "output_padding"_a = o.output_padding[0], "groups"_a = o.groups, "bias"_a = o.bias, "dilation"_a = o.dilation[0],
      "padding_mode"_a = "zeros", NEURA_PLACE);
  t.def(
      "reset_parameters", [](M& m) { m.reset_parameters(); }, "Draws weight and bias anew.");
  property(t, "padding_mode", [](M&) { return "zeros"; });
}

template <class M> void bind_max_pool(nb::module_& n, const char* doc) {
  const nn::MaxPoolOptions o;
  bind_layer<M>(
      n, doc,
      [](const PerDim& kernel, const PerDim& stride, const PerDim& padding, const PerDim& dilation, bool indices,
         bool ceil) {
        return nn::make<M>(kernel, nn::MaxPoolOptions{stride, padding, dilation, indices, ceil});
      },
      "kernel_size"_a, "stride"_a = nb::none(), "padding"_a = o.padding[0], "dilation"_a = o.dilation[0],
      "return_indices"_a = o.return_indices, "ceil_mode"_a = o.ceil_mode);
}
void bind_max_pools(nb::module_& n) {
  const char* doc = R"(Max pooling over the last dimension(s); NaN counts as the largest value.

stride: kernel_size where None
return_indices: the result is (values, indices), indices into the flattened spatial dimensions of the input
ceil_mode: windows may reach over the end)";
  bind_max_pool<nn::MaxPool1d>(n, doc);
  bind_max_pool<nn::MaxPool2d>(n, doc);
  bind_max_pool<nn::MaxPool3d>(n, doc);
}

constexpr const char* kAveragePool = R"(Average pooling over the last dimension(s).

stride: kernel_size where None
count_include_pad: zeros of the padding count as elements)";
Shape tuple_of_all(const PerDim& s) { return s; }
template <class M> void bind_average_pool(nb::module_& n) {
  const nn::AvgPoolOptions o;
  bind_layer<M>(
      n, kAveragePool,
      [](const PerDim& kernel, const PerDim& stride, const PerDim& padding, bool ceil, bool include, Count divisor) {
        return nn::make<M>(kernel, nn::AvgPoolOptions{stride, padding, ceil, include, divisor});
      },
      "kernel_size"_a, "stride"_a = nb::none(), "padding"_a = o.padding[0], "ceil_mode"_a = o.ceil_mode,
      "count_include_pad"_a = o.count_include_pad, "divisor_override"_a = o.divisor_override);
}
void bind_average_pools(nb::module_& n) {
  const nn::AvgPoolOptions o;
  const LayerType t = bind_layer<nn::AvgPool1d>(
      n, kAveragePool,
      [](const PerDim& kernel, const PerDim& stride, const PerDim& padding, bool ceil, bool include) {
        return nn::make<nn::AvgPool1d>(kernel, nn::AvgPoolOptions{stride, padding, ceil, include});
      },
      "kernel_size"_a, "stride"_a = nb::none(), "padding"_a = o.padding[0], "ceil_mode"_a = o.ceil_mode,
      "count_include_pad"_a = o.count_include_pad);
  property(t, "kernel_size", [](nn::AvgPool1d& m) { return tuple_of_all(m.kernel_size); });  // as torch has them
  property(t, "stride", [](nn::AvgPool1d& m) { return tuple_of_all(m.stride); });
  property(t, "padding", [](nn::AvgPool1d& m) { return tuple_of_all(m.padding); });
  bind_average_pool<nn::AvgPool2d>(n);
  bind_average_pool<nn::AvgPool3d>(n);
}

template <class Mean, class Max> void bind_adaptive(nb::module_& n) {
  bind_layer<Mean>(
      n, "Adaptive average pooling to output_size; None keeps the input's size.",
      [](nb::handle size) { return nn::make<Mean>(result_sizes(size)); }, "output_size"_a.none());
  bind_layer<Max>(
      n,
      "Adaptive max pooling to output_size; None keeps the input's size.\n\nreturn_indices: the result is (values, "
      "indices).",
      [](nb::handle size, bool indices) { return nn::make<Max>(result_sizes(size), indices); }, "output_size"_a.none(),
      "return_indices"_a = false);
}

template <class Lp, class Unpool> void bind_more(nb::module_& n) {
  bind_layer<Lp>(
      n, "Power-average pooling: (sum of x ** norm_type over each window) ** (1 / norm_type).",
      [](nn::Number p, const PerDim& kernel, const PerDim& stride, bool ceil) {
        return nn::make<Lp>(p, kernel, LpPoolOptions{stride, ceil});
      },
      "norm_type"_a, "kernel_size"_a, "stride"_a = nb::none(), "ceil_mode"_a = LpPoolOptions().ceil_mode);
  bind_layer<Unpool>(
      n,
      "Partial inverse of max pooling: writes each value at its index, 0 elsewhere: forward(input, indices, "
      "output_size=None).\n\nindices: those of the pooling with return_indices=True",
      [](const PerDim& kernel, const PerDim& stride, const PerDim& padding) {
        return nn::make<Unpool>(kernel, nn::UnpoolOptions{stride, padding});
      },
      "kernel_size"_a, "stride"_a = nb::none(), "padding"_a = nn::UnpoolOptions().padding[0]);
}

void bind_patches(nb::module_& n) {
  const UnfoldOptions o;
  bind_layer<nn::Unfold>(
      n, "Sliding patches (im2col): [N, C, H, W] -> [N, C * kh * kw, L], L the number of windows.",
      [](const PerDim& kernel, const PerDim& dilation, const PerDim& padding, const PerDim& stride) {
        return nn::make<nn::Unfold>(kernel, UnfoldOptions{dilation, padding, stride});
      },
      "kernel_size"_a, "dilation"_a = o.dilation[0], "padding"_a = o.padding[0], "stride"_a = o.stride[0]);
  bind_layer<nn::Fold>(
      n,
      "Sums patches into an image of output_size (col2im), the adjoint of Unfold: [N, C * kh * kw, L] -> [N, C, H, W].",
      [](const PerDim& size, const PerDim& kernel, const PerDim& dilation, const PerDim& padding,
         const PerDim& stride) {
        return nn::make<nn::Fold>(size, kernel, UnfoldOptions{dilation, padding, stride});
      },
      "output_size"_a, "kernel_size"_a, "dilation"_a = o.dilation[0], "padding"_a = o.padding[0],
      "stride"_a = o.stride[0]);
}

std::vector<double> checked(const char* name, const PerDim& size, nb::handle factor) {
  std::vector<double> factors = factors_of(factor);
  check<ValueError>(size.empty() || factors.empty(),
                    [&] { return std::string(name) + ": expected size or scale_factor, got both"; });
  return factors;
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
template <class M> void bind_upsampling2d(nb::module_& n, const char* doc) {
  show_factor<M>(bind_layer<M>(
      n, doc,
      [](const PerDim& size, nb::handle factor) { return nn::make<M>(size, checked(M::class_name(), size, factor)); },
      "size"_a = nb::none(), "scale_factor"_a = nb::none()));
}
void bind_upsampling(nb::module_& n) {
  show_factor<nn::Upsample>(bind_layer<nn::Upsample>(
      n, "Resizes [N, C, spatial..] to size or by scale_factor; see neura.nn.functional.interpolate.",
      [](const PerDim& size, nb::handle factor, std::string mode, std::optional<bool> corners,
         std::optional<bool> recompute) {
        return nn::make<nn::Upsample>(
            nn::UpsampleOptions{size, checked("Upsample", size, factor), std::move(mode), corners, recompute});
      },
      "size"_a = nb::none(), "scale_factor"_a = nb::none(), "mode"_a = nn::UpsampleOptions().mode,
      "align_corners"_a = nb::none(), "recompute_scale_factor"_a = nb::none()));
  bind_upsampling2d<nn::UpsamplingNearest2d>(n, "Upsample with mode='nearest'.");
  bind_upsampling2d<nn::UpsamplingBilinear2d>(n, "Upsample with mode='bilinear', align_corners=True.");
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
