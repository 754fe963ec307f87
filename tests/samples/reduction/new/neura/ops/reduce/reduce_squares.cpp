// sum_of_squares: a fold of the table of reductions.
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/ops/reduce/functions.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/reduce/reduce_common.h"

namespace neura {
namespace {

struct SumOfSquares : Folding {
  static constexpr Operation op = operation("sum_of_squares").saves(0, in(0));
  Tensor define(const Tensor& x) const {
    Dims all;
    for (int d = 0; d < x.dim(); ++d)
      if (dims >> d & 1) all.push_back(d);
    return sum(x * x, all, keepdim);
  }
  void gradient(Gradient& g) const { g.result[0] = expanded(g) * g.input(0) * 2.0; }
};

}  // namespace

Tensor sum_of_squares(const Tensor& input, const Dims& dim, bool keepdim) {
  check_dtype("sum_of_squares", input.spec(), dtypes::floating, "real floating");
  const DType d = input.dtype();
  return apply(
      SumOfSquares{{ReduceOp::squares, accumulation(d), d, dims_mask("sum_of_squares", dim, input.dim()), keepdim}},
      input);
}

}  // namespace neura

NEURA_DEFINE_OPERATION(sum_of_squares, SumOfSquares);
