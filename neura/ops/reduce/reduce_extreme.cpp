// Reductions that return indices: max, min, argmax, argmin.
#include "neura/op/registry.h"
#include "neura/op/safe.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/reduce/reduce_common.h"

namespace neura {
namespace {

struct ExtremeBase {
  bool largest;
  int dim;  // of a contiguous input; 0 and rank 0: the one element
  bool keepdim;
  NEURA_FIELDS(largest, dim, keepdim)
  bool is_safe(const Spec& x) const {
    return safe::contiguous(x) && safe::has_dim(x, dim) && (bit(x.dtype) & dtypes::ordered) &&
           safe::is_not_empty(x, x.rank ? std::int64_t{1} << dim : 0);
  }
  void sizes(const Spec& x, Spec& y, DType d) const {
    y = Spec::dense(d, reduced_sizes(x.sizes(), x.rank ? 1u << dim : 0, keepdim), x.device);
  }
};
struct MaxOp : ExtremeBase {
  static constexpr Operation op = operation("max").saves(0, out(1));
  void infer(const Spec& x, Spec& values, Spec& indices) const {
    sizes(x, values, x.dtype), sizes(x, indices, DType::int64);
  }
  void run(Context& c, View x, View values, View indices) const {
    c.backend.reduce->extreme(c, largest, dim, x, values, indices);
  }
  void gradient(Gradient& g) const {
    const GradientSpec& m = *g.meta[0];
    const unsigned mask = m.rank ? 1u << dim : 0;
    const Tensor to = zeros(m.sizes(), {.dtype = g.g[0].dtype(), .device = m.device});
    g.result[0] = scatter_add(to, dim, restore(g.output(1), m.sizes(), mask), restore(g.g[0], m.sizes(), mask));
  }
};
struct MinOp : MaxOp {
  static constexpr Operation op = operation("min").saves(0, out(1));
};

struct ArgMax : ExtremeBase {
  static constexpr Operation op = operation("argmax");
  void infer(const Spec& x, Spec& indices) const { sizes(x, indices, DType::int64); }
  void run(Context& c, View x, View indices) const { c.backend.reduce->extreme(c, largest, dim, x, View(), indices); }
};
struct ArgMin : ArgMax {
  static constexpr Operation op = operation("argmin");
};

int checked_dim(const char* op, const Tensor& x, int dim) {
  check_dtype(op, x.spec(), dtypes::ordered, "real");
  dim = wrap_dim(op, dim, std::max(x.dim(), 1));
  check_not_empty(op, x.spec(), x.dim() ? 1u << dim : 0);
  return dim;
}
template <class Op> MaxResult with_indices(bool largest, const Tensor& x, int dim, bool keepdim) {
  dim = checked_dim(Op::op.name, x, dim);
  auto [values, indices] = apply(Op{{largest, dim, keepdim}}, contiguous(x));
  return {values, indices};
}
template <class Op> Tensor place(bool largest, const Tensor& x, std::optional<int> dim, bool keepdim) {
  const Tensor input = x.detach();
  if (dim) return apply(Op{{largest, checked_dim(Op::op.name, x, *dim), keepdim}}, contiguous(input));
  checked_dim(Op::op.name, x.numel() ? input : flatten(input), 0);
  const Tensor at = apply(Op{{largest, 0, false}}, reshape(contiguous(input), {x.numel()}));
  return keepdim ? reshape(at, Shape::filled(x.dim(), 1)) : at;
}
}  // namespace

MaxResult max(const Tensor& input, int dim, bool keepdim) { return with_indices<MaxOp>(true, input, dim, keepdim); }
MinResult min(const Tensor& input, int dim, bool keepdim) { return with_indices<MinOp>(false, input, dim, keepdim); }
Tensor argmax(const Tensor& input, std::optional<int> dim, bool keepdim) {
  return place<ArgMax>(true, input, dim, keepdim);
}
Tensor argmin(const Tensor& input, std::optional<int> dim, bool keepdim) {
  return place<ArgMin>(false, input, dim, keepdim);
}

}  // namespace neura

NEURA_DEFINE_OPERATION(max, MaxOp);
NEURA_DEFINE_OPERATION(min, MinOp);
NEURA_DEFINE_OPERATION(argmax, ArgMax);
NEURA_DEFINE_OPERATION(argmin, ArgMin);
