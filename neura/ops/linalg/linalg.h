// Linear algebra: factorisations of matrices, and solvers built on them. Matrices are the last two dimensions, all
// others are batches. float32, float64, complex64 and complex128; integers and halves are a DTypeError. LinAlgError
// where a matrix is singular, or not positive-definite, or an algorithm does not converge; a function `…_ex` says so in
// its `info` (int32, 0 where all is well) instead. All are differentiable to any order where nothing else is said.
#pragma once
#include <optional>
#include <string_view>

#include "neura/core/tensor.h"

namespace neura::linalg {

#include "neura/tables/functions/declare.h"
#include "neura/tables/functions/linalg.def"
#include "neura/tables/functions/linalg_legacy.def"
#include "neura/tables/functions/end.h"

// L with A = L L^H, or (upper) U = L^H. Of A only that triangle is read.
struct CholeskyResult {
  Tensor L, info;
};
CholeskyResult cholesky_ex(const Tensor& A, bool upper = false, bool check_errors = false);

struct InverseResult {
  Tensor inverse, info;
};
InverseResult inv_ex(const Tensor& A, bool check_errors = false);
struct SolveResult {
  Tensor result, info;
};
SolveResult solve_ex(const Tensor& A, const Tensor& B, bool left = true, bool check_errors = false);

// A = P L U. lu_factor: L (without its diagonal of ones) and U in one matrix, and the pivots, counted from 1; lu: each
// of the three. pivot = false is a NotImplementedError.
struct LuFactorResult {
  Tensor LU, pivots, info;
};
struct LuResult {
  Tensor P, L, U;
};
LuFactorResult lu_factor(const Tensor& A, bool pivot = true);
LuFactorResult lu_factor_ex(const Tensor& A, bool pivot = true, bool check_errors = false);
LuResult lu(const Tensor& A, bool pivot = true);
LuResult lu_unpack(const Tensor& LU, const Tensor& pivots, bool unpack_data = true, bool unpack_pivots = true);

struct SlogdetResult {
  Tensor sign, logabsdet;
};
SlogdetResult slogdet(const Tensor& A);

// LDL^T (hermitian: LDL^H) of a symmetric matrix, of which the lower triangle is read. No derivative.
struct LdlResult {
  Tensor LD, pivots, info;
};
LdlResult ldl_factor(const Tensor& A, bool hermitian = false);
LdlResult ldl_factor_ex(const Tensor& A, bool hermitian = false, bool check_errors = false);

// A = Q R. mode "reduced": Q [m, k], R [k, n], k = min(m, n); "complete": [m, m], [m, n]; "r": R alone, without a
// derivative. A complete Q of more rows than columns has none either.
struct QrResult {
  Tensor Q, R;
};
QrResult qr(const Tensor& A, std::string_view mode = "reduced");
struct GeqrfResult {
  Tensor a, tau;  // R, and below it Householder vectors
};
GeqrfResult geqrf(const Tensor& input);  // no derivative

// Eigenvalues, and eigenvectors as columns. eigh: of a Hermitian matrix, of which the triangle UPLO ('L' or 'U') is
// read; real values in ascending order. eig: of any square matrix; complex. Vectors are defined up to their phase: a
// derivative of something that depends on it is an AutogradError.
struct EigResult {
  Tensor eigenvalues, eigenvectors;
};
EigResult eigh(const Tensor& A, char UPLO = 'L');
Tensor eigvalsh(const Tensor& A, char UPLO = 'L');
EigResult eig(const Tensor& A);

// A = U diag(S) Vh, S in descending order. full_matrices: U [m, m], Vh [n, n]; else [m, k], [k, n]. The derivative sees
// the first k columns and rows alone.
struct SvdResult {
  Tensor U, S, Vh;
};
SvdResult svd(const Tensor& A, bool full_matrices = true);
Tensor svdvals(const Tensor& A);

// Singular values (hermitian: absolute eigenvalues) up to max(atol, rtol * the largest) count as 0. Where nothing is
// given rtol is the dtype's epsilon times max(m, n), and 0 where atol is above 0.
struct Tolerance {
  Tensor atol = {}, rtol = {};  // real, broadcast with the batch
};
Tensor pinv(const Tensor& A, const Tolerance& = {}, bool hermitian = false);
Tensor matrix_rank(const Tensor& A, const Tolerance& = {}, bool hermitian = false);  // int64
// The condition number. p: none or 2, by singular values; -2, 1, -1, inf, -inf by the norms of A and its inverse;
// "fro" and "nuc".
Tensor cond(const Tensor& A, std::optional<double> p = {});
Tensor cond(const Tensor& A, std::string_view p);
Tensor nuclear_norm(const Tensor& A, const Dims& dim = {-2, -1}, bool keepdim = false);

// Least squares: X that minimises the norm of A X - B. driver "gels" (A of full rank), "gelsy", "gelsd" or "gelss";
// none: "gelsy". Results that a driver does not compute are empty, as in torch: residuals, rank (of all but gels),
// singular values (gelsd, gelss).
struct LstsqResult {
  Tensor solution, residuals, rank, singular_values;
};
LstsqResult lstsq(const Tensor& A, const Tensor& B, std::optional<double> rcond = {}, std::string_view driver = "");

}  // namespace neura::linalg
