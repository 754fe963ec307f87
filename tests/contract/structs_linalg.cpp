// Linear algebra. Matrices are made regular, so that no layout of an operand (expanded, say) makes a singular one.
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/linalg/linalg.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"
#include "tests/contract/structs.h"
#include "tests/support/lapack.h"

namespace neura::test {
namespace {

// With 2, 3, 4, ... on the diagonal: all eigenvalues and singular values differ.
Tensor regular(const Tensor& x) {
  const std::int64_t m = x.size(-2), n = x.size(-1);
  const Tensor diagonal = arange(2.0, double(n) + 2, {.dtype = x.dtype(), .device = x.device()});
  return x * 0.2 + eye(m, n, {.dtype = x.dtype(), .device = x.device()}) * diagonal;
}
Tensor hermitian(const Tensor& x) {
  const Tensor r = regular(x);
  return r + conj(mT(r));
}
Tensor triangle(const Tensor& x) { return tril(regular(x)); }

Inputs lu_parts(const Tensor& x) {
  const auto [p, l, u] = linalg::lu(regular(x));
  return {l, u};
}
Inputs slogdet_parts(const Tensor& x) {
  const auto [sign, log] = linalg::slogdet(regular(x));
  return {sign, log};
}
Inputs qr_parts(const Tensor& x, const char* mode) {
  const auto [q, r] = linalg::qr(regular(x), mode);
  return {q, r};
}
Inputs eigh_parts(const Tensor& x) {
  const auto [l, v] = linalg::eigh(hermitian(x));
  return {l, abs(v)};
}
Inputs eig_parts(const Tensor& x) {
  const auto [l, v] = linalg::eig(regular(x));
  return {l, abs(v)};
}
Inputs svd_parts(const Tensor& x, bool full) {
  const auto [u, s, vh] = linalg::svd(regular(x), full);
  const std::int64_t k = s.size(-1);
  return {abs(narrow(u, -1, 0, k)), s, abs(narrow(vh, -2, 0, k))};
}
Inputs lstsq_parts(const Tensor& a, const Tensor& b, const char* driver) {
  const auto r = linalg::lstsq(regular(a), b, {}, driver);
  return {r.solution, r.residuals};
}
linalg::LuFactorResult factors(const Tensor& x) { return linalg::lu_factor(regular(x)); }

}  // namespace

std::vector<StructCase> linalg_cases() {
  if (!lapack::library()) return {};  // tests/ops/linalg_test.cpp says so
  return {
      CASE("linalg_cholesky", linalg::cholesky(hermitian(x[0])), any({2, 3, 3})),
      CASE("linalg_cholesky_upper", linalg::cholesky(hermitian(x[0]), true), complex_any({3, 3})),
      CASE("linalg_cholesky_solve", linalg::cholesky_solve(x[1], triangle(x[0])), any({3, 3}), any({3, 2}, 2)),
      CASE("linalg_cholesky_inverse", linalg::cholesky_inverse(triangle(x[0])), any({3, 3})),
      CASE("linalg_inv", linalg::inv(regular(x[0])), any({2, 3, 3})),
      CASE("linalg_inv_complex", linalg::inv(regular(x[0])), complex_any({3, 3})),
      CASE("linalg_solve", linalg::solve(regular(x[0]), x[1]), any({2, 3, 3}), any({3, 2}, 2)),
      CASE("linalg_solve_vector", linalg::solve(regular(x[0]), x[1]), complex_any({3, 3}), complex_any({3}, 2)),
      CASE("linalg_solve_right", linalg::solve(regular(x[0]), x[1], false), any({3, 3}), any({2, 3}, 2)),
      CASE("linalg_solve_triangular", linalg::solve_triangular(regular(x[0]), x[1], true), any({2, 3, 3}),
           any({3, 2}, 2)),
      CASE("linalg_solve_triangular_unit", linalg::solve_triangular(regular(x[0]), x[1], false, false, true),
           complex_any({3, 3}), complex_any({2, 3}, 2)),
      CASE("linalg_lu", lu_parts(x[0]), any({2, 3, 3})),
      CASE("linalg_lu_wide", lu_parts(x[0]), complex_any({2, 4})),
      CASE("linalg_lu_tall", lu_parts(x[0]), any({4, 2})),
      CASE("linalg_lu_solve", linalg::lu_solve(factors(x[0]).LU, factors(x[0]).pivots, x[1]), any({3, 3}),
           any({3, 2}, 2)),
      CASE("linalg_lu_solve_adjoint", linalg::lu_solve(factors(x[0]).LU, factors(x[0]).pivots, x[1], false, true),
           complex_any({3, 3}), complex_any({2, 3}, 2)),
      CASE("linalg_det", linalg::det(regular(x[0])), any({2, 3, 3})),
      CASE("linalg_det_complex", linalg::det(regular(x[0])), complex_any({3, 3})),
      CASE("linalg_slogdet", slogdet_parts(x[0]), any({2, 3, 3})),
      CASE("linalg_slogdet_complex", slogdet_parts(x[0]), complex_any({3, 3})),
      CASE("linalg_logdet", linalg::logdet(regular(x[0])), any({3, 3})),
      CASE("linalg_qr", qr_parts(x[0], "reduced"), any({2, 4, 3})),
      CASE("linalg_qr_wide", qr_parts(x[0], "reduced"), complex_any({2, 4})),
      CASE("linalg_qr_complete", qr_parts(x[0], "complete"), any({3, 3})),
      CASE("linalg_householder_product", linalg::householder_product(x[0], x[1]), any({4, 3}), any({2}, 2)),
      CASE("linalg_ormqr", linalg::ormqr(x[0], x[1], x[2], true, true), complex_any({3, 2}), complex_any({2}, 2),
           complex_any({3, 2}, 3)),
      CASE("linalg_eigh", eigh_parts(x[0]), any({2, 3, 3})),
      CASE("linalg_eigh_complex", eigh_parts(x[0]), complex_any({3, 3})),
      CASE("linalg_eigvalsh", linalg::eigvalsh(hermitian(x[0]), 'U'), any({3, 3})),
      CASE("linalg_eig", eig_parts(x[0]), any({2, 3, 3})),
      CASE("linalg_eig_complex", eig_parts(x[0]), complex_any({3, 3})),
      CASE("linalg_eigvals", linalg::eigvals(regular(x[0])), any({3, 3})),
      CASE("linalg_svd", svd_parts(x[0], false), any({2, 4, 3})),
      CASE("linalg_svd_full", svd_parts(x[0], true), any({2, 3})),
      CASE("linalg_svd_complex", svd_parts(x[0], false), complex_any({3, 2})),
      CASE("linalg_svdvals", linalg::svdvals(regular(x[0])), complex_any({2, 3})),
      CASE("linalg_pinv", linalg::pinv(regular(x[0])), any({2, 4, 3})),
      CASE("linalg_pinv_wide", linalg::pinv(regular(x[0])), complex_any({2, 3})),
      CASE("linalg_pinv_hermitian", linalg::pinv(hermitian(x[0]), {}, true), any({3, 3})),
      CASE("linalg_cond", linalg::cond(regular(x[0])), any({3, 3})),
      CASE("linalg_cond_1", linalg::cond(regular(x[0]), 1.0), any({3, 3})),
      CASE("linalg_nuclear_norm", linalg::nuclear_norm(regular(x[0])), any({2, 3, 3})),
      CASE("linalg_lstsq", lstsq_parts(x[0], x[1], "gels"), any({4, 2}), any({4, 2}, 2)),
      CASE("linalg_lstsq_wide", lstsq_parts(x[0], x[1], "gels"), any({2, 4}), any({2, 2}, 2)),
      CASE("linalg_lstsq_by_values", lstsq_parts(x[0], x[1], "gelsd"), any({4, 2}), any({4, 2}, 2)),
      CASE("linalg_tensorinv", linalg::tensorinv(reshape(regular(reshape(x[0], {4, 4})), {4, 2, 2}), 1), any({4, 4})),
      CASE("linalg_tensorsolve", linalg::tensorsolve(reshape(regular(x[0]), {2, 2, 4}), x[1]), any({4, 4}),
           any({2, 2}, 2)),
  };
}

}  // namespace neura::test
