// neura.nn.functional: convolutions, pooling, normalisation, dropout, attention.
#include "network.h"

#include <nanobind/stl/array.h>

#include "neura/ops/gated.h"
#include "neura/ops/interpolate.h"
#include "neura/ops/noise.h"
#include "neura/ops/pool_more.h"
#include "numbers.h"

namespace neura::python {

void bind_more_functions(const Names&);

namespace {

using T = const Tensor&;
using P = const PerDim&;
using D = std::optional<DType>;
using Flag = std::optional<bool>;

}  // namespace
Padding padding_of(nb::handle h) {
  if (PyUnicode_Check(h.ptr())) return Padding(std::string_view(nb::cast<const char*>(h)));
  Shape s;
  if (!to_shape(h.ptr(), s)) throw nb::type_error("conv: expected padding to be numbers, 'same' or 'valid'");
  Padding p;
  p.amount = PerDim(s);
  return p;
}
std::vector<double> factors_of(nb::handle h) {
  if (h.is_none()) return {};
  Scalar s;
  if (to_scalar(h.ptr(), s)) return {s.real()};
  return numbers_of(h, "interpolate", "scale_factor");
}
PerDim result_sizes(nb::handle given) {
  if (given.is_none()) return kKeepSize;
  PerDim size;
  if (!to_shape(given.ptr(), size, true)) throw nb::type_error("output_size: expected an integer, a tuple or None");
  check<ValueError>(!size.empty(),
                    [] { return std::string("output_size: expected one number or more, got an empty tuple"); });
  return size;
}
namespace {
template <Tensor (*f)(T, T, T, const ConvOptions&)> void convolution(const Functions& n, const char* name) {
  n.function(
      name,
      [](T x, T w, T b, P stride, nb::handle padding, P dilation, std::int64_t groups) {
        return f(x, w, b, {stride, padding_of(padding), dilation, groups});
      },
      "input"_a, "weight"_a, "bias"_a = nb::none(), "stride"_a = 1, "padding"_a = 0, "dilation"_a = 1, "groups"_a = 1);
}
template <Tensor (*f)(T, T, T, const ConvTransposeOptions&)> void transposed(const Functions& n, const char* name) {
  n.function(
      name,
      [](T x, T w, T b, P stride, P padding, P output_padding, std::int64_t groups, P dilation) {
        return f(x, w, b, {stride, padding, output_padding, groups, dilation});
      },
      "input"_a, "weight"_a, "bias"_a = nb::none(), "stride"_a = 1, "padding"_a = 0, "output_padding"_a = 0,
      "groups"_a = 1, "dilation"_a = 1);
}
template <Tensor (*f)(T, P, const MaxPoolOptions&), std::array<Tensor, 2> (*g)(T, P, const MaxPoolOptions&)>
void max_pool(const Functions& n, const char* name) {
  n.function(
      name,
      [](T x, P kernel, P stride, P padding, P dilation, bool ceil, bool indices) -> nb::object {
        const MaxPoolOptions o{stride, padding, dilation, ceil};
        if (indices) return tuple_of(g(x, kernel, o));
        return nb::steal(wrap(f(x, kernel, o)));
      },
      "input"_a, "kernel_size"_a, "stride"_a = nb::none(), "padding"_a = 0, "dilation"_a = 1, "ceil_mode"_a = false,
      "return_indices"_a = false,
      "The largest value under each window; (values, places) with return_indices. See neura.nn.MaxPool2d.");
  n.function((std::string(name) + "_with_indices").c_str(),
             [](T x, P kernel, P stride, P padding, P dilation, bool ceil, bool) {
               return tuple_of(g(x, kernel, {stride, padding, dilation, ceil}));
             },
             "input"_a, "kernel_size"_a, "stride"_a = nb::none(), "padding"_a = 0, "dilation"_a = 1,
             "ceil_mode"_a = false, "return_indices"_a = false, "(the largest value under each window, its place).");
}
template <Tensor (*f)(T, P, const AvgPoolOptions&)> void average_pool(const Functions& n, const char* name) {
  n.function(
      name,
      [](T x, P kernel, P stride, P padding, bool ceil, bool include, std::optional<std::int64_t> divisor) {
        return f(x, kernel, {stride, padding, ceil, include, divisor});
      },
      "input"_a, "kernel_size"_a, "stride"_a = nb::none(), "padding"_a = 0, "ceil_mode"_a = false,
      "count_include_pad"_a = true, "divisor_override"_a = nb::none());
}
template <Tensor (*f)(T, P), std::array<Tensor, 2> (*g)(T, P)> void adaptive_max(const Functions& n, const char* name) {
  n.function(
      name,
      [](T x, nb::handle size, bool indices) -> nb::object {
        if (indices) return tuple_of(g(x, result_sizes(size)));
        return nb::steal(wrap(f(x, result_sizes(size))));
      },
      "input"_a, "output_size"_a.none(), "return_indices"_a = false,
      "The largest value under windows of such sizes that the result has output_size; None keeps the input's.");
  n.function((std::string(name) + "_with_indices").c_str(),
             [](T x, nb::handle size, bool) { return tuple_of(g(x, result_sizes(size))); }, "input"_a,
             "output_size"_a.none(), "return_indices"_a = false, "(the largest value under each window, its place).");
}
template <Tensor (*f)(T, P)> void adaptive_average(const Functions& n, const char* name) {
  n.function(
      name, [](T x, nb::handle size) { return f(x, result_sizes(size)); }, "input"_a, "output_size"_a.none(),
      "The mean under windows of such sizes that the result has output_size; None keeps the input's.");
}
template <Tensor (*f)(T, double, P, const LpPoolOptions&)> void lp_pool(const Functions& n, const char* name) {
  n.function(
      name,
      [](T x, double p, P kernel, P stride, bool ceil) {
        return f(x, p, kernel, {stride, ceil});
      },
      "input"_a, "norm_type"_a, "kernel_size"_a, "stride"_a = nb::none(), "ceil_mode"_a = false,
      "(the sum of x ** norm_type under each window) ** (1 / norm_type).");
}
template <Tensor (*f)(T, T, P, const MaxUnpoolOptions&)> void unpool(const Functions& n, const char* name) {
  n.function(
      name,
      [](T x, T indices, P kernel, P stride, P padding, const std::optional<Shape>& size) {
        return f(x, indices, kernel, {stride, padding, size.value_or(Shape())});
      },
      "input"_a, "indices"_a, "kernel_size"_a, "stride"_a = nb::none(), "padding"_a = 0, "output_size"_a = nb::none(),
      "The inverse of max pooling: each value at its place, 0 elsewhere.");
}
void bind_pools(const Functions& n) {
  max_pool<max_pool1d, max_pool1d_with_indices>(n, "max_pool1d");
  max_pool<max_pool2d, max_pool2d_with_indices>(n, "max_pool2d");
  max_pool<max_pool3d, max_pool3d_with_indices>(n, "max_pool3d");
  average_pool<avg_pool1d>(n, "avg_pool1d"), average_pool<avg_pool2d>(n, "avg_pool2d"),
      average_pool<avg_pool3d>(n, "avg_pool3d");
  adaptive_max<adaptive_max_pool1d, adaptive_max_pool1d_with_indices>(n, "adaptive_max_pool1d");
  adaptive_max<adaptive_max_pool2d, adaptive_max_pool2d_with_indices>(n, "adaptive_max_pool2d");
  adaptive_max<adaptive_max_pool3d, adaptive_max_pool3d_with_indices>(n, "adaptive_max_pool3d");
  adaptive_average<adaptive_avg_pool1d>(n, "adaptive_avg_pool1d"),
      adaptive_average<adaptive_avg_pool2d>(n, "adaptive_avg_pool2d");
  adaptive_average<adaptive_avg_pool3d>(n, "adaptive_avg_pool3d");
  lp_pool<lp_pool1d>(n, "lp_pool1d"), lp_pool<lp_pool2d>(n, "lp_pool2d"), lp_pool<lp_pool3d>(n, "lp_pool3d");
  unpool<max_unpool1d>(n, "max_unpool1d"), unpool<max_unpool2d>(n, "max_unpool2d");
  unpool<max_unpool3d>(n, "max_unpool3d");
}
void bind_norms(const Functions& n) {
  n.function(
      "layer_norm", [](T x, const Shape& s, T w, T b, double eps) { return layer_norm(x, s, w, b, {eps}); }, "input"_a,
      "normalized_shape"_a, "weight"_a = nb::none(), "bias"_a = nb::none(), "eps"_a = 1e-5);
  n.function(
      "rms_norm", [](T x, const Shape& s, T w, std::optional<double> eps) { return rms_norm(x, s, w, {eps}); },
      "input"_a, "normalized_shape"_a, "weight"_a = nb::none(), "eps"_a = nb::none());
  n.function(
      "group_norm", [](T x, int groups, T w, T b, double eps) { return group_norm(x, groups, w, b, {eps}); }, "input"_a,
      "num_groups"_a, "weight"_a = nb::none(), "bias"_a = nb::none(), "eps"_a = 1e-5);
  n.function(
      "batch_norm",
      [](T x, T mean, T var, T w, T b, bool training, double momentum, double eps) {
        return batch_norm(x, mean, var, w, b, {training, momentum, eps});
      },
      "input"_a, "running_mean"_a.none(), "running_var"_a.none(), "weight"_a = nb::none(), "bias"_a = nb::none(),
      "training"_a = false, "momentum"_a = 0.1, "eps"_a = 1e-5);
  n.function(
      "instance_norm",
      [](T x, T mean, T var, T w, T b, bool own, double momentum, double eps) {
        return instance_norm(x, mean, var, w, b, {own, momentum, eps});
      },
      "input"_a, "running_mean"_a = nb::none(), "running_var"_a = nb::none(), "weight"_a = nb::none(),
      "bias"_a = nb::none(), "use_input_stats"_a = true, "momentum"_a = 0.1, "eps"_a = 1e-5);
  n.function(
      "local_response_norm",
      [](T x, int size, double alpha, double beta, double k) {
        return local_response_norm(x, size, {alpha, beta, k});
      },
      "input"_a, "size"_a, "alpha"_a = 1e-4, "beta"_a = 0.75, "k"_a = 1.0);
  n.function("native_layer_norm", &native_layer_norm, "input"_a, "normalized_shape"_a, "weight"_a.none(),
             "bias"_a.none(), "eps"_a);
  n.function("native_batch_norm", &native_batch_norm, "input"_a, "weight"_a.none(), "bias"_a.none(),
             "running_mean"_a.none(), "running_var"_a.none(), "training"_a, "momentum"_a, "eps"_a);
}
template <Tensor (*f)(T, double, bool)> void drop(const Functions& n, const char* name, bool training) {
  n.function(
      name,
      [](Tensor x, double p, bool on, bool in_place) {
        const Tensor y = f(x, p, on);
        return in_place && on ? x.copy_(y) : y;
      },
      "input"_a, "p"_a = 0.5, "training"_a = training, "inplace"_a = false);
}
void bind_noise(const Functions& n) {
  n.function(
      "rrelu",
      [](Tensor x, double lower, double upper, bool training, bool in_place) {
        const Tensor y = rrelu(x, lower, upper, training);
        return in_place ? x.copy_(y) : y;
      },
      "input"_a, "lower"_a = 1.0 / 8, "upper"_a = 1.0 / 3, "training"_a = false, "inplace"_a = false,
      "x where positive, otherwise x times a slope drawn from [lower, upper) in training, else their mean.");
  n.function(
      "rrelu_",
      [](Tensor x, double lower, double upper, bool training) { return x.copy_(rrelu(x, lower, upper, training)); },
      "input"_a, "lower"_a = 1.0 / 8, "upper"_a = 1.0 / 3, "training"_a = false, "rrelu, in place.");
  n.function(
      "gumbel_softmax", [](T x, double tau, bool hard, double, int dim) { return gumbel_softmax(x, tau, hard, dim); },
      "logits"_a, "tau"_a = 1.0, "hard"_a = false, "eps"_a = 1e-10, "dim"_a = -1,
      R"(A relaxed sample of the categorical distribution with these logits: softmax((logits + noise) / tau) along dim.

hard: one-hot, with the gradient of the relaxed sample. eps: of no effect, as in torch.)");
}
void bind_activations(const Functions& n) {
  n.function(
      "gelu", [](T x, const char* how) { return gelu(x, {how}); }, "input"_a, nb::kw_only(), "approximate"_a = "none");
  n.function(
      "hardtanh",
      [](Tensor& x, double lo, double hi, bool in_place) {
        return in_place ? hardtanh_(x, {lo, hi}) : hardtanh(x, {lo, hi});
      },
      "input"_a, "min_val"_a = -1.0, "max_val"_a = 1.0, "inplace"_a = false);
  n.function(
      "threshold",
      [](Tensor& x, Scalar at, Scalar v, bool in_place) {
        return in_place ? threshold_(x, at, v) : threshold(x, at, v);
      },
      "input"_a, "threshold"_a, "value"_a, "inplace"_a = false);
  n.function(
      "celu", [](Tensor& x, double alpha, bool in_place) { return in_place ? celu_(x, {alpha}) : celu(x, {alpha}); },
      "input"_a, "alpha"_a = 1.0, "inplace"_a = false);
  n.function(
      "softshrink", [](T x, double l) { return softshrink(x, {l}); }, "input"_a, "lambd"_a = 0.5);
  n.function(
      "threshold_", [](Tensor& x, Scalar at, Scalar v) { return threshold_(x, at, v); }, "input"_a, "threshold"_a,
      "value"_a, "threshold, in place.");
  n.function(
      "hardtanh_",
      [](Tensor& x, double lo, double hi) {
        return hardtanh_(x, {lo, hi});
      },
      "input"_a, "min_val"_a = -1.0, "max_val"_a = 1.0, "hardtanh, in place.");
  n.function(
      "celu_", [](Tensor& x, double alpha) { return celu_(x, {alpha}); }, "input"_a, "alpha"_a = 1.0,
      "celu, in place.");
  n.function("softsign", &softsign, "input"_a).function("tanhshrink", &tanhshrink, "input"_a);
  n.function("glu", &glu, "input"_a, "dim"_a = -1);
  const auto along = [](T x, std::optional<int> dim, int) {
    return dim.value_or(x.dim() == 0 || x.dim() == 1 || x.dim() == 3 ? 0 : 1);
  };
  n.function(
      "softmax", [along](T x, std::optional<int> dim, int s, D d) { return softmax(x, along(x, dim, s), d); },
      "input"_a, "dim"_a = nb::none(), "_stacklevel"_a = 3, "dtype"_a = nb::none());
  n.function(
      "log_softmax", [along](T x, std::optional<int> dim, int s, D d) { return log_softmax(x, along(x, dim, s), d); },
      "input"_a, "dim"_a = nb::none(), "_stacklevel"_a = 3, "dtype"_a = nb::none());
  n.function(
      "softmin", [along](T x, std::optional<int> dim, int s, D d) { return softmin(x, along(x, dim, s), d); },
      "input"_a, "dim"_a = nb::none(), "_stacklevel"_a = 3, "dtype"_a = nb::none());
}
void bind_interpolation(const Functions& n) {
  n.function(
      "interpolate",
      [](T x, P size, nb::handle factor, const char* mode, Flag corners, Flag recompute, bool antialias) {
        return interpolate(x, {size, factors_of(factor), mode, corners, recompute.value_or(false), antialias});
      },
      "input"_a, "size"_a = nb::none(), "scale_factor"_a = nb::none(), "mode"_a = "nearest",
      "align_corners"_a = nb::none(), "recompute_scale_factor"_a = nb::none(), "antialias"_a = false,
      R"(Resizes the spatial dimensions of [N, C, spatial..] to size, or by scale_factor.

mode: 'nearest', 'nearest-exact', 'linear' (1 spatial dimension), 'bilinear', 'bicubic' (2), 'trilinear' (3), 'area'
align_corners: of the linear and cubic modes: the corners' centres stay where they are; otherwise their edges
antialias: 'bilinear' and 'bicubic' average over what shrinks, as Pillow does

ValueError for options that do not go together.

>>> neura.nn.functional.interpolate(neura.ones(1, 1, 2, 2), scale_factor=2).shape
neura.Size([1, 1, 4, 4]))");
  n.function(
      "upsample",
      [](T x, P size, nb::handle factor, const char* mode, Flag corners) {
        return interpolate(x, {size, factors_of(factor), mode, corners});
      },
      "input"_a, "size"_a = nb::none(), "scale_factor"_a = nb::none(), "mode"_a = "nearest",
      "align_corners"_a = nb::none(), "interpolate, by its older name.");
  n.function(
      "upsample_nearest",
      [](T x, P size, nb::handle f) {
        return interpolate(x, {size, factors_of(f)});
      },
      "input"_a, "size"_a = nb::none(), "scale_factor"_a = nb::none(), "interpolate with mode='nearest'.");
  n.function(
      "upsample_bilinear",
      [](T x, P size, nb::handle f) {
        return interpolate(x, {size, factors_of(f), "bilinear", true});
      },
      "input"_a, "size"_a = nb::none(), "scale_factor"_a = nb::none(),
      "interpolate with mode='bilinear', align_corners=True.");
}
void bind_others(const Functions& n) {
  n.function("linear", &linear, "input"_a, "weight"_a, "bias"_a = nb::none());
  n.function("bilinear", &bilinear, "input1"_a, "input2"_a, "weight"_a, "bias"_a = nb::none());
  n.function(
      "embedding",
      [](T x, T w, std::optional<std::int64_t> pad, std::optional<double> max_norm, double type, bool by_freq,
         bool sparse) {
        return embedding(x, w, {pad, max_norm, type, by_freq, sparse});
      },
      "input"_a, "weight"_a, "padding_idx"_a = nb::none(), "max_norm"_a = nb::none(), "norm_type"_a = 2.0,
      "scale_grad_by_freq"_a = false, "sparse"_a = false);
  n.function("one_hot", &one_hot, "tensor"_a, "num_classes"_a = -1);
  n.function(
      "scaled_dot_product_attention",
      [](T q, T k, T v, T mask, double p, bool causal, std::optional<double> scale, bool gqa) {
        return scaled_dot_product_attention(q, k, v, {mask, p, causal, scale, gqa});
      },
      "query"_a, "key"_a, "value"_a, "attn_mask"_a = nb::none(), "dropout_p"_a = 0.0, "is_causal"_a = false,
      nb::kw_only(), "scale"_a = nb::none(), "enable_gqa"_a = false);
  n.function(
      "pad",
      [](T x, const std::vector<std::int64_t>& p, const char* mode, std::optional<Scalar> v) {
        return pad(x, p, mode, v.value_or(Scalar(0.0)));
      },
      "input"_a, "pad"_a, "mode"_a = "constant", "value"_a = nb::none());
  n.function("constant_pad_nd", &constant_pad_nd, "input"_a, "pad"_a, "value"_a = Scalar(0));
  n.function("pixel_shuffle", &pixel_shuffle, "input"_a, "upscale_factor"_a)
      .function("pixel_unshuffle", &pixel_unshuffle, "input"_a, "downscale_factor"_a);
  n.function("channel_shuffle", &channel_shuffle, "input"_a, "groups"_a);
  n.function("native_channel_shuffle", &channel_shuffle, "input"_a, "groups"_a);
  n.function(
      "unfold",
      [](T x, P kernel, P dilation, P padding, P stride) {
        return unfold(x, kernel, {dilation, padding, stride});
      },
      "input"_a, "kernel_size"_a, "dilation"_a = 1, "padding"_a = 0, "stride"_a = 1);
  n.function(
      "fold",
      [](T x, P size, P kernel, P dilation, P padding, P stride) {
        return fold(x, size, kernel, {dilation, padding, stride});
      },
      "input"_a, "output_size"_a, "kernel_size"_a, "dilation"_a = 1, "padding"_a = 0, "stride"_a = 1);
}

}  // namespace

void bind_network(const Names& names) {
  const Functions n{names};
  convolution<conv1d>(n, "conv1d"), convolution<conv2d>(n, "conv2d"), convolution<conv3d>(n, "conv3d");
  transposed<conv_transpose1d>(n, "conv_transpose1d"), transposed<conv_transpose2d>(n, "conv_transpose2d");
  transposed<conv_transpose3d>(n, "conv_transpose3d");
  bind_pools(n);
  bind_norms(n);
  drop<dropout>(n, "dropout", true), drop<dropout1d>(n, "dropout1d", true), drop<dropout2d>(n, "dropout2d", true);
  drop<dropout3d>(n, "dropout3d", true), drop<alpha_dropout>(n, "alpha_dropout", false);
  drop<feature_alpha_dropout>(n, "feature_alpha_dropout", false);
  bind_activations(n);
  bind_noise(n);
  bind_interpolation(n);
  bind_others(n);
  bind_more_functions(names);
}

}  // namespace neura::python
