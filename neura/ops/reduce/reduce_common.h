// Shared by all reductions: dimensions, sizes of the result, and the way back for a gradient.
#pragma once
#include <string>

#include "neura/backend/kernels/reduce.h"
#include "neura/op/apply.h"
#include "neura/ops/shape/view.h"

namespace neura {

// The dimensions as bits; empty means all. IndexError, ValueError with the operation's name.
unsigned dims_mask(const char* op, const Dims& dim, int rank);
inline unsigned dim_mask(const char* op, int dim, int rank) { return dims_mask(op, Dims(dim), rank); }
Shape reduced_sizes(const Shape& sizes, unsigned dims, bool keepdim);
std::int64_t reduced_count(const Shape& sizes, unsigned dims);
// A result or its gradient with the reduced dimensions as ones again.
inline Tensor restore(const Tensor& t, const Shape& full, unsigned dims) {
  return reshape(t, reduced_sizes(full, dims, true));
}
// IndexError where a reduction without a value for no elements would reduce none.
void check_not_empty(const char* op, const Spec& x, unsigned dims);
// DTypeError unless the dtype is one of the set; `kinds` as words.
void check_dtype(const char* op, const Spec& x, DTypeSet accepted, const char* kinds);

struct Folding {  // the part that all folds share; an operation adds name and gradient
  ReduceOp fold;
  DType computed, result;
  unsigned dims;
  bool keepdim;
  NEURA_FIELDS(fold, computed, result, dims, keepdim)
  void infer(const Spec& x, Spec& y) const {
    y = Spec::dense(result, reduced_sizes(x.sizes(), dims, keepdim), x.device);
  }
  void run(Context& c, View x, View y) const;
  Tensor expanded(Gradient& g) const {
    const Shape sizes = g.meta[0]->sizes();
    return expand(restore(g.g[0], sizes, dims), sizes);
  }
};

}  // namespace neura
