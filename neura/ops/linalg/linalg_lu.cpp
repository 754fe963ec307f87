// LU, and what is computed from it: linear systems, inverses, determinants; triangular systems.
#include "neura/op/cast_scope.h"
#include "neura/op/registry.h"
#include "neura/ops/linalg/linalg_common.h"
#include "neura/ops/reduce/scan_common.h"
#include "neura/ops/sort/sort.h"

namespace neura::linalg {
namespace {

Spec like(const Spec& a, DType d, const Shape& sizes) { return Spec::dense(d, sizes, a.device); }
Spec pivots_of(const Spec& a) {
  return like(a, DType::int32, with_batch(batch_of(a), std::min(a.shape[a.rank - 2], a.shape[a.rank - 1]) + 1));
}

struct SolveTriangular {
  static constexpr Operation op = operation("solve_triangular").saves(0, in(0), out(0)).saves(1, in(0));
  bool upper, unit;
  NEURA_FIELDS(upper, unit)
  void infer(const Spec&, const Spec& b, Spec& x) const { x = like(b, b.dtype, b.sizes()); }
  void run(Context& c, View a, View b, View x) const { c.backend.linalg->triangular(c, upper, unit, a, b, x); }
  void gradient(Gradient& g) const {
    const Tensor gb = solve_triangular(adjoint(g.input(0)), g.g[0], !upper, true, unit);
    if (g.needs(1)) g.result[1] = gb;
    if (!g.needs(0)) return;
    const Tensor full = -matmul(gb, adjoint(g.output()));
    g.result[0] = upper ? triu(full, unit) : tril(full, -int(unit));
  }
};

struct LuFactor {
  static constexpr Operation op = operation("lu_factor").saves(0, out(0, 1));
  NEURA_FIELDS()
  void infer(const Spec& a, Spec& lu, Spec& pivots) const { lu = like(a, a.dtype, a.sizes()), pivots = pivots_of(a); }
  void run(Context& c, View a, View lu, View pivots) const { c.backend.linalg->lu(c, a, lu, pivots); }
  void gradient(Gradient& g) const;
};

// With A = L U of the rows in order: d = L^-1 dA U^-1 has L^-1 dL below its diagonal and dU U^-1 in the rest. Columns
// or rows beyond the square part, A2, depend on both factors of it.
void LuFactor::gradient(Gradient& g) const {
  const Tensor &lu = g.output(0), &up = g.g[0];
  const std::int64_t m = lu.size(-2), n = lu.size(-1), k = std::min(m, n);
  const auto square = [k](const Tensor& x) { return narrow(narrow(x, -2, 0, k), -1, 0, k); };
  const auto beyond = [&](const Tensor& x) { return m > n ? narrow(x, -2, k, m - k) : narrow(x, -1, k, n - k); };
  const Tensor f = square(lu), l = tril(f, -1) + identity(lu, k), u = triu(f), lh = adjoint(l), uh = adjoint(u);
  const Tensor gl = tril(square(up), -1), gu = triu(square(up));
  Tensor of_l = matmul(lh, gl), of_u = matmul(gu, uh), rest;
  if (m < n) {
    of_l = of_l - matmul(beyond(up), adjoint(beyond(lu)));
    rest = solve_triangular(lh, beyond(up), true, true, true);
  } else if (m > n) {
    of_u = of_u - matmul(adjoint(beyond(lu)), beyond(up));
    rest = solve_triangular(uh, beyond(up), false, false);
  }
  const Tensor d = tril(of_l, -1) + triu(of_u);
  Tensor ga = solve_triangular(uh, solve_triangular(lh, d, true, true, true), false, false);
  if (rest) ga = cat({ga, rest}, m > n ? -2 : -1);
  g.result[0] = rows_in(ga, argsort(row_order(without_info(g.output(1)), m), -1));
}

struct Solve {
  static constexpr Operation op = operation("solve").saves(0, in(0), out(0, 1, 2)).saves(1, in(0), out(1, 2));
  NEURA_FIELDS()
  void infer(const Spec& a, const Spec& b, Spec& x, Spec& lu, Spec& pivots) const {
    x = like(b, b.dtype, b.sizes()), lu = like(a, a.dtype, a.sizes()), pivots = pivots_of(a);
  }
  void run(Context& c, View a, View b, View x, View lu, View pivots) const {
    c.backend.linalg->solve(c, a, b, x, lu, pivots);
  }
  void gradient(Gradient& g) const {
    const Tensor gb = g.create_graph ? solve_ex(adjoint(g.input(0)), g.g[0]).result
                                     : lu_solve(g.output(1), without_info(g.output(2)), g.g[0], true, true);
    if (g.needs(1)) g.result[1] = gb;
    if (g.needs(0)) g.result[0] = -matmul(gb, adjoint(g.output(0)));
  }
};

struct Inv {
  static constexpr Operation op = operation("inv").saves(0, out(0));
  NEURA_FIELDS()
  void infer(const Spec& a, Spec& inverse, Spec& info) const {
    inverse = like(a, a.dtype, a.sizes()), info = like(a, DType::int32, batch_of(a));
  }
  void run(Context& c, View a, View inverse, View info) const { c.backend.linalg->inverse(c, a, inverse, info); }
  void gradient(Gradient& g) const {
    const Tensor ph = adjoint(g.output());
    g.result[0] = -matmul(ph, matmul(g.g[0], ph));
  }
};

struct Det {
  static constexpr Operation op = operation("det").saves(0, in(0), out(0, 1, 2));
  NEURA_FIELDS()
  void infer(const Spec& a, Spec& det, Spec& lu, Spec& pivots) const {
    det = like(a, a.dtype, batch_of(a)), lu = like(a, a.dtype, a.sizes()), pivots = pivots_of(a);
  }
  void run(Context& c, View a, View det, View lu, View pivots) const {
    c.backend.linalg->determinant(c, a, det, lu, pivots);
  }
  void gradient(Gradient& g) const;
};

// The sign of the permutation, 1 or -1.
Tensor parity_of(const Tensor& pivots, DType d) {
  const Tensor still = arange(1, pivots.size(-1) + 1, {.dtype = DType::int32, .device = pivots.device()});
  const Tensor swaps = sum(to(ne(pivots, still), DType::int32), -1);
  return to(1 - 2 * remainder(swaps, 2), d);
}

// The cofactors of any matrix, by its singular values, which must be distinct for the derivative.
Tensor cofactors_by_values(const Tensor& a, const Tensor& g) {
  const auto [u, s, vh] = svd(a);
  const Tensor ones_of = ones(with_batch(batch_of(a.spec()), 1), {.dtype = s.dtype(), .device = s.device()});
  const Tensor others = product_gradient(ones_of, s, 1u << (s.dim() - 1));
  return matmul(u * as_row(as_column(g * conj(det(u) * det(vh))) * others), vh);
}

// The cofactors, conj(det) A^-H. For a singular matrix pivots that are almost 0 replace its zeros: their product
// times the inverse stays finite. Derivatives of that would not: they take its singular values.
void Det::gradient(Gradient& g) const {
  const Tensor& lu = g.output(1);
  if (!lu.numel()) return void(g.result[0] = zeros(lu.shape(), {.dtype = lu.dtype(), .device = lu.device()}));
  const std::int64_t n = lu.size(-1);
  const Tensor pivots = diagonal_of(lu).detach(), absent = eq(pivots, 0), one = identity(lu, n);
  const auto scaled = [&](const Tensor& det) { return as_column(as_column(g.g[0] * conj(det))) * one; };
  if (!g.create_graph) {
    const Tensor most = amax(abs(pivots), -1, true);
    const Tensor least = where(gt(most, 0), most, 1) * (most.dtype() == DType::float64 ? 0x1p-52 : 0x1p-23);
    const Tensor stand_in = where(absent, to(least, lu.dtype()), 0), order = without_info(g.output(2));
    const Tensor det = prod(pivots + stand_in, -1) * parity_of(order, lu.dtype());
    g.result[0] = lu_solve(lu + as_row(stand_in) * one, order, scaled(det), true, true);
    return;
  }
  const Tensor singular = as_column(as_column(any(absent, -1)));
  const Tensor distinct = arange(1, n + 1, {.dtype = lu.dtype(), .device = lu.device()});
  const Tensor& a = g.input(0);
  const Tensor regular = solve_ex(adjoint(where(singular, one, a)), scaled(g.output(0))).result;
  g.result[0] = where(singular, cofactors_by_values(where(singular, a, one * distinct), g.g[0]), regular);
}

void check_pivot(const char* op, bool pivot) {
  check<NotImplementedError>(pivot, [&] { return std::string(op) + ": expected pivot=True, got False"; });
}
void check_sides(const char* op, const Tensor& A, const Tensor& B, bool left) {
  check<ShapeError>(B.dim() >= 2 && A.size(-1) == B.size(left ? -2 : -1), [&] {
    return std::string(op) + ": expected B [..., " + (left ? "n, k" : "k, n") + "] for A [..., n, n], got A " +
           A.spec().str() + " and B " + B.spec().str();
  });
}

}  // namespace

Tensor solve_triangular(const Tensor& A, const Tensor& B, bool upper, bool left, bool unitriangular) {
  if (const amp::CastScope cast{amp::Name::linalg, A, B})
    return solve_triangular(cast(A), cast(B), upper, left, unitriangular);
  constexpr const char* op = "solve_triangular";
  check_square(op, A), check_matrices(op, B, "B"), check_same_dtype(op, A, B), check_sides(op, A, B, left);
  if (!left) return mT(solve_triangular(mT(A), mT(B), !upper, true, unitriangular));
  const Shape batch = neura::broadcast_shapes(op, batch_of(A.spec()), batch_of(B.spec()));
  return apply(SolveTriangular{upper, unitriangular}, contiguous(broadcast_batch(A, batch)),
               contiguous(broadcast_batch(B, batch)));
}

SolveResult solve_ex(const Tensor& A, const Tensor& B, bool left, bool check_errors) {
  if (const amp::CastScope cast{amp::Name::linalg, A, B}) return solve_ex(cast(A), cast(B), left, check_errors);
  constexpr const char* op = "solve";
  check_square(op, A), check_same_dtype(op, A, B);
  if (is_vector(A, B)) {
    check<ValueError>(left, [&] {
      return "solve: expected left=True where B is a batch of vectors, got left=False and B " + B.spec().str();
    });
    SolveResult r = solve_ex(A, as_column(B), true, check_errors);
    r.result = squeeze(r.result, -1);
    return r;
  }
  check_sides(op, A, B, left);
  if (!left) {
    SolveResult r = solve_ex(mT(A), mT(B), true, check_errors);
    r.result = mT(r.result);
    return r;
  }
  const Shape batch = neura::broadcast_shapes(op, batch_of(A.spec()), batch_of(B.spec()));
  const auto [x, lu, pivots] =
      apply(Solve{}, contiguous(broadcast_batch(A, batch)), contiguous(broadcast_batch(B, batch)));
  SolveResult r{x, info_of(pivots)};
  if (check_errors) check_info(op, r.info, "A to be invertible", "singular");
  return r;
}
Tensor solve(const Tensor& A, const Tensor& B, bool left) { return solve_ex(A, B, left, true).result; }

InverseResult inv_ex(const Tensor& A, bool check_errors) {
  if (const amp::CastScope cast{amp::Name::linalg, A}) return inv_ex(cast(A), check_errors);
  check_square("inv", A);
  const auto [inverse, info] = apply(Inv{}, contiguous(A));
  if (check_errors) check_info("inv", info, "A to be invertible", "singular");
  return {inverse, info};
}
Tensor inv(const Tensor& A) { return inv_ex(A, true).inverse; }

LuFactorResult lu_factor_ex(const Tensor& A, bool pivot, bool check_errors) {
  check_matrices("lu_factor", A), check_pivot("lu_factor", pivot);
  const auto [lu, pivots] = apply(LuFactor{}, contiguous(A));
  LuFactorResult r{lu, without_info(pivots), info_of(pivots)};
  if (check_errors) check_info("lu_factor", r.info, "U without a 0 on its diagonal");
  return r;
}
LuFactorResult lu_factor(const Tensor& A, bool pivot) { return lu_factor_ex(A, pivot, true); }
LuResult lu(const Tensor& A, bool pivot) {
  const LuFactorResult f = lu_factor_ex(A, pivot);
  return lu_unpack(f.LU, f.pivots);
}
LuResult lu_unpack(const Tensor& LU, const Tensor& pivots, bool unpack_data, bool unpack_pivots) {
  constexpr const char* op = "lu_unpack";
  check_matrices(op, LU, "LU");
  const std::int64_t m = LU.size(-2), n = LU.size(-1), k = std::min(m, n);
  const Tensor none = empty({0}, {.dtype = LU.dtype(), .device = LU.device()});
  LuResult r{none, none, none};
  if (unpack_data) {
    r.L = tril(narrow(LU, -1, 0, k), -1) + eye(m, k, {.dtype = LU.dtype(), .device = LU.device()});
    r.U = triu(narrow(LU, -2, 0, k));
  }
  if (!unpack_pivots) return r;
  check<DTypeError>(pivots.dtype() == DType::int32,
                    [&] { return "lu_unpack: expected int32 pivots, got " + pivots.spec().str(); });
  check<ShapeError>(pivots.shape() == with_batch(batch_of(LU.spec()), k), [&] {
    return "lu_unpack: expected pivots " + with_batch(batch_of(LU.spec()), k).str() + ", got " + pivots.spec().str();
  });
  const Tensor row = as_column(arange(m, {.device = LU.device()}));
  r.P = to(eq(row, as_row(row_order(pivots, m))), LU.dtype());
  return r;
}

Tensor lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left, bool adjoint_of) {
  if (const amp::CastScope cast{amp::Name::linalg, LU, B}) return lu_solve(cast(LU), pivots, cast(B), left, adjoint_of);
  constexpr const char* op = "lu_solve";
  check_square(op, LU, "LU"), check_matrices(op, B, "B"), check_same_dtype(op, LU, B), check_sides(op, LU, B, left);
  check<DTypeError>(pivots.dtype() == DType::int32,
                    [&] { return "lu_solve: expected int32 pivots, got " + pivots.spec().str(); });
  const std::int64_t n = LU.size(-1);
  check<ShapeError>(pivots.shape() == with_batch(batch_of(LU.spec()), n), [&] {
    return "lu_solve: expected pivots " + with_batch(batch_of(LU.spec()), n).str() + ", got " + pivots.spec().str();
  });
  if (!left) return adjoint(lu_solve(LU, pivots, adjoint(B), true, !adjoint_of));
  const Shape batch = neura::broadcast_shapes(op, batch_of(LU.spec()), batch_of(B.spec()));
  const Tensor f = broadcast_batch(LU, batch), b = broadcast_batch(B, batch);
  const Tensor order = expand(row_order(pivots, n), with_batch(batch, n));
  if (!adjoint_of) return solve_triangular(f, solve_triangular(f, rows_in(b, order), false, true, true), true);
  const Tensor h = adjoint(f);
  return rows_in(solve_triangular(h, solve_triangular(h, b, false), true, true, true), argsort(order, -1));
}

Tensor det(const Tensor& A) {
  check_square("det", A);
  return apply(Det{}, contiguous(A))[0];
}
SlogdetResult slogdet(const Tensor& A) {
  check_square("slogdet", A);
  const LuFactorResult f = lu_factor_ex(A);
  const Tensor d = diagonal_of(f.LU);
  return {prod(sgn(d), -1) * parity_of(f.pivots, A.dtype()), sum(log(abs(d)), -1)};
}
Tensor logdet(const Tensor& A) {
  const SlogdetResult r = slogdet(A);
  if (is_complex(A.dtype())) return log(r.sign) + r.logabsdet;
  return where(eq(r.sign, -1.0), std::numeric_limits<double>::quiet_NaN(), r.logabsdet);
}

}  // namespace neura::linalg

NEURA_DEFINE_OPERATION(solve_triangular, linalg::SolveTriangular);
NEURA_DEFINE_OPERATION(lu_factor, linalg::LuFactor);
NEURA_DEFINE_OPERATION(solve, linalg::Solve);
NEURA_DEFINE_OPERATION(inv, linalg::Inv);
NEURA_DEFINE_OPERATION(det, linalg::Det);
