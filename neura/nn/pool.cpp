#include "neura/nn/pool.h"

#include "neura/nn/fractional_pool.h"
#include "neura/nn/repr.h"
#include "neura/ops/spatial/fractional_pool.h"

namespace neura::nn {

NEURA_LAYER_BODY(AvgPoolNd)
NEURA_LAYER_BODY(AdaptiveAvgPoolNd)

// Boxed, a layer with return_indices gives a tuple; C++ asks for it by another name.
#define NEURA_INDEXED_BODY(T)                                                                                \
  std::string T::type_name() const { return #T; }                                                            \
  bool T::visit_members(const Visitor& v) { return visit_list(v); }                                          \
  Ref<Module> T::blank() const { detail::no_blank(#T); }                                                     \
  Value T::forward_boxed(const Args& a) {                                                                    \
    if (!return_indices) return call_boxed(*this, a);                                                        \
    return detail::call_with(*this, &T::forward_with_indices, a, std::type_identity<void(const Tensor&)>()); \
  }                                                                                                          \
  bool T::forward_tensor(const Tensor& in, Tensor& out) { return !return_indices && call_tensor(*this, in, out); }
NEURA_INDEXED_BODY(MaxPoolNd)
NEURA_INDEXED_BODY(AdaptiveMaxPoolNd)
NEURA_INDEXED_BODY(FractionalMaxPoolNd)

MaxPoolNd::MaxPoolNd(int rank, const PerDim& kernel_size, const MaxPoolOptions& o)
    : kernel_size(kernel_size),
      stride(o.stride.empty() ? kernel_size : o.stride),
      padding(o.padding),
      dilation(o.dilation),
      return_indices(o.return_indices),
      ceil_mode(o.ceil_mode),
      rank_(rank) {}

Tensor MaxPoolNd::forward(const Tensor& x) const {
  const neura::MaxPoolOptions o{.stride = stride, .padding = padding, .dilation = dilation, .ceil_mode = ceil_mode};
  return rank_ == 1   ? max_pool1d(x, kernel_size, o)
         : rank_ == 2 ? max_pool2d(x, kernel_size, o)
                      : max_pool3d(x, kernel_size, o);
}
std::tuple<Tensor, Tensor> MaxPoolNd::forward_with_indices(const Tensor& x) const {
  const neura::MaxPoolOptions o{.stride = stride, .padding = padding, .dilation = dilation, .ceil_mode = ceil_mode};
  const auto r = rank_ == 1   ? max_pool1d_with_indices(x, kernel_size, o)
                 : rank_ == 2 ? max_pool2d_with_indices(x, kernel_size, o)
                              : max_pool3d_with_indices(x, kernel_size, o);
  return {r[0], r[1]};
}
std::string MaxPoolNd::extra_repr() const {
  return Repr()
      .add("kernel_size", kernel_size)
      .add("stride", stride)
      .add("padding", padding)
      .add("dilation", dilation)
      .add("ceil_mode", ceil_mode);
}

AvgPoolNd::AvgPoolNd(int rank, const PerDim& kernel_size, const AvgPoolOptions& o)
    : kernel_size(kernel_size),
      stride(o.stride.empty() ? kernel_size : o.stride),
      padding(o.padding),
      ceil_mode(o.ceil_mode),
      count_include_pad(o.count_include_pad),
      divisor_override(o.divisor_override),
      rank_(rank) {}
Tensor AvgPoolNd::forward(const Tensor& x) const {
  const neura::AvgPoolOptions o{.stride = stride,
                                .padding = padding,
                                .ceil_mode = ceil_mode,
                                .count_include_pad = count_include_pad,
                                .divisor_override = divisor_override};
  return rank_ == 1   ? avg_pool1d(x, kernel_size, o)
         : rank_ == 2 ? avg_pool2d(x, kernel_size, o)
                      : avg_pool3d(x, kernel_size, o);
}
std::string AvgPoolNd::extra_repr() const {
  if (rank_ == 1)  // torch makes tuples of these
    return "kernel_size=" + tuple_text(kernel_size) + ", stride=" + tuple_text(stride) +
           ", padding=" + tuple_text(padding);
  return Repr().add("kernel_size", kernel_size).add("stride", stride).add("padding", padding);
}

Tensor AdaptiveAvgPoolNd::forward(const Tensor& x) const {
  return rank_ == 1   ? adaptive_avg_pool1d(x, output_size)
         : rank_ == 2 ? adaptive_avg_pool2d(x, output_size)
                      : adaptive_avg_pool3d(x, output_size);
}
std::string AdaptiveAvgPoolNd::extra_repr() const { return Repr().add("output_size", output_size); }

Tensor AdaptiveMaxPoolNd::forward(const Tensor& x) const {
  return rank_ == 1   ? adaptive_max_pool1d(x, output_size)
         : rank_ == 2 ? adaptive_max_pool2d(x, output_size)
                      : adaptive_max_pool3d(x, output_size);
}
std::tuple<Tensor, Tensor> AdaptiveMaxPoolNd::forward_with_indices(const Tensor& x) const {
  const auto r = rank_ == 1   ? adaptive_max_pool1d_with_indices(x, output_size)
                 : rank_ == 2 ? adaptive_max_pool2d_with_indices(x, output_size)
                              : adaptive_max_pool3d_with_indices(x, output_size);
  return {r[0], r[1]};
}
std::string AdaptiveMaxPoolNd::extra_repr() const { return Repr().add("output_size", output_size); }

static Shape for_each_dimension(int rank, const PerDim& sizes) {
  return sizes.size() == 1 ? Shape::filled(rank, sizes[0]) : Shape(sizes);
}
FractionalMaxPoolNd::FractionalMaxPoolNd(int rank, const PerDim& kernel_size, const FractionalMaxPoolOptions& o)
    : kernel_size(for_each_dimension(rank, kernel_size)), return_indices(o.return_indices), rank_(rank) {
  const std::string name = "FractionalMaxPool" + std::to_string(rank) + "d";
  std::vector<double> ratios = neura::detail::output_ratios(name, rank, o.output_size, o.output_ratio);
  if (!ratios.empty()) output_ratio = std::move(ratios);
  if (!o.output_size.empty()) output_size = for_each_dimension(rank, o.output_size);
  if (o._random_samples) _random_samples = Buffer(o._random_samples);
}
std::tuple<Tensor, Tensor> FractionalMaxPoolNd::forward_with_indices(const Tensor& x) const {
  const FractionalPoolOptions o{output_size ? PerDim(*output_size) : PerDim(),
                                output_ratio.value_or(std::vector<double>()), _random_samples};
  const auto [y, indices] = rank_ == 2 ? fractional_max_pool2d_with_indices(x, kernel_size, o)
                                       : fractional_max_pool3d_with_indices(x, kernel_size, o);
  return {y, indices};
}
Tensor FractionalMaxPoolNd::forward(const Tensor& x) const { return std::get<0>(forward_with_indices(x)); }

}  // namespace neura::nn
