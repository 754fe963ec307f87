#include "neura/ops/spatial/pool_composed.h"

#include "neura/core/checked_int.h"
#include "neura/op/cast_scope.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

void check_dims(const char* op, const Tensor& x, int rank) {
  check<ShapeError>(x.dim() == rank + 1 || x.dim() == rank + 2, [&] {
    return std::string(op) + ": expected an input of " + std::to_string(rank + 1) + " or " + std::to_string(rank + 2) +
           " dimensions, got " + x.shape().str();
  });
}

Tensor lp_pool(const char* op, int rank, const Tensor& x, double p, const PerDim& kernel_size, const LpPoolOptions& o) {
  check_dims(op, x, rank);
  check<ValueError>(p != 0, [&] { return std::string(op) + ": expected a norm_type other than 0, got 0"; });
  const Shape kernel = per_dim(op, "kernel_size", kernel_size, rank, 1);
  const AvgPoolOptions average{.stride = o.stride, .ceil_mode = o.ceil_mode};
  const Tensor powers = pow(x, p);
  const Tensor mean = rank == 1   ? avg_pool1d(powers, kernel, average)
                      : rank == 2 ? avg_pool2d(powers, kernel, average)
                                  : avg_pool3d(powers, kernel, average);
  CheckedInt count = 1;
  for (std::int64_t k : kernel) count = count * k;
  return pow(sign(mean) * relu(abs(mean)) * count.of(op), 1 / p);  // so that the slope at 0 is 0, as in torch
}

Shape unpooled_sizes(const char* op, int rank, const Tensor& x, const PerDim& kernel_size, const MaxUnpoolOptions& o) {
  const Shape kernel = per_dim(op, "kernel_size", kernel_size, rank, 1);
  const Shape stride = per_dim(op, "stride", o.stride.empty() ? kernel_size : o.stride, rank, 1);
  const Shape padding = per_dim(op, "padding", o.padding, rank, 0);
  const int extra = o.output_size.size() - rank;
  check<ShapeError>(o.output_size.empty() || extra == 0 || o.output_size.size() == x.dim(), [&] {
    return std::string(op) + ": expected output_size of " + std::to_string(rank) + " or " + std::to_string(x.dim()) +
           " numbers, got " + o.output_size.str();
  });
  Shape out;
  for (int d = 0; d < rank; ++d) {
    const std::int64_t usual = ((CheckedInt(x.size(d - rank)) - 1) * stride[d] - 2 * padding[d] + kernel[d]).of(op);
    const std::int64_t size = o.output_size.empty() ? usual : o.output_size[extra + d];
    check<ValueError>(size >= 0 && size > usual - stride[d] && size < usual + stride[d], [&] {
      return std::string(op) + ": expected an output_size from " + std::to_string(usual - stride[d] + 1) + " to " +
             std::to_string(usual + stride[d] - 1) + " in spatial dimension " + std::to_string(d) + ", got " +
             std::to_string(size);
    });
    out.push_back(size);
  }
  return out;
}

Tensor max_unpool(const char* op, int rank, const Tensor& x, const Tensor& indices, const PerDim& kernel_size,
                  const MaxUnpoolOptions& o) {
  if (const amp::CastScope cast{amp::Name::max_unpool, x})
    return max_unpool(op, rank, cast(x), indices, kernel_size, o);
  check_dims(op, x, rank);
  check<ShapeError>(indices.shape() == x.shape(), [&] {
    return std::string(op) + ": expected indices of the input's shape " + x.shape().str() + ", got " +
           indices.shape().str();
  });
  check<DTypeError>(indices.dtype() == DType::int64,
                    [&] { return std::string(op) + ": expected int64 indices, got " + name(indices.dtype()); });
  Shape sizes;
  for (int d = 0; d < x.dim() - rank; ++d) sizes.push_back(x.size(d));
  Shape flat = sizes;
  CheckedInt count = 1;
  for (std::int64_t n : unpooled_sizes(op, rank, x, kernel_size, o)) sizes.push_back(n), count = count * n;
  flat.push_back(count.of(op));
  const Tensor empty = zeros(flat, {.dtype = x.dtype(), .device = x.device()});
  return scatter(empty, -1, flatten(indices, -rank, -1), flatten(x, -rank, -1)).view(sizes);
}

}  // namespace

#define NEURA_POOL(rank)                                                                                  \
  Tensor lp_pool##rank##d(const Tensor& x, double p, const PerDim& kernel_size, const LpPoolOptions& o) { \
    return lp_pool("lp_pool" #rank "d", rank, x, p, kernel_size, o);                                      \
  }                                                                                                       \
  Tensor max_unpool##rank##d(const Tensor& x, const Tensor& indices, const PerDim& kernel_size,           \
                             const MaxUnpoolOptions& o) {                                                 \
    return max_unpool("max_unpool" #rank "d", rank, x, indices, kernel_size, o);                          \
  }
NEURA_POOL(1)
NEURA_POOL(2)
NEURA_POOL(3)
#undef NEURA_POOL

}  // namespace neura
