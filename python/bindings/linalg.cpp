// Linear algebra: neura.linalg, and the older names that stand in neura and at Tensor.
#include "neura/ops/linalg.h"

#include "out.h"
#include "results.h"

namespace neura::python {
namespace {

using T = const Tensor&;
namespace la = neura::linalg;

nb::object of(const la::LuFactorResult& r, const char* type, bool with_info) {
  return with_info ? named(type, {"LU", "pivots", "info"}, {r.LU, r.pivots, r.info})
                   : named(type, {"LU", "pivots"}, {r.LU, r.pivots});
}
nb::object of(const la::LuResult& r, const char* type) { return named(type, {"P", "L", "U"}, {r.P, r.L, r.U}); }
nb::object of(const la::EigResult& r, const char* type) {
  return named(type, {"eigenvalues", "eigenvectors"}, {r.eigenvalues, r.eigenvectors});
}
nb::object of(const la::SlogdetResult& r, const char* type) {
  return named(type, {"sign", "logabsdet"}, {r.sign, r.logabsdet});
}
nb::object of(const la::QrResult& r, const char* type) { return named(type, {"Q", "R"}, {r.Q, r.R}); }

char triangle(const char* op, const std::string& UPLO) {
  check<ValueError>(UPLO.size() == 1,
                    [&] { return std::string(op) + ": expected UPLO to be 'L' or 'U', got '" + UPLO + "'"; });
  return UPLO[0];
}
void check_driver(const char* op, const std::optional<std::string>& driver) {
  check<ValueError>(!driver, [&] {
    return std::string(op) + ": expected driver to be None, got '" + *driver + "'; only cuSOLVER has a choice";
  });
}
// A tolerance: None, a number or a tensor.
Tensor tolerance(nb::handle h, T like) {
  if (h.is_none()) return {};
  if (is_tensor(h.ptr())) return tensor_in(h.ptr());
  return full({}, nb::cast<double>(h), {.dtype = DType::float64, .device = like.device()});
}
Tensor tolerance(double t, T like) { return full({}, t, {.dtype = DType::float64, .device = like.device()}); }

void bind_solvers(const Names& n) {
  n.function(
      "cholesky", [](T A, bool upper) { return la::cholesky(A, upper); }, "A"_a, nb::kw_only(), "upper"_a = false);
  n.function(
      "cholesky_ex",
      [](T A, bool upper, bool check_errors) {
        const auto r = la::cholesky_ex(A, upper, check_errors);
        return named("linalg_cholesky_ex", {"L", "info"}, {r.L, r.info});
      },
      "A"_a, nb::kw_only(), "upper"_a = false, "check_errors"_a = false);
  n.function("inv", &la::inv, "A"_a);
  n.function(
      "inv_ex",
      [](T A, bool check_errors) {
        const auto r = la::inv_ex(A, check_errors);
        return named("linalg_inv_ex", {"inverse", "info"}, {r.inverse, r.info});
      },
      "A"_a, nb::kw_only(), "check_errors"_a = false);
  n.function("solve", &la::solve, "A"_a, "B"_a, nb::kw_only(), "left"_a = true);
  n.function(
      "solve_ex",
      [](T A, T B, bool left, bool check_errors) {
        const auto r = la::solve_ex(A, B, left, check_errors);
        return named("linalg_solve_ex", {"result", "info"}, {r.result, r.info});
      },
      "A"_a, "B"_a, nb::kw_only(), "left"_a = true, "check_errors"_a = false);
  n.function("solve_triangular", &la::solve_triangular, "A"_a, "B"_a, nb::kw_only(), "upper"_a, "left"_a = true,
             "unitriangular"_a = false);
}
void bind_factors(const Names& n) {
  n.function(
      "lu_factor", [](T A, bool pivot) { return of(la::lu_factor(A, pivot), "linalg_lu_factor", false); }, "A"_a,
      nb::kw_only(), "pivot"_a = true);
  n.function(
      "lu_factor_ex",
      [](T A, bool pivot, bool check_errors) {
        return of(la::lu_factor_ex(A, pivot, check_errors), "linalg_lu_factor_ex", true);
      },
      "A"_a, nb::kw_only(), "pivot"_a = true, "check_errors"_a = false);
  n.function(
      "lu", [](T A, bool pivot) { return of(la::lu(A, pivot), "linalg_lu"); }, "A"_a, nb::kw_only(), "pivot"_a = true);
  n.function("lu_solve", &la::lu_solve, "LU"_a, "pivots"_a, "B"_a, nb::kw_only(), "left"_a = true, "adjoint"_a = false);
  n.function("det", &la::det, "A"_a);
  n.function(
      "slogdet", [](T A) { return of(la::slogdet(A), "linalg_slogdet"); }, "A"_a);
  n.function(
      "ldl_factor",
      [](T A, bool hermitian) {
        const auto r = la::ldl_factor(A, hermitian);
        return named("linalg_ldl_factor", {"LD", "pivots"}, {r.LD, r.pivots});
      },
      "A"_a, nb::kw_only(), "hermitian"_a = false);
  n.function(
      "ldl_factor_ex",
      [](T A, bool hermitian, bool check_errors) {
        const auto r = la::ldl_factor_ex(A, hermitian, check_errors);
        return named("linalg_ldl_factor_ex", {"LD", "pivots", "info"}, {r.LD, r.pivots, r.info});
      },
      "A"_a, nb::kw_only(), "hermitian"_a = false, "check_errors"_a = false);
  n.function("ldl_solve", &la::ldl_solve, "LD"_a, "pivots"_a, "B"_a, nb::kw_only(), "hermitian"_a = false);
  n.function("tensorinv", &la::tensorinv, "A"_a, "ind"_a = 2);
  n.function("tensorsolve", &la::tensorsolve, "A"_a, "B"_a, "dims"_a = nb::none());
}

void bind_spectral(const Names& n) {
  n.function(
      "qr", [](T A, const std::string& mode) { return of(la::qr(A, mode), "linalg_qr"); }, "A"_a, "mode"_a = "reduced");
  n.function("householder_product", &la::householder_product, "A"_a, "tau"_a);
  n.function(
      "eigh", [](T A, const std::string& UPLO) { return of(la::eigh(A, triangle("eigh", UPLO)), "linalg_eigh"); },
      "A"_a, "UPLO"_a = "L");
  n.function(
      "eigvalsh", [](T A, const std::string& UPLO) { return la::eigvalsh(A, triangle("eigvalsh", UPLO)); }, "A"_a,
      "UPLO"_a = "L");
  n.function(
      "eig", [](T A) { return of(la::eig(A), "linalg_eig"); }, "A"_a);
  n.function("eigvals", &la::eigvals, "A"_a);
  n.function(
      "svd",
      [](T A, bool full_matrices, const std::optional<std::string>& driver) {
        check_driver("svd", driver);
        const auto r = la::svd(A, full_matrices);
        return named("linalg_svd", {"U", "S", "Vh"}, {r.U, r.S, r.Vh});
      },
      "A"_a, "full_matrices"_a = true, nb::kw_only(), "driver"_a = nb::none());
  n.function(
      "svdvals",
      [](T A, const std::optional<std::string>& driver) { return check_driver("svdvals", driver), la::svdvals(A); },
      "A"_a, nb::kw_only(), "driver"_a = nb::none());
  n.function(
      "lstsq",
      [](T A, T B, std::optional<double> rcond, const std::optional<std::string>& driver) {
        const auto r = la::lstsq(A, B, rcond, driver ? std::string_view(*driver) : "");
        return named("linalg_lstsq", {"solution", "residuals", "rank", "singular_values"},
                     {r.solution, r.residuals, r.rank, r.singular_values});
      },
      "A"_a, "B"_a, "rcond"_a = nb::none(), nb::kw_only(), "driver"_a = nb::none());
  n.function(
      "cond",
      [](T A, nb::handle p) {
        if (p.is_none()) return la::cond(A);
        if (PyUnicode_Check(p.ptr())) return la::cond(A, std::string_view(nb::cast<std::string>(p)));
        return la::cond(A, nb::cast<double>(p));
      },
      "A"_a, "p"_a = nb::none());
}

void bind_ranks(const Names& n) {
  n.function(
      "pinv",
      [](T A, nb::handle atol, nb::handle rtol, bool hermitian) {
        return la::pinv(A, {tolerance(atol, A), tolerance(rtol, A)}, hermitian);
      },
      "A"_a, nb::kw_only(), "atol"_a = nb::none(), "rtol"_a = nb::none(), "hermitian"_a = false);
  n.function(
      "pinv",
      [](T A, nb::handle rcond, bool hermitian) {
        return la::pinv(A, {{}, tolerance(rcond, A)}, hermitian);
      },
      "A"_a, "rcond"_a, "hermitian"_a = false);
  n.function(
      "matrix_rank",
      [](T A, nb::handle atol, nb::handle rtol, bool hermitian) {
        return la::matrix_rank(A, {tolerance(atol, A), tolerance(rtol, A)}, hermitian);
      },
      "A"_a, nb::kw_only(), "atol"_a = nb::none(), "rtol"_a = nb::none(), "hermitian"_a = false);
  n.function(
      "matrix_rank",
      [](T A, nb::handle tol, bool hermitian) {
        return la::matrix_rank(A, {tolerance(tol, A), tolerance(0.0, A)}, hermitian);
      },
      "A"_a, "tol"_a, "hermitian"_a = false);
}

// In neura itself, most of them methods as well.
void bind_old_solvers(const Names& n) {
  n.both("cholesky", &la::cholesky, "input"_a, "upper"_a = false);
  n.both("cholesky_inverse", &la::cholesky_inverse, "input"_a, "upper"_a = false);
  n.both("cholesky_solve", &la::cholesky_solve, "input"_a, "input2"_a, "upper"_a = false);
  n.both("inverse", &la::inv, "input"_a);
  n.both("det", &la::det, "input"_a).both("logdet", &la::logdet, "input"_a);
  n.both(
      "slogdet", [](T x) { return of(la::slogdet(x), "slogdet"); }, "input"_a);
  n.both(
      "pinverse",
      [](T x, double rcond) {
        return la::pinv(x, {{}, tolerance(rcond, x)});
      },
      "input"_a, "rcond"_a = 1e-15);
  n.both(
      "lu",
      [](T A, bool pivot, bool get_infos) -> nb::object {
        const auto r = la::lu_factor_ex(A, pivot, !get_infos);
        if (get_infos) return nb::make_tuple(r.LU, r.pivots, r.info);
        return nb::make_tuple(r.LU, r.pivots);
      },
      "A"_a, "pivot"_a = true, "get_infos"_a = false);
  n.both(
      "lu_solve", [](T b, T LU, T pivots) { return la::lu_solve(LU, pivots, b); }, "input"_a, "LU_data"_a,
      "LU_pivots"_a);
  n.function(
      "lu_unpack",
      [](T LU, T pivots, bool data, bool order) { return of(la::lu_unpack(LU, pivots, data, order), "lu_unpack"); },
      "LU_data"_a, "LU_pivots"_a, "unpack_data"_a = true, "unpack_pivots"_a = true);
  n.both(
      "triangular_solve",
      [](T b, T A, bool upper, bool transpose, bool unitriangular) {
        const Tensor x = la::solve_triangular(transpose ? mT(A) : A, b, upper != transpose, true, unitriangular);
        Shape sizes = x.shape();
        sizes.back() = A.size(-1);
        return named("triangular_solve", {"solution", "cloned_coefficient"}, {x, clone(expand(A, sizes))});
      },
      "input"_a, "A"_a, "upper"_a = true, "transpose"_a = false, "unitriangular"_a = false);
  n.function(
      "nuclear_norm",
      [](T x, nb::handle dim, bool keepdim) {
        Shape dims{-2, -1};
        if (!dim.is_none() && !to_shape(dim.ptr(), dims))
          throw nb::type_error("nuclear_norm: expected dim to be two integers");
        return la::nuclear_norm(x, dims, keepdim);
      },
      "input"_a, "dim"_a = nb::none(), "keepdim"_a = false);
}

void bind_old_spectral(const Names& n) {
  n.both(
      "svd",
      [](T x, bool some, bool compute_uv) {
        if (compute_uv) {
          const auto r = la::svd(x, !some);
          return named("svd", {"U", "S", "V"}, {r.U, r.S, conj(mT(r.Vh))});
        }
        const Tensor s = la::svdvals(x);
        Shape left = x.shape(), right = left;
        left.back() = x.size(-2), right[x.dim() - 2] = x.size(-1);
        const TensorOptions o{.dtype = x.dtype(), .device = x.device()};
        return named("svd", {"U", "S", "V"}, {zeros(left, o), s, zeros(right, o)});
      },
      "input"_a, "some"_a = true, "compute_uv"_a = true);
  n.both(
      "qr", [](T x, bool some) { return of(la::qr(x, some ? "reduced" : "complete"), "qr"); }, "input"_a,
      "some"_a = true);
  n.both(
      "geqrf",
      [](T x) {
        const auto r = la::geqrf(x);
        return named("geqrf", {"a", "tau"}, {r.a, r.tau});
      },
      "input"_a);
  n.both("orgqr", &la::householder_product, "input"_a, "input2"_a);
  n.both("ormqr", &la::ormqr, "input"_a, "input2"_a, "input3"_a, "left"_a = true, "transpose"_a = false);
}

}  // namespace

void bind_linalg(const Names& n) {
  const nb::module_ m = nb::module_(n.functions).def_submodule("linalg", "Linear algebra.");
  const Names names{m, n.methods};
  bind_solvers(names);
  bind_factors(names);
  bind_spectral(names);
  bind_ranks(names);
  give_out(m,
           "cholesky cholesky_ex inv inv_ex solve solve_ex solve_triangular lu_factor lu_factor_ex lu lu_solve det "
           "slogdet ldl_factor ldl_factor_ex ldl_solve tensorinv tensorsolve qr householder_product eigh eigvalsh eig "
           "eigvals svd svdvals lstsq cond pinv matrix_rank");
  bind_old_solvers(n);
  bind_old_spectral(n);
  give_out(n.functions,
           "cholesky cholesky_inverse cholesky_solve inverse det slogdet lu_solve lu_unpack triangular_solve svd qr "
           "geqrf orgqr ormqr nuclear_norm");
}

}  // namespace neura::python
