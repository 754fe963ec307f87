#include "neura/ops/linalg/linalg_common.h"

#include "neura/core/meta.h"
#include "neura/core/wrapped.h"
#include "neura/op/registry.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/sort/sort.h"

namespace neura::linalg {
namespace {

struct LuUnpack {
  static constexpr Operation op = operation("lu_unpack");
  std::int64_t rows;
  NEURA_FIELDS(rows)
  void infer(const Spec& pivots, Spec& order) const {
    Shape sizes = pivots.sizes();
    sizes.back() = rows;
    order = Spec::dense(DType::int64, sizes, pivots.device);
  }
  void run(Context& c, View pivots, View order) const { c.backend.linalg->permutation(c, pivots, order); }
};

}  // namespace

void check_matrices(const char* op, const Tensor& A, const char* what) {
  check<ShapeError>(A.dim() >= 2, [&] {
    return std::string(op) + ": expected " + what + " to be matrices [..., m, n], got " + A.spec().str();
  });
  const DTypeSet computed = bit(DType::float32) | bit(DType::float64) | dtypes::complexes;
  check<DTypeError>(bit(A.dtype()) & computed, [&] {
    return std::string(op) + ": expected float32, float64, complex64 or complex128, got " + A.spec().str() +
           "; convert with to(dtype)";
  });
}
void check_square(const char* op, const Tensor& A, const char* what) {
  check_matrices(op, A, what);
  check<ShapeError>(A.size(-1) == A.size(-2), [&] {
    return std::string(op) + ": expected " + what + " to be square matrices [..., n, n], got " + A.spec().str();
  });
}
void check_same_dtype(const char* op, const Tensor& A, const Tensor& B) {
  check<DTypeError>(A.dtype() == B.dtype(), [&] {
    return std::string(op) + ": expected operands of one dtype, got " + A.spec().str() + " and " + B.spec().str();
  });
}
void check_info(const char* op, const Tensor& info, const char* expected, const char* got) {
  if (!info.numel() || is_meta(info.device())) return;
  const Tensor infos = innermost(info).detach();
  constexpr std::int64_t kFew = 256;  // on a device, of more, one number says first whether any is not 0
  if (!infos.device().is_cpu() && infos.numel() > kFew && !any(infos).item<bool>()) return;
  const std::vector<int> all = infos.to("cpu").contiguous().to_vector<int>();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i]) continue;
    const std::string which = info.dim() ? "matrix " + std::to_string(i) + " of the batch" : "a matrix";
    throw LinAlgError(std::string(op) + ": expected " + expected + ", got " + which + " that is " + got + " (info " +
                      std::to_string(all[i]) + ")");
  }
}

Shape batch_of(const Spec& A) { return {A.shape, std::size_t(A.rank - 2)}; }
Shape with_batch(const Shape& batch, std::int64_t rows, std::int64_t columns) {
  Shape s = batch;
  s.push_back(rows), s.push_back(columns);
  return s;
}
Tensor broadcast_batch(const Tensor& A, const Shape& batch) {
  return batch_of(A.spec()) == batch ? A : expand(A, with_batch(batch, A.size(-2), A.size(-1)));
}
Tensor identity(const Tensor& like, std::int64_t n) { return eye(n, {.dtype = like.dtype(), .device = like.device()}); }

bool is_vector(const Tensor& A, const Tensor& B) {
  if (B.dim() == 1) return true;
  if (B.dim() != A.dim() - 1) return false;
  for (int d = 0; d < B.dim(); ++d)
    if (B.size(d) != A.size(d)) return false;
  return true;
}

Tensor row_order(const Tensor& pivots, std::int64_t rows) { return apply(LuUnpack{rows}, contiguous(pivots)); }
Tensor rows_in(const Tensor& x, const Tensor& order) {
  return gather(x, x.dim() - 2, expand(as_column(order), x.shape()));
}
Tensor without_info(const Tensor& pivots) { return contiguous(narrow(pivots, -1, 0, pivots.size(-1) - 1)); }
Tensor info_of(const Tensor& pivots) { return contiguous(select(pivots, -1, pivots.size(-1) - 1)); }

}  // namespace neura::linalg

NEURA_DEFINE_OPERATION(lu_unpack, linalg::LuUnpack);
