// neura.nn.functional: normalisation, dropout, activations, attention, interpolation, arrangements.
#include "neura/op/row.h"
#include "neura/ops/nn/attention.h"
#include "neura/ops/nn/embedding.h"
#include "neura/ops/nn/functions.h"
#include "neura/ops/nn/norm.h"
#include "neura/ops/nn/random_activation.h"
#include "neura/ops/nn/softmax.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/random/dropout.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/spatial/conv.h"
#include "neura/ops/spatial/interpolate.h"
#include "neura/surface/list.h"

namespace neura::surface {
namespace {

using T = const Tensor&;
using P = const PerDim&;
using D = std::optional<DType>;
using Flag = std::optional<bool>;
using Factors = const std::optional<Numbers>&;

void add_table(const List& s) {
#include "neura/surface/entries.h"
#include "neura/tables/functions/functional.def"
#include "neura/tables/functions/end.h"
}

void add_norms(const List& s) {
  s.add(
      "layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5)",
      [](T x, const Shape& shape, T w, T b, double eps) { return layer_norm(x, shape, w, b, {eps}); }, function,
      "Layer normalisation (Ba et al., 2016) over the last len(normalized_shape) dimensions: (x - mean) / sqrt(var + "
      "eps) * weight + bias.");
  s.add(
       "rms_norm(input, normalized_shape, weight=None, eps=None)",
       [](T x, const Shape& shape, T w, std::optional<double> eps) { return rms_norm(x, shape, w, {eps}); }, function,
       "RMS normalisation (Zhang and Sennrich, 2019) over the last len(normalized_shape) dimensions: x / "
       "sqrt(mean(x^2) + eps) * weight.")
      .also("neura");
  s.add(
      "group_norm(input, num_groups, weight=None, bias=None, eps=1e-5)",
      [](T x, int groups, T w, T b, double eps) { return group_norm(x, groups, w, b, {eps}); }, function,
      "Group normalisation (Wu and He, 2018) of [N, C, *]: (x - mean) / sqrt(var + eps) over each of num_groups groups "
      "of channels, then * weight + bias, both [C].");
  s.add(
      "batch_norm(input, running_mean?, running_var?, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5)",
      [](T x, T mean, T var, T w, T b, bool training, double momentum, double eps) {
        return batch_norm(x, mean, var, w, b, {training, momentum, eps});
      },
      function,
      "Batch normalisation (Ioffe and Szegedy, 2015) of [N, C, *]: (x - mean) / sqrt(var + eps) * weight + bias per "
      "channel. training: by statistics of the batch, with which running_mean and running_var are updated in place; "
      "else by those.");
  s.add(
      "instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, "
      "momentum=0.1, eps=1e-5)",
      [](T x, T mean, T var, T w, T b, bool own, double momentum, double eps) {
        return instance_norm(x, mean, var, w, b, {own, momentum, eps});
      },
      function,
      "Instance normalisation (Ulyanov et al., 2016) of [N, C, *]: (x - mean) / sqrt(var + eps) over each channel of "
      "each sample, then * weight + bias.");
  s.add(
      "local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1)",
      [](T x, int size, double alpha, double beta, double k) {
        return local_response_norm(x, size, {alpha, beta, k});
      },
      function,
      "Local response normalisation (Krizhevsky et al., 2012): x / (k + alpha * mean of x^2 over size neighbouring "
      "channels) ** beta.");
  s.add("native_layer_norm(input, normalized_shape, weight?, bias?, eps)", &native_layer_norm, function,
        "layer_norm and its statistics: (output, mean, rstd), rstd = 1 / sqrt(var + eps).")
      .also("neura");
  s.add("native_batch_norm(input, weight?, bias?, running_mean?, running_var?, training, momentum, eps)",
        &native_batch_norm, function,
        "batch_norm and its statistics: (output, mean, rstd), rstd = 1 / sqrt(var + eps).")
      .also("neura");
}

template <Tensor (*f)(T, double, bool)> Tensor drop(Tensor x, double p, bool on, bool in_place) {
  const Tensor y = f(x, p, on);
  return in_place && on ? x.copy_(y) : y;
}
void add_dropouts(const List& s) {
  s.add("dropout(input, p=0.5, training=True, inplace=False)", &drop<dropout>, function,
        "In training, sets each element to 0 with probability p and scales the others by 1 / (1 - p). ValueError for p "
        "outside [0, 1].");
  s.add("dropout1d(input, p=0.5, training=True, inplace=False)", &drop<dropout1d>, function,
        "dropout of whole channels of [N, C, L] or [C, L].");
  s.add("dropout2d(input, p=0.5, training=True, inplace=False)", &drop<dropout2d>, function,
        "dropout of whole channels of [N, C, H, W].");
  s.add("dropout3d(input, p=0.5, training=True, inplace=False)", &drop<dropout3d>, function,
        "dropout of whole channels of [N, C, D, H, W] or [C, D, H, W].");
  s.add("alpha_dropout(input, p=0.5, training=False, inplace=False)", &drop<alpha_dropout>, function,
        "Alpha dropout (Klambauer et al., 2017): dropout that keeps the mean and variance of SELU activations.");
  s.add("feature_alpha_dropout(input, p=0.5, training=False, inplace=False)", &drop<feature_alpha_dropout>, function,
        "alpha_dropout of whole channels.");
  s.add(
       "rrelu(input, lower=0.125, upper=0.3333333333333333, training=False, inplace=False)",
       [](Tensor x, double lower, double upper, bool training, bool in_place) {
         const Tensor y = rrelu(x, lower, upper, training);
         return in_place ? x.copy_(y) : y;
       },
       function,
       "Randomised leaky ReLU (Xu et al., 2015): x for x > 0, else a * x, with a drawn from [lower, upper) in training "
       "and (lower + upper) / 2 otherwise.")
      .also("neura");
  s.add(
       "rrelu_(input, lower=0.125, upper=0.3333333333333333, training=False)",
       [](Tensor& x, double lower, double upper, bool training) { x.copy_(rrelu(x, lower, upper, training)); },
       function, "rrelu, in place.")
      .also("neura");
  s.add(
      "gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1)",
      [](T x, double tau, bool hard, double, int dim) { return gumbel_softmax(x, tau, hard, dim); }, function,
      R"(A Gumbel-softmax sample (Jang et al., 2017): softmax((logits + Gumbel noise) / tau) along dim.

hard: one-hot, with the gradient of the relaxed sample. eps: of no effect, as in torch.)");
}

// The dimension that functions of torch take where none is given.
int dimension(T x, std::optional<int> dim) {
  return dim.value_or(x.dim() == 0 || x.dim() == 1 || x.dim() == 3 ? 0 : 1);
}
void add_activations(const List& s) {
  s.add(
      "gelu(input, *, approximate='none')", [](T x, const char* how) { return gelu(x, {how}); }, function,
      "GELU (Hendrycks and Gimpel, 2016): x * Phi(x), Phi the standard normal CDF; approximate='tanh': its tanh "
      "approximation.");
  s.add(
      "hardtanh(input, min_val=-1, max_val=1, inplace=False)",
      [](Tensor x, double lo, double hi, bool in_place) {
        return in_place ? hardtanh_(x, {lo, hi}) : hardtanh(x, {lo, hi});
      },
      function, rows::_hardtanh.text);
  s.add(
      "hardtanh_(input, min_val=-1, max_val=1)",
      [](Tensor& x, double lo, double hi) {
        hardtanh_(x, {lo, hi});
      },
      function, "hardtanh, in place.");
  s.add(
       "threshold(input, threshold, value, inplace=False)",
       [](Tensor x, Scalar at, Scalar v, bool in_place) {
         return in_place ? threshold_(x, at, v) : threshold(x, at, v);
       },
       function, rows::_threshold.text)
      .also("neura");
  s.add(
       "threshold_(input, threshold, value)", [](Tensor& x, Scalar at, Scalar v) { threshold_(x, at, v); }, function,
       "threshold, in place.")
      .also("neura");
  s.add(
      "celu(input, alpha=1, inplace=False)",
      [](Tensor x, double alpha, bool in_place) { return in_place ? celu_(x, {alpha}) : celu(x, {alpha}); }, function,
      rows::_celu.text);
  s.add(
      "celu_(input, alpha=1)", [](Tensor& x, double alpha) { celu_(x, {alpha}); }, function, "celu, in place.");
  s.add(
      "softshrink(input, lambd=0.5)", [](T x, double l) { return softshrink(x, {l}); }, function,
      rows::_softshrink.text);
  s.add("softsign(input)", &softsign, function, rows::_softsign.text);
  s.add("tanhshrink(input)", &tanhshrink, function, rows::_tanhshrink.text);
  s.add(
      "softmax(input, dim=None, _stacklevel=3, dtype=None)",
      [](T x, std::optional<int> dim, int, D d) { return softmax(x, dimension(x, dim), d); }, function,
      "exp(x) / sum(exp(x)) along dim: values in [0, 1] that sum to 1.");
  s.add(
      "log_softmax(input, dim=None, _stacklevel=3, dtype=None)",
      [](T x, std::optional<int> dim, int, D d) { return log_softmax(x, dimension(x, dim), d); }, function,
      "log(softmax(x)) along dim, computed without overflow.");
  s.add(
      "softmin(input, dim=None, _stacklevel=3, dtype=None)",
      [](T x, std::optional<int> dim, int, D d) { return softmin(x, dimension(x, dim), d); }, function,
      "softmax of -x along dim.");
}

Numbers given(Factors factors) { return factors.value_or(Numbers()); }
void add_interpolation(const List& s) {
  s.add(
      "interpolate(input, size=None, scale_factor=None, mode='nearest', align_corners=None, "
      "recompute_scale_factor=None, antialias=False)",
      [](T x, P size, Factors factor, const char* mode, Flag corners, Flag recompute, bool antialias) {
        return interpolate(x, {size, given(factor), mode, corners, recompute.value_or(false), antialias});
      },
      function,
      R"(Resizes the spatial dimensions of [N, C, spatial..] to size, or by scale_factor.

mode: 'nearest', 'nearest-exact', 'linear' (1 spatial dimension), 'bilinear', 'bicubic' (2), 'trilinear' (3), 'area'
align_corners: of the linear and cubic modes: the corners' centres stay where they are; otherwise their edges
antialias: 'bilinear' and 'bicubic' average over what shrinks, as Pillow does

ValueError for options that do not go together.

>>> neura.nn.functional.interpolate(neura.ones(1, 1, 2, 2), scale_factor=2).shape
neura.Size([1, 1, 4, 4]))");
  s.add(
      "upsample(input, size=None, scale_factor=None, mode='nearest', align_corners=None)",
      [](T x, P size, Factors factor, const char* mode, Flag corners) {
        return interpolate(x, {size, given(factor), mode, corners});
      },
      function, "The older name of interpolate.");
  s.add(
      "upsample_nearest(input, size=None, scale_factor=None)",
      [](T x, P size, Factors factor) {
        return interpolate(x, {size, given(factor)});
      },
      function, "interpolate with mode='nearest'.");
  s.add(
      "upsample_bilinear(input, size=None, scale_factor=None)",
      [](T x, P size, Factors factor) {
        return interpolate(x, {size, given(factor), "bilinear", true});
      },
      function, "interpolate with mode='bilinear', align_corners=True.");
}

void add_products(const List& s) {
  s.add(
      "scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0, is_causal=False, *, scale=None, "
      "enable_gqa=False)",
      [](T q, T k, T v, T mask, double p, bool causal, std::optional<double> scale, bool gqa) {
        return scaled_dot_product_attention(q, k, v, {mask, p, causal, scale, gqa});
      },
      function,
      "Scaled dot-product attention (Vaswani et al., 2017): softmax(query key^T * scale + mask) value, for query [..., "
      "L, E], key [..., S, E] and value [..., S, V] -> [..., L, V]; scale defaults to 1 / sqrt(E). attn_mask: bool "
      "(True: attend) or floating (added to the scores).");
  s.add(
      "embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, sparse=False)",
      [](T x, T w, std::optional<std::int64_t> pad, std::optional<double> max_norm, double type, bool by_freq,
         bool sparse) {
        return embedding(x, w, {pad, max_norm, type, by_freq, sparse});
      },
      function,
      "Looks up rows of weight [num_embeddings, embedding_dim]: indices [*] -> [*, embedding_dim]. IndexError for an "
      "index out of range.");
}

void add_arrangements(const List& s) {
  s.add(
      "pad(input, pad, mode='constant', value=None)",
      [](T x, const Integers& p, const char* mode, std::optional<Scalar> v) {
        return pad(x, p, mode, v.value_or(Scalar(0.0)));
      },
      function,
      "Pads the last dimensions: pad is (before, after) of the last dimension, then of the one before, ...; mode "
      "'constant' (with value), 'reflect', 'replicate' or 'circular'.");
  s.add(
      "unfold(input, kernel_size, dilation=1, padding=0, stride=1)",
      [](T x, P kernel, P dilation, P padding, P stride) {
        return unfold(x, kernel, {dilation, padding, stride});
      },
      function, "Sliding patches (im2col): [N, C, H, W] -> [N, C * kh * kw, L], L the number of windows.");
  s.add(
      "fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1)",
      [](T x, P size, P kernel, P dilation, P padding, P stride) {
        return fold(x, size, kernel, {dilation, padding, stride});
      },
      function,
      "Sums patches into an image of output_size (col2im), the adjoint of unfold: [N, C * kh * kw, L] -> [N, C, H, "
      "W].");
}

}  // namespace

void add_functional(std::deque<Function>& all) {
  const List s(all, "functional");
  add_table(s);
  add_norms(s);
  add_dropouts(s);
  add_activations(s);
  add_interpolation(s);
  add_products(s);
  add_arrangements(s);
}

}  // namespace neura::surface
