#include "neura/optim/sparse_step.h"

#include <string>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/pointwise/composed.h"

namespace neura::optim::detail {

void check_no_decay(const char* optimizer, double weight_decay) {
  check<NotImplementedError>(weight_decay == 0, [&] {
    return std::string(optimizer) + ": expected weight_decay = 0 for a sparse gradient, got " +
           Scalar(weight_decay).str() + "; decay would change every row";
  });
}
void move_sparsely(const Tensor& param, const Tensor& change, double by) {
  Tensor p = param;
  add_(p, change, by);
}
Tensor adagrad_change(const Tensor& gradient, Tensor sum, double eps) {
  const Tensor g = sparse::coalesce(gradient);
  add_(sum, g * g);
  const Tensor change = sparse::values(g) / (sqrt(sparse::values(sparse::mask(sum, g))) + Scalar(eps));
  return sparse::coo_tensor(sparse::indices(g), change, g.shape(), {.is_coalesced = true});
}
Tensor sparse_buffer(const Tensor& buffer, const Tensor& gradient, double momentum, double fresh) {
  if (!buffer) return sparse::coalesce(gradient);
  return sparse::coalesce(buffer * Scalar(momentum) + gradient * Scalar(fresh));
}
Tensor sparse_sum(const Tensor& gradient, const Tensor& buffer, double momentum) {
  return gradient + buffer * Scalar(momentum);
}

}  // namespace neura::optim::detail
