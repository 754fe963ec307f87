// Symmetric and Hermitian matrices: Cholesky, LDL.
#include "neura/backend/kernels/create.h"
#include "neura/op/cast_scope.h"
#include "neura/op/registry.h"
#include "neura/ops/linalg/linalg_common.h"

namespace neura::linalg {
namespace {

struct Cholesky {
  static constexpr Operation op = operation("cholesky").saves(0, out(0));
  bool upper;
  NEURA_FIELDS(upper)
  void infer(const Spec& a, Spec& f, Spec& info) const {
    f = Spec::dense(a.dtype, a.sizes(), a.device), info = Spec::dense(DType::int32, batch_of(a), a.device);
  }
  void run(Context& c, View a, View f, View info) const { c.backend.linalg->cholesky(c, upper, a, f, info); }
  // L^-1 dA L^-H = d + d^H, where d = L^-1 dL has half of it on its diagonal.
  void gradient(Gradient& g) const {
    const Tensor h = adjoint(g.output()), &l = upper ? h : g.output(), &lh = upper ? g.output() : h;
    const Tensor full = matmul(lh, upper ? adjoint(g.g[0]) : g.g[0]);
    const Tensor both = tril(full) + adjoint(tril(full, -1));
    g.result[0] = solve_triangular(l, solve_triangular(lh, both * 0.5, true), false, false);
  }
};

// A solution by the triangles of L, with the derivative of (L L^H)^-1 B for all elements of L.
struct CholeskySolve {
  static constexpr Operation op = operation("cholesky_solve").saves(0, in(1)).saves(1, in(1), out(0));
  bool upper;
  NEURA_FIELDS(upper)
  void infer(const Spec& b, const Spec&, const Spec&, Spec& x) const { x = Spec::dense(b.dtype, b.sizes(), b.device); }
  void run(Context& c, View, View, View found, View x) const { c.backend.create->copy(c, found, x); }
  void gradient(Gradient& g) const {
    const Tensor &l = g.input(1), gb = cholesky_solve(g.g[0], l, upper);
    if (g.needs(0)) g.result[0] = gb;
    if (!g.needs(1)) return;
    const Tensor ga = matmul(gb, adjoint(g.output())), both = ga + adjoint(ga);
    g.result[1] = -(upper ? matmul(l, both) : matmul(both, l));
  }
};

struct LdlFactor {
  static constexpr Operation op = operation("ldl_factor");
  bool hermitian;
  NEURA_FIELDS(hermitian)
  void infer(const Spec& a, Spec& ld, Spec& pivots) const {
    ld = Spec::dense(a.dtype, a.sizes(), a.device);
    pivots = Spec::dense(DType::int32, with_batch(batch_of(a), a.shape[a.rank - 1] + 1), a.device);
  }
  void run(Context& c, View a, View ld, View pivots) const { c.backend.linalg->ldl(c, hermitian, a, ld, pivots); }
};
struct LdlSolve {
  static constexpr Operation op = operation("ldl_solve");
  bool hermitian;
  NEURA_FIELDS(hermitian)
  void infer(const Spec&, const Spec&, const Spec& b, Spec& x) const { x = Spec::dense(b.dtype, b.sizes(), b.device); }
  void run(Context& c, View ld, View pivots, View b, View x) const {
    c.backend.linalg->ldl_solve(c, hermitian, ld, pivots, b, x);
  }
};

}  // namespace

CholeskyResult cholesky_ex(const Tensor& A, bool upper, bool check_errors) {
  if (const amp::CastScope cast{amp::Name::linalg, A}) return cholesky_ex(cast(A), upper, check_errors);
  check_square("cholesky", A);
  const auto [l, info] = apply(Cholesky{upper}, contiguous(A));
  if (check_errors) check_info("cholesky", info, "A to be positive-definite");
  return {l, info};
}
Tensor cholesky(const Tensor& A, bool upper) { return cholesky_ex(A, upper, true).L; }

Tensor cholesky_solve(const Tensor& B, const Tensor& L, bool upper) {
  if (const amp::CastScope cast{amp::Name::linalg, B, L}) return cholesky_solve(cast(B), cast(L), upper);
  constexpr const char* op = "cholesky_solve";
  check_square(op, L, "L"), check_matrices(op, B, "B"), check_same_dtype(op, L, B);
  check<ShapeError>(B.size(-2) == L.size(-1), [&] {
    return "cholesky_solve: expected B [..., n, k] for L [..., n, n], got L " + L.spec().str() + " and B " +
           B.spec().str();
  });
  const Shape batch = neura::broadcast_shapes(op, batch_of(L.spec()), batch_of(B.spec()));
  const Tensor factor = broadcast_batch(L, batch), b = broadcast_batch(B, batch);
  const Tensor f = factor.detach(), h = adjoint(f);
  const Tensor found = solve_triangular(upper ? f : h, solve_triangular(upper ? h : f, b.detach(), false), true);
  return apply(CholeskySolve{upper}, b, factor, found);
}
Tensor cholesky_inverse(const Tensor& L, bool upper) {
  if (const amp::CastScope cast{amp::Name::linalg, L}) return cholesky_inverse(cast(L), upper);
  check_square("cholesky_inverse", L, "L");
  return cholesky_solve(identity(L, L.size(-1)), L, upper);
}

LdlResult ldl_factor_ex(const Tensor& A, bool hermitian, bool check_errors) {
  check_square("ldl_factor", A);
  const auto [ld, pivots] = apply(LdlFactor{hermitian}, contiguous(A));
  LdlResult r{ld, without_info(pivots), info_of(pivots)};
  if (check_errors) check_info("ldl_factor", r.info, "D to be invertible");
  return r;
}
LdlResult ldl_factor(const Tensor& A, bool hermitian) { return ldl_factor_ex(A, hermitian, true); }
Tensor ldl_solve(const Tensor& LD, const Tensor& pivots, const Tensor& B, bool hermitian) {
  constexpr const char* op = "ldl_solve";
  check_square(op, LD, "LD"), check_matrices(op, B, "B"), check_same_dtype(op, LD, B);
  check<ShapeError>(B.size(-2) == LD.size(-1), [&] {
    return "ldl_solve: expected B [..., n, k] for LD [..., n, n], got LD " + LD.spec().str() + " and B " +
           B.spec().str();
  });
  check<ShapeError>(pivots.shape() == with_batch(batch_of(LD.spec()), LD.size(-1)), [&] {
    return "ldl_solve: expected pivots [..., n] for LD [..., n, n], got pivots " + pivots.spec().str() + " and LD " +
           LD.spec().str();
  });
  check<DTypeError>(is_integral(pivots.dtype()) && pivots.dtype() != DType::boolean,
                    [&] { return "ldl_solve: expected integers as pivots, got " + pivots.spec().str(); });
  const Shape batch = neura::broadcast_shapes(op, batch_of(LD.spec()), batch_of(B.spec()));
  return apply(LdlSolve{hermitian}, contiguous(broadcast_batch(LD, batch)),
               contiguous(expand(to(pivots, DType::int32), with_batch(batch, LD.size(-1)))),
               contiguous(broadcast_batch(B, batch)));
}

}  // namespace neura::linalg

NEURA_DEFINE_OPERATION(cholesky, linalg::Cholesky);
NEURA_DEFINE_OPERATION(cholesky_solve, linalg::CholeskySolve);
NEURA_DEFINE_OPERATION(ldl_factor, linalg::LdlFactor);
NEURA_DEFINE_OPERATION(ldl_solve, linalg::LdlSolve);
