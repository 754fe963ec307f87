// Linear algebra under the older names, which are in neura and on Tensor.
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/linalg/linalg.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"
#include "neura/surface/list.h"

namespace neura::surface {
namespace {

using T = const Tensor&;
namespace la = neura::linalg;

Named svd_or_values(T x, bool some, bool compute_uv) {
  if (compute_uv) {
    const auto r = la::svd(x, !some);
    return {"svd", {"U", "S", "V"}, {r.U, r.S, conj(mT(r.Vh))}};
  }
  const Tensor values = la::svdvals(x);
  Shape left = x.shape(), right = left;
  left.back() = x.size(-2), right[x.dim() - 2] = x.size(-1);
  const TensorOptions o{.dtype = x.dtype(), .device = x.device()};
  return {"svd", {"U", "S", "V"}, {zeros(left, o), values, zeros(right, o)}};
}
Named triangular_solve(T b, T A, bool upper, bool transpose, bool unitriangular) {
  const Tensor x = la::solve_triangular(transpose ? mT(A) : A, b, upper != transpose, true, unitriangular);
  Shape sizes = x.shape();
  sizes.back() = A.size(-1);
  return {"triangular_solve", {"solution", "cloned_coefficient"}, {x, expand(A, sizes).clone()}};
}

void add_table(const List& s) {
  using namespace la;
#include "neura/surface/entries.h"
#include "neura/tables/functions/linalg_legacy.def"
#include "neura/tables/functions/end.h"
}

void add_solvers(const List& s) {
  s.add("cholesky(input, upper=False)", &la::cholesky, both | out,
        "L with A = L L^H, of a positive-definite matrix: linalg.cholesky in its older form.");
  s.add("inverse(input)", &la::inv, both | out, "The inverse of square matrices: linalg.inv under another name.");
  s.add("det(input)", &la::det, both | out, "The determinant of square matrices.");
  s.add(
      "slogdet(input)",
      [](T x) {
        const auto r = la::slogdet(x);
        return Named{"slogdet", {"sign", "logabsdet"}, {r.sign, r.logabsdet}};
      },
      both | out, "Sign (or phase) and logarithm of the absolute value of the determinant.");
  s.add(
      "pinverse(input, rcond=1e-15)",
      [](T x, double rcond) {
        return la::pinv(x, {{}, full({}, rcond, {.dtype = DType::float64, .device = x.device()})});
      },
      both, "The pseudo-inverse: singular values up to rcond times the largest count as 0.");
  s.add(
      "lu(A, pivot=True, get_infos=False)",
      [](T A, bool pivot, bool get_infos) {
        const auto r = la::lu_factor_ex(A, pivot, !get_infos);
        return get_infos ? Tensors{r.LU, r.pivots, r.info} : Tensors{r.LU, r.pivots};
      },
      both | out, "(LU, pivots) of linalg.lu_factor; with get_infos, its info as well.");
  s.add(
      "lu_solve(input, LU_data, LU_pivots)", [](T b, T LU, T pivots) { return la::lu_solve(LU, pivots, b); },
      both | out, "X with A X = B, from the result of lu_factor(A).");
  s.add(
      "lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True)",
      [](T LU, T pivots, bool data, bool order) {
        const auto r = la::lu_unpack(LU, pivots, data, order);
        return Named{"lu_unpack", {"P", "L", "U"}, {r.P, r.L, r.U}};
      },
      function | out, "P, L and U from the result of lu_factor.");
  s.add("triangular_solve(input, A, upper=True, transpose=False, unitriangular=False)", &triangular_solve, both | out,
        "X with A X = b for a triangular A, and a copy of A: linalg.solve_triangular in its older form.");
}
void add_spectral(const List& s) {
  s.add(
      "nuclear_norm(input, dim=None, keepdim=False)",
      [](T x, const Dims& dim, bool k) {
        return la::nuclear_norm(x, dim.empty() ? Dims{-2, -1} : dim, k);
      },
      function | out, "The sum of the singular values of matrices.");
  s.add("svd(input, some=True, compute_uv=True)", &svd_or_values, both | out,
        "The singular value decomposition (U, S, V): linalg.svd in its older form, with V instead of its adjoint.");
  s.add(
      "qr(input, some=True)",
      [](T x, bool some) {
        const auto r = la::qr(x, some ? "reduced" : "complete");
        return Named{"qr", {"Q", "R"}, {r.Q, r.R}};
      },
      both | out, "A = Q R with orthonormal columns in Q and an upper triangle R.");
  s.add(
      "geqrf(input)",
      [](T x) {
        const auto r = la::geqrf(x);
        return Named{"geqrf", {"a", "tau"}, {r.a, r.tau}};
      },
      both | out, "QR as Householder vectors below R, and their factors tau. No derivative.");
  s.add("orgqr(input, input2)", &la::householder_product, both | out, "linalg.householder_product under another name.");
}

}  // namespace

void add_linalg_legacy(std::deque<Function>& all) {
  const List s(all, "");
  add_table(s);
  add_solvers(s);
  add_spectral(s);
}

}  // namespace neura::surface
