// Linear algebra: neura.linalg.
#include "neura/ops/linalg/linalg.h"

#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/linalg/matrix_functions.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/reduce/statistics.h"
#include "neura/ops/shape/view.h"
#include "neura/surface/list.h"

namespace neura::surface {
namespace {

using T = const Tensor&;
using O = const Operand&;
using D = std::optional<DType>;
using Word = const std::string&;
using Driver = const std::optional<std::string>&;
namespace la = neura::linalg;

Named named(const char* type, const la::EigResult& r) {
  return {type, {"eigenvalues", "eigenvectors"}, {r.eigenvalues, r.eigenvectors}};
}
char triangle(const char* op, Word UPLO) {
  check<ValueError>(UPLO.size() == 1,
                    [&] { return std::string(op) + ": expected UPLO to be 'L' or 'U', got '" + UPLO + "'"; });
  return UPLO[0];
}
void check_driver(const char* op, Driver driver) {
  check<ValueError>(!driver, [&] {
    return std::string(op) + ": expected driver to be None, got '" + *driver + "'; only cuSOLVER has a choice";
  });
}

void add_table(const List& s) {
  using namespace la;
#include "neura/surface/entries.h"
#include "neura/tables/functions/linalg.def"
#include "neura/tables/functions/end.h"
}

void add_solvers(const List& s) {
  s.add(
      "cholesky_ex(A, *, upper=False, check_errors=False)",
      [](T A, bool upper, bool check_errors) {
        const auto r = la::cholesky_ex(A, upper, check_errors);
        return Named{"linalg_cholesky_ex", {"L", "info"}, {r.L, r.info}};
      },
      function | out,
      "cholesky, and info instead of an error: 0, or the order of the leading minor that is not positive.");
  s.add(
      "inv_ex(A, *, check_errors=False)",
      [](T A, bool check_errors) {
        const auto r = la::inv_ex(A, check_errors);
        return Named{"linalg_inv_ex", {"inverse", "info"}, {r.inverse, r.info}};
      },
      function | out, "inv, and info instead of an error: 0, or which pivot is 0.");
  s.add(
      "solve_ex(A, B, *, left=True, check_errors=False)",
      [](T A, T B, bool left, bool check_errors) {
        const auto r = la::solve_ex(A, B, left, check_errors);
        return Named{"linalg_solve_ex", {"result", "info"}, {r.result, r.info}};
      },
      function | out, "solve, and info instead of an error: 0, or which pivot is 0.");
  s.add(
      "lstsq(A, B, rcond=None, *, driver=None)",
      [](T A, T B, std::optional<double> rcond, Driver driver) {
        const auto r = la::lstsq(A, B, rcond, driver ? std::string_view(*driver) : "");
        return Named{"linalg_lstsq",
                     {"solution", "residuals", "rank", "singular_values"},
                     {r.solution, r.residuals, r.rank, r.singular_values}};
      },
      function | out,
      "Least squares: X that minimises the norm of A X - B, with residuals, rank and singular values as far as the "
      "driver computes them.");
}

void add_factors(const List& s) {
  s.add(
      "lu_factor(A, *, pivot=True)",
      [](T A, bool pivot) {
        const auto r = la::lu_factor(A, pivot);
        return Named{"linalg_lu_factor", {"LU", "pivots"}, {r.LU, r.pivots}};
      },
      function | out,
      "LU factorisation with partial pivoting, A = P L U: L and U in one matrix, and the pivots, counted from 1. "
      "LinAlgError where U has a 0 on its diagonal.");
  s.add(
      "lu_factor_ex(A, *, pivot=True, check_errors=False)",
      [](T A, bool pivot, bool check_errors) {
        const auto r = la::lu_factor_ex(A, pivot, check_errors);
        return Named{"linalg_lu_factor_ex", {"LU", "pivots", "info"}, {r.LU, r.pivots, r.info}};
      },
      function | out, "lu_factor, and info instead of an error: 0, or which pivot is 0.");
  s.add(
      "lu(A, *, pivot=True)",
      [](T A, bool pivot) {
        const auto r = la::lu(A, pivot);
        return Named{"linalg_lu", {"P", "L", "U"}, {r.P, r.L, r.U}};
      },
      function | out, "A = P L U: a permutation, a lower triangle with a diagonal of ones, an upper triangle.");
  s.add(
      "slogdet(A)",
      [](T A) {
        const auto r = la::slogdet(A);
        return Named{"linalg_slogdet", {"sign", "logabsdet"}, {r.sign, r.logabsdet}};
      },
      function | out, "Sign (or phase) and logarithm of the absolute value of the determinant.");
  s.add(
      "ldl_factor(A, *, hermitian=False)",
      [](T A, bool hermitian) {
        const auto r = la::ldl_factor(A, hermitian);
        return Named{"linalg_ldl_factor", {"LD", "pivots"}, {r.LD, r.pivots}};
      },
      function | out,
      "The LDL factorisation of symmetric (hermitian: Hermitian) matrices, of which the lower triangle is read. No "
      "derivative.");
  s.add(
      "ldl_factor_ex(A, *, hermitian=False, check_errors=False)",
      [](T A, bool hermitian, bool check_errors) {
        const auto r = la::ldl_factor_ex(A, hermitian, check_errors);
        return Named{"linalg_ldl_factor_ex", {"LD", "pivots", "info"}, {r.LD, r.pivots, r.info}};
      },
      function | out, "ldl_factor, and info instead of an error.");
}

void add_spectral(const List& s) {
  s.add(
      "qr(A, mode='reduced')",
      [](T A, Word mode) {
        const auto r = la::qr(A, mode);
        return Named{"linalg_qr", {"Q", "R"}, {r.Q, r.R}};
      },
      function | out, "A = Q R with orthonormal columns in Q and an upper triangle R.");
  s.add(
      "eigh(A, UPLO='L')", [](T A, Word UPLO) { return named("linalg_eigh", la::eigh(A, triangle("eigh", UPLO))); },
      function | out,
      "Eigenvalues, ascending and real, and eigenvectors, as columns, of a Hermitian matrix of which the triangle "
      "UPLO is read.");
  s.add(
      "eigvalsh(A, UPLO='L')", [](T A, Word UPLO) { return la::eigvalsh(A, triangle("eigvalsh", UPLO)); },
      function | out, "The eigenvalues of a Hermitian matrix, ascending and real.");
  s.add(
      "eig(A)", [](T A) { return named("linalg_eig", la::eig(A)); }, function | out,
      "Eigenvalues and eigenvectors, as columns, of any square matrix: complex numbers.");
  s.add(
      "svd(A, full_matrices=True, *, driver=None)",
      [](T A, bool full_matrices, Driver driver) {
        check_driver("svd", driver);
        const auto r = la::svd(A, full_matrices);
        return Named{"linalg_svd", {"U", "S", "Vh"}, {r.U, r.S, r.Vh}};
      },
      function | out,
      "The singular value decomposition A = U diag(S) Vh, S in descending order; full_matrices: U and Vh are square.");
  s.add(
      "svdvals(A, *, driver=None)", [](T A, Driver d) { return check_driver("svdvals", d), la::svdvals(A); },
      function | out, "The singular values, in descending order.");
  s.add(
      "cond(A, p=None)", [](T A, Driver p) { return p ? la::cond(A, std::string_view(*p)) : la::cond(A); },
      function | out,
      "The condition number: of singular values, or (p = 1, -1, inf, -inf, 'fro', 'nuc') of the norms of A and its "
      "inverse.");
  s.add(
      "cond(A, p)", [](T A, double p) { return la::cond(A, p); }, function | out);
}

// A tolerance: nothing, a number or a tensor.
Tensor tolerance(O t, T like) {
  if (t.is_tensor()) return Tensor(Ref<TensorImpl>::share(t.tensor));
  if (!t.is_scalar()) return {};
  return full({}, t.scalar, {.dtype = DType::float64, .device = like.device()});
}
void add_ranks(const List& s) {
  s.add(
      "pinv(A, *, atol=None, rtol=None, hermitian=False)",
      [](T A, O atol, O rtol, bool hermitian) {
        return la::pinv(A, {tolerance(atol, A), tolerance(rtol, A)}, hermitian);
      },
      function | out,
      "The pseudo-inverse: singular values up to max(atol, rtol * the largest) count as 0. hermitian: by eigenvalues.");
  s.add(
      "pinv(A, rcond, hermitian=False)",
      [](T A, O rcond, bool hermitian) {
        return la::pinv(A, {{}, tolerance(rcond, A)}, hermitian);
      },
      function | out);
  s.add(
      "matrix_rank(A, *, atol=None, rtol=None, hermitian=False)",
      [](T A, O atol, O rtol, bool hermitian) {
        return la::matrix_rank(A, {tolerance(atol, A), tolerance(rtol, A)}, hermitian);
      },
      function | out,
      "The number of singular values above max(atol, rtol * the largest). hermitian: of absolute eigenvalues.");
  s.add(
      "matrix_rank(A, tol, hermitian=False)",
      [](T A, O tol, bool hermitian) {
        return la::matrix_rank(A, {tolerance(tol, A), tolerance(Scalar(0.0), A)}, hermitian);
      },
      function | out);
}

void check_norm(T A, const Dims& dim) {
  check<ShapeError>(!dim.empty() || A.dim() == 1 || A.dim() == 2, [&] {
    return "norm: expected a tensor of one or two dimensions where ord is given and dim is not, got " +
           std::to_string(A.dim());
  });
}
Tensor norm_by_number(T A, const std::optional<double>& ord, const Dims& dim, bool keepdim, D dtype) {
  if (ord) check_norm(A, dim);
  if (ord && (dim.empty() ? A.dim() : dim.size()) == 2)
    return matrix_norm(A, {ord, dim.empty() ? Dims{0, 1} : dim, keepdim, dtype});
  return vector_norm(A, ord.value_or(2), dim, keepdim, dtype);
}
Tensor matrix_norm_by_name(T A, Word ord, const Dims& dim, bool keepdim, D dtype) {
  check<ValueError>(ord == "fro" || ord == "nuc",
                    [&] { return "matrix_norm: expected ord to be 'fro', 'nuc' or a number, got '" + ord + "'"; });
  if (ord == "nuc") return la::nuclear_norm(dtype ? to(A, *dtype) : A, dim, keepdim);
  return matrix_norm(A, {{}, dim, keepdim, dtype});
}
void add_norms(const List& s) {
  s.add("matrix_norm(A, ord='fro', dim=(-2, -1), keepdim=False, *, dtype=None)", &matrix_norm_by_name, function | out,
        R"(The norm of matrices, by default over the last two dimensions; floating or complex, the result is real.

ord: 'fro', the root of the sum of squares; 1 or -1, the largest or smallest sum over a column; inf or -inf, over a
row; 2 or -2, the largest or smallest singular value; 'nuc', the sum of all of them. ValueError for another.

>>> neura.linalg.matrix_norm(neura.tensor([[1.0, -2.0], [3.0, 4.0]]), ord=1)
tensor(6.))");
  s.add(
      "matrix_norm(A, ord, dim=(-2, -1), keepdim=False, *, dtype=None)",
      [](T A, double ord, const Dims& dim, bool keepdim, D dtype) {
        return matrix_norm(A, {ord, dim, keepdim, dtype});
      },
      function | out);
  s.add(
      "norm(A, ord=None, dim=None, keepdim=False, *, dtype=None)", &norm_by_number, function | out,
      R"(The norm of vectors (one dimension, or ord None) or of matrices (two dimensions); see vector_norm, matrix_norm.

Without dim and ord, the 2-norm of all elements; without dim, A has one or two dimensions, else ShapeError.

>>> neura.linalg.norm(neura.tensor([3.0, 4.0]))
tensor(5.))");
  s.add(
      "norm(A, ord, dim=None, keepdim=False, *, dtype=None)",
      [](T A, Word ord, const Dims& dim, bool keepdim, D dtype) {
        check_norm(A, dim);
        return matrix_norm_by_name(A, ord, dim.empty() ? Dims{0, 1} : dim, keepdim, dtype);
      },
      function | out);
  s.add(
      "vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None)",
      [](T x, double ord, const Dims& dim, bool k, D d) { return vector_norm(x, ord, dim, k, d); }, function | out,
      "The ord-norm of all elements or along dim; ord may be inf, -inf and 0.");
}
void add_parts(const List& s) {
  s.add(
      "diagonal(A, *, offset=0, dim1=-2, dim2=-1)",
      [](T A, int offset, int dim1, int dim2) { return diagonal(A, offset, dim1, dim2); }, function,
      R"(The diagonal of matrices, as a view: neura.diagonal of the last two dimensions.

>>> neura.linalg.diagonal(neura.tensor([[1.0, 2.0], [3.0, 4.0]]))
tensor([1., 4.]))");
  s.add(
      "cross(input, other, *, dim=-1)", [](T a, T b, int dim) { return cross(a, b, dim); }, function | out,
      "The cross product along dim, of size 3; both broadcast.");
  s.add("vecdot(x, y, *, dim=-1)", &vecdot, function | out, "The sum of conj(x) * y along dim; both broadcast.");
  s.add("vander(x, *, N=None)", &vander, function,
        "The Vandermonde matrix: powers 0 to N - 1 of each element, [..., n] -> [..., n, N].");
  s.add(
      "multi_dot(tensors)", [](const Tensors& l) { return multi_dot(l); }, function | out,
      "The product of matrices (the first and last may be vectors), in the order that costs least.");
}

}  // namespace

void add_linalg(std::deque<Function>& all) {
  const List s(all, "linalg");
  add_table(s);
  add_solvers(s);
  add_factors(s);
  add_spectral(s);
  add_ranks(s);
  add_norms(s);
  add_parts(s);
}

}  // namespace neura::surface
