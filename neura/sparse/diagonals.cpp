// Matrices of diagonals.
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/sort/sort.h"
#include "neura/sparse/parts.h"

namespace neura::sparse {

Tensor spdiags(const Tensor& diagonals, const Tensor& offsets, const Shape& shape, Layout layout) {
  const Tensor rows = diagonals.dim() == 1 ? unsqueeze(diagonals, 0) : diagonals;
  const Tensor shift = offsets.dim() ? offsets : unsqueeze(offsets, 0);
  check<ShapeError>(rows.dim() == 2 && shift.dim() == 1 && rows.size(0) == shift.size(0) && shape.size() == 2, [&] {
    return "spdiags: expected diagonals [n, length], n offsets and a matrix's shape, got " + diagonals.spec().str() +
           ", " + offsets.spec().str() + " and " + shape.str();
  });
  check<DTypeError>(shift.dtype() == DType::int64,
                    [&] { return "spdiags: expected offsets of int64, got " + offsets.spec().str(); });
  check<ValueError>(unique(shift).values.numel() == shift.numel(),
                    [] { return "spdiags: expected distinct offsets, got some twice"; });
  const Tensor column = arange(rows.size(1), {.dtype = DType::int64, .device = rows.device()});
  const Tensor col = flatten(expand(unsqueeze(column, 0), rows.shape()));
  const Tensor row = flatten(unsqueeze(column, 0) - unsqueeze(shift, 1));
  const Tensor inside = (row >= Scalar(0)) & (row < Scalar(shape[0])) & (col < Scalar(shape[1]));
  const Tensor kept = flatten(nonzero(inside));
  const Tensor index = stack({neura::index_select(row, 0, kept), neura::index_select(col, 0, kept)}, 0);
  const Tensor made = assemble({Layout::coo, false, index, {}}, neura::index_select(flatten(rows), 0, kept), shape);
  return to_layout(coalesce(made), layout);
}

}  // namespace neura::sparse
