// neura.nn.functional: convolutions and pooling.
#include "neura/ops/spatial/conv.h"
#include "neura/ops/spatial/fractional_pool.h"
#include "neura/ops/spatial/pool.h"
#include "neura/ops/spatial/pool_composed.h"
#include "neura/surface/list.h"

namespace neura::surface {
namespace {

using T = const Tensor&;
using P = const PerDim&;
using Two = std::array<Tensor, 2>;

std::string with_rank(const char* name, int rank, const char* rest) { return name + std::to_string(rank) + "d" + rest; }

template <Tensor (*f)(T, T, T, const ConvOptions&)>
Tensor convolution(T x, T w, T b, P stride, const Padding& padding, P dilation, std::int64_t groups) {
  return f(x, w, b, {stride, padding, dilation, groups});
}
template <Tensor (*f)(T, T, T, const ConvTransposeOptions&)>
Tensor transposed(T x, T w, T b, P stride, P padding, P output_padding, std::int64_t groups, P dilation) {
  return f(x, w, b, {stride, padding, output_padding, groups, dilation});
}
template <auto f, auto g> void add_convolution(const List& s, int rank, const char* text, const char* back) {
  s.add(with_rank("conv", rank, "(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1)").c_str(),
        &convolution<f>, function, text)
      .also("neura");
  s.add(with_rank("conv_transpose", rank,
                  "(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1)")
            .c_str(),
        &transposed<g>, function, back)
      .also("neura");
}

template <Tensor (*f)(T, P, const MaxPoolOptions&), Two (*g)(T, P, const MaxPoolOptions&)>
void add_max_pool(const List& s, int rank) {
  const char* arguments =
      "(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False)";
  s.add(
       with_rank("max_pool", rank, arguments).c_str(),
       [](T x, P kernel, P stride, P padding, P dilation, bool ceil, bool indices) -> Value {
         const MaxPoolOptions o{stride, padding, dilation, ceil};
         if (!indices) return f(x, kernel, o);
         const Two r = g(x, kernel, o);
         return Tensors(r.begin(), r.end());
       },
       function,
       "Max pooling; with return_indices (values, indices), indices into the flattened spatial dimensions. See "
       "neura.nn.MaxPool2d.")
      .also("neura");
  s.add(
      with_rank("max_pool", rank, (std::string("_with_indices") + arguments).c_str()).c_str(),
      [](T x, P kernel, P stride, P padding, P dilation, bool ceil, bool) {
        return g(x, kernel, {stride, padding, dilation, ceil});
      },
      function, "Max pooling with indices: (values, indices).");
  if (rank == 1) s.also("neura");
}
template <Tensor (*f)(T, P, const AvgPoolOptions&)>
Tensor average_pool(T x, P kernel, P stride, P padding, bool ceil, bool include, std::optional<std::int64_t> divisor) {
  return f(x, kernel, {stride, padding, ceil, include, divisor});
}
template <Tensor (*f)(T, P), Two (*g)(T, P), Tensor (*average)(T, P)> void add_adaptive(const List& s, int rank) {
  s.add(
      with_rank("adaptive_max_pool", rank, "(input, output_size, return_indices=False)").c_str(),
      [](T x, const std::optional<PerDim>& size, bool indices) -> Value {
        if (!indices) return f(x, neura::detail::adaptive_sizes(size));
        const Two r = g(x, neura::detail::adaptive_sizes(size));
        return Tensors(r.begin(), r.end());
      },
      function, "Adaptive max pooling to output_size; None keeps the input's size.");
  s.add(
      with_rank("adaptive_max_pool", rank, "_with_indices(input, output_size, return_indices=False)").c_str(),
      [](T x, const std::optional<PerDim>& size, bool) { return g(x, neura::detail::adaptive_sizes(size)); }, function,
      "Max pooling with indices: (values, indices).");
  s.add(
      with_rank("adaptive_avg_pool", rank, "(input, output_size)").c_str(),
      [](T x, const std::optional<PerDim>& size) { return average(x, neura::detail::adaptive_sizes(size)); }, function,
      "Adaptive average pooling to output_size; None keeps the input's size.");
  if (rank == 1) s.also("neura");
}
template <Tensor (*power)(T, double, P, const LpPoolOptions&), Tensor (*back)(T, T, P, const MaxUnpoolOptions&)>
void add_others(const List& s, int rank) {
  s.add(
      with_rank("lp_pool", rank, "(input, norm_type, kernel_size, stride=None, ceil_mode=False)").c_str(),
      [](T x, double p, P kernel, P stride, bool ceil) {
        return power(x, p, kernel, {stride, ceil});
      },
      function, "Power-average pooling: (sum of x ** norm_type over each window) ** (1 / norm_type).");
  s.add(
      with_rank("max_unpool", rank, "(input, indices, kernel_size, stride=None, padding=0, output_size=None)").c_str(),
      [](T x, T indices, P kernel, P stride, P padding, const std::optional<Shape>& size) {
        return back(x, indices, kernel, {stride, padding, size.value_or(Shape())});
      },
      function, "Partial inverse of max pooling: writes each value at its index, 0 elsewhere.");
}
void add_averages(const List& s) {
  const char* arguments =
      "(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None)";
  s.add(with_rank("avg_pool", 1, arguments).c_str(), &average_pool<avg_pool1d>, function,
        "Average pooling of [N, C, L]. See neura.nn.AvgPool1d.")
      .also("neura");
  s.add(with_rank("avg_pool", 2, arguments).c_str(), &average_pool<avg_pool2d>, function,
        "Average pooling of [N, C, H, W]. See neura.nn.AvgPool2d.");
  s.add(with_rank("avg_pool", 3, arguments).c_str(), &average_pool<avg_pool3d>, function,
        "Average pooling of [N, C, D, H, W]. See neura.nn.AvgPool3d.");
}

template <auto f> void add_fractional(const List& s, int rank, const std::string& sizes) {
  const char* arguments =
      "(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None)";
  static const std::string& text = *new std::string(  // as long as the list
      "Fractional max pooling (Graham, 2014) of " + sizes +
      ": windows begin at random fractional steps. Either output_size or output_ratio; with return_indices the result "
      "is (values, indices).");
  s.add(
      with_rank("fractional_max_pool", rank, arguments).c_str(),
      [](T x, P kernel, P size, const Numbers& ratio, bool indices, T samples) -> Value {
        const auto [y, places] = f(x, kernel, {size, ratio, samples});
        return indices ? Value(Tensors{y, places}) : Value(y);
      },
      function, text.c_str());
  s.add(
      with_rank("fractional_max_pool", rank, (std::string("_with_indices") + arguments).c_str()).c_str(),
      [](T x, P kernel, P size, const Numbers& ratio, bool, T samples) {
        const auto [y, places] = f(x, kernel, {size, ratio, samples});
        return Tensors{y, places};
      },
      function, text.c_str());
}

}  // namespace

void add_spatial(std::deque<Function>& all) {
  const List s(all, "functional");
  add_convolution<conv1d, conv_transpose1d>(
      s, 1,
      "Cross-correlation of [N, C, L] with weight [out, C / groups, k]; padding: numbers, 'same' or 'valid'. See "
      "neura.nn.Conv1d.",
      "Transposed convolution of [N, C, L] with weight [C, out / groups, k]. See neura.nn.ConvTranspose1d.");
  add_convolution<conv2d, conv_transpose2d>(
      s, 2,
      "Cross-correlation of [N, C, H, W] with weight [out, C / groups, kh, kw]; padding: numbers, 'same' or 'valid'. "
      "See neura.nn.Conv2d.",
      "Transposed convolution of [N, C, H, W] with weight [C, out / groups, kh, kw]. See neura.nn.ConvTranspose2d.");
  add_convolution<conv3d, conv_transpose3d>(
      s, 3, "Cross-correlation of [N, C, D, H, W] with weight [out, C / groups, kd, kh, kw]. See neura.nn.Conv3d.",
      "Transposed convolution of [N, C, D, H, W] with weight [C, out / groups, kd, kh, kw]. See "
      "neura.nn.ConvTranspose3d.");
  add_max_pool<max_pool1d, max_pool1d_with_indices>(s, 1);
  add_max_pool<max_pool2d, max_pool2d_with_indices>(s, 2);
  add_max_pool<max_pool3d, max_pool3d_with_indices>(s, 3);
  add_averages(s);
  add_adaptive<adaptive_max_pool1d, adaptive_max_pool1d_with_indices, adaptive_avg_pool1d>(s, 1);
  add_adaptive<adaptive_max_pool2d, adaptive_max_pool2d_with_indices, adaptive_avg_pool2d>(s, 2);
  add_adaptive<adaptive_max_pool3d, adaptive_max_pool3d_with_indices, adaptive_avg_pool3d>(s, 3);
  add_others<lp_pool1d, max_unpool1d>(s, 1);
  add_others<lp_pool2d, max_unpool2d>(s, 2);
  add_others<lp_pool3d, max_unpool3d>(s, 3);
  add_fractional<&fractional_max_pool2d_with_indices>(s, 2, "[N, C, H, W]");
  add_fractional<&fractional_max_pool3d_with_indices>(s, 3, "[N, C, D, H, W]");
}

}  // namespace neura::surface
