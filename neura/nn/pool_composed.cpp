#include "neura/nn/pool_composed.h"

#include "neura/nn/repr.h"

namespace neura::nn {

NEURA_LAYER_BODY(MaxUnpoolNd)
NEURA_LAYER_BODY(LpPoolNd)

LpPoolNd::LpPoolNd(int rank, Number norm_type, const PerDim& kernel_size, const LpPoolOptions& o)
    : norm_type(norm_type), kernel_size(kernel_size), stride(o.stride), ceil_mode(o.ceil_mode), rank_(rank) {}
Tensor LpPoolNd::forward(const Tensor& x) const {
  const LpPoolOptions o{.stride = stride, .ceil_mode = ceil_mode};
  return rank_ == 1   ? lp_pool1d(x, norm_type, kernel_size, o)
         : rank_ == 2 ? lp_pool2d(x, norm_type, kernel_size, o)
                      : lp_pool3d(x, norm_type, kernel_size, o);
}
std::string LpPoolNd::extra_repr() const {
  const auto given = stride.empty() ? std::nullopt : std::optional<Shape>(stride);
  return Repr()
      .add("norm_type", norm_type)
      .add("kernel_size", kernel_size)
      .add("stride", given)
      .add("ceil_mode", ceil_mode);
}

MaxUnpoolNd::MaxUnpoolNd(int rank, const PerDim& kernel_size, const UnpoolOptions& o)
    : kernel_size(per_dim("MaxUnpool", "kernel_size", kernel_size, rank, 1)),
      stride(per_dim("MaxUnpool", "stride", o.stride.empty() ? kernel_size : o.stride, rank, 1)),
      padding(per_dim("MaxUnpool", "padding", o.padding, rank, 0)),
      rank_(rank) {}
Tensor MaxUnpoolNd::forward(const Tensor& x, const Tensor& indices, const std::optional<Shape>& output_size) const {
  const MaxUnpoolOptions o{.stride = stride, .padding = padding, .output_size = output_size.value_or(Shape())};
  return rank_ == 1   ? max_unpool1d(x, indices, kernel_size, o)
         : rank_ == 2 ? max_unpool2d(x, indices, kernel_size, o)
                      : max_unpool3d(x, indices, kernel_size, o);
}
std::string MaxUnpoolNd::extra_repr() const {
  return "kernel_size=" + tuple_text(kernel_size) + ", stride=" + tuple_text(stride) +
         ", padding=" + tuple_text(padding);
}

}  // namespace neura::nn
