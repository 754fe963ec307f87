#include "neura/ops/product/sparse_product.h"

#include <string>

#include "neura/backend/kernels/sparse.h"
#include "neura/op/apply.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/sort/sort.h"

namespace neura {
namespace {

void check_pattern(const char* op, const Spec& starts, const Spec& columns) {
  check<ShapeError>(starts.rank == 1 && columns.rank == 1 && starts.shape[0] >= 1, [&] {
    return std::string(op) + ": expected vectors of starts and columns, got " + starts.str() + " and " + columns.str();
  });
  check<DTypeError>(starts.dtype == DType::int64 && columns.dtype == DType::int64, [&] {
    return std::string(op) + ": expected starts and columns of int64, got " + starts.str() + " and " + columns.str();
  });
}
void check_one_dtype(const char* op, const Spec& a, const Spec& b) {
  check<DTypeError>(a.dtype == b.dtype && a.dtype != DType::boolean, [&] {
    return std::string(op) + ": expected operands of one numeric dtype, got " + a.str() + " and " + b.str();
  });
}
bool has_kernel(DType d) { return d == DType::float32 || d == DType::float64; }

Tensor rows_of(const Tensor& starts, const Tensor& columns) {
  const Tensor place = arange(columns.numel(), {.dtype = DType::int64, .device = columns.device()});
  return searchsorted(starts, place, false, true) - Scalar(1);
}
// a^T b of a matrix stored by row.
Tensor transposed_product(const Tensor& starts, const Tensor& columns, const Tensor& values, const Tensor& b,
                          std::int64_t k) {
  const Tensor order = argsort(columns, 0, false, true);
  const Tensor ends = arange(k + 1, {.dtype = DType::int64, .device = columns.device()});
  return sparse_product(searchsorted(index_select(columns, 0, order), ends),
                        index_select(rows_of(starts, columns), 0, order), index_select(values, 0, order), b);
}
Tensor conjugate(const Tensor& t) { return is_complex(t.dtype()) ? conj(t) : t; }

struct SparseProduct {
  NEURA_OPERANDS(starts, columns, values, b)
  static constexpr Operation op = operation("sparse_product")
                                      .saves(In::values, in(In::starts, In::columns, In::b))
                                      .saves(In::b, in(In::starts, In::columns, In::values))
                                      .closed();
  NEURA_FIELDS()
  void infer(const Spec& starts, const Spec& columns, const Spec& values, const Spec& b, Spec& y) const {
    check_pattern(op.name, starts, columns);
    check<ShapeError>(values.rank == 1 && values.shape[0] == columns.shape[0] && b.rank == 2, [&] {
      return std::string(op.name) + ": expected a value for each of " + std::to_string(columns.shape[0]) +
             " columns and a matrix, got " + values.str() + " and " + b.str();
    });
    check_one_dtype(op.name, values, b);
    y = Spec::dense(b.dtype, Shape{starts.shape[0] - 1, b.shape[1]}, b.device);
  }
  bool accepts(const Backend& backend, const Spec&, const Spec&, const Spec& values, const Spec&) const {
    return backend.sparse->product.fn && has_kernel(values.dtype);
  }
  void run(Context& c, View starts, View columns, View values, View b, View y) const {
    c.backend.sparse->product(c, starts, columns, values, b, y);
  }
  Tensor define(const Tensor& starts, const Tensor& columns, const Tensor& values, const Tensor& b) const {
    const Tensor parts = unsqueeze(values, 1) * index_select(b, 0, columns);
    const Tensor none = zeros({starts.size(0) - 1, b.size(1)}, {.dtype = b.dtype(), .device = b.device()});
    return index_add(none, 0, rows_of(starts, columns), parts);
  }
  void gradient(Gradient& g) const {
    const Tensor &starts = g.input(In::starts), &columns = g.input(In::columns);
    if (g.needs(In::values)) g.result[In::values] = sparse_sample(starts, columns, g.g[0], conjugate(g.input(In::b)));
    if (g.needs(In::b))
      g.result[In::b] =
          transposed_product(starts, columns, conjugate(g.input(In::values)), g.g[0], g.meta[In::b]->shape[0]);
  }
};

struct SparseSample {
  NEURA_OPERANDS(starts, columns, a, b)
  static constexpr Operation op = operation("sparse_sample")
                                      .saves(In::a, in(In::starts, In::columns, In::b))
                                      .saves(In::b, in(In::starts, In::columns, In::a))
                                      .closed();
  NEURA_FIELDS()
  void infer(const Spec& starts, const Spec& columns, const Spec& a, const Spec& b, Spec& y) const {
    check_pattern(op.name, starts, columns);
    check<ShapeError>(a.rank == 2 && b.rank == 2 && a.shape[1] == b.shape[1] && a.shape[0] == starts.shape[0] - 1, [&] {
      return std::string(op.name) + ": expected matrices of " + std::to_string(starts.shape[0] - 1) +
             " rows, and of as many columns, got " + a.str() + " and " + b.str();
    });
    check_one_dtype(op.name, a, b);
    y = Spec::dense(a.dtype, Shape{columns.shape[0]}, a.device);
  }
  bool accepts(const Backend& backend, const Spec&, const Spec&, const Spec& a, const Spec&) const {
    return backend.sparse->sample.fn && has_kernel(a.dtype);
  }
  void run(Context& c, View starts, View columns, View a, View b, View y) const {
    c.backend.sparse->sample(c, starts, columns, a, b, y);
  }
  Tensor define(const Tensor& starts, const Tensor& columns, const Tensor& a, const Tensor& b) const {
    return to(sum(index_select(a, 0, rows_of(starts, columns)) * index_select(b, 0, columns), Dims{1}), a.dtype());
  }
  void gradient(Gradient& g) const {
    const Tensor &starts = g.input(In::starts), &columns = g.input(In::columns);
    if (g.needs(In::a)) g.result[In::a] = sparse_product(starts, columns, g.g[0], conjugate(g.input(In::b)));
    if (g.needs(In::b))
      g.result[In::b] = transposed_product(starts, columns, g.g[0], conjugate(g.input(In::a)), g.meta[In::b]->shape[0]);
  }
};

}  // namespace

Tensor sparse_product(const Tensor& starts, const Tensor& columns, const Tensor& values, const Tensor& b) {
  return apply(SparseProduct{}, contiguous(starts), contiguous(columns), contiguous(values), contiguous(b));
}
Tensor sparse_sample(const Tensor& starts, const Tensor& columns, const Tensor& a, const Tensor& b) {
  return apply(SparseSample{}, contiguous(starts), contiguous(columns), contiguous(a), contiguous(b));
}

}  // namespace neura

NEURA_DEFINE_OPERATION(sparse_product, SparseProduct);
NEURA_DEFINE_OPERATION(sparse_sample, SparseSample);
