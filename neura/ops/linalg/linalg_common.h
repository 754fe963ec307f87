// Shared by the sources of linear algebra.
#pragma once
#include <string>

#include "neura/backend/kernels/linalg.h"
#include "neura/core/state.h"
#include "neura/op/record.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/linalg/linalg.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"

namespace neura::linalg {

inline Tensor adjoint(const Tensor& x) { return conj(mT(x)); }
inline Tensor diagonal_of(const Tensor& x) { return diagonal(x, 0, -2, -1); }
inline Tensor as_row(const Tensor& x) { return unsqueeze(x, -2); }
inline Tensor as_column(const Tensor& x) { return unsqueeze(x, -1); }
inline Tensor real_part(const Tensor& x) { return is_complex(x.dtype()) ? real(x) : x; }

// ShapeError below two dimensions, DTypeError for what LAPACK does not compute in.
void check_matrices(const char* op, const Tensor& A, const char* what = "A");
void check_square(const char* op, const Tensor& A, const char* what = "A");
void check_same_dtype(const char* op, const Tensor& A, const Tensor& B);
// LinAlgError for the first matrix whose info is not 0; it waits for the device.
void check_info(const char* op, const Tensor& info, const char* expected, const char* got = "not");

Shape batch_of(const Spec& A);  // all but the last two sizes
Shape with_batch(const Shape& batch, std::int64_t rows, std::int64_t columns);
inline Shape with_batch(Shape batch, std::int64_t size) { return batch.push_back(size), batch; }
Tensor broadcast_batch(const Tensor& A, const Shape& batch);  // of matrices
Tensor identity(const Tensor& like, std::int64_t n);          // [n, n]

// True if B, given with square matrices A, is a batch of vectors.
bool is_vector(const Tensor& A, const Tensor& B);

// True if the result may be differentiated; else values that only a derivative needs are not computed.
inline bool recorded(const Tensor& x) {
  if (state.active & kIntercepted) return true;
  return !(state.active & (kNoGrad | kInference)) && may_need_gradient(x.impl());
}

// AutogradError where `turn`, the part of a gradient along unit vectors, is not real: the loss depends on their phase.
void check_phase(const char* op, const Tensor& turn);
Tensor off_diagonal(const Tensor& x, const Tensor& differences);  // x / differences, and 0 on the diagonal

Tensor row_order(const Tensor& pivots, std::int64_t rows);  // of LAPACK's pivots: row_order[i] is row i of L U
Tensor rows_in(const Tensor& x, const Tensor& order);       // x[order[i]] as row i
Tensor without_info(const Tensor& pivots);                  // of the kernels' pivots
Tensor info_of(const Tensor& pivots);

}  // namespace neura::linalg
