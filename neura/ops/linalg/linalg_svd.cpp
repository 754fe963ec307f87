// SVD, and what is computed from it: rank, condition number, pseudo-inverse, least squares.
#include <cmath>
#include <limits>

#include "neura/backend/kernels/create.h"
#include "neura/op/cast_scope.h"
#include "neura/op/registry.h"
#include "neura/ops/linalg/linalg_common.h"
#include "neura/ops/linalg/matrix_functions.h"

namespace neura::linalg {
namespace {

struct Svd {
  static constexpr Operation op = operation("svd").saves(0, out(0, 1, 2));
  bool full, vectors;
  NEURA_FIELDS(full, vectors)
  void infer(const Spec& a, Spec& u, Spec& s, Spec& vh) const {
    const std::int64_t m = a.shape[a.rank - 2], n = a.shape[a.rank - 1], k = std::min(m, n);
    const Shape batch = batch_of(a);
    u = Spec::dense(a.dtype, vectors ? with_batch(batch, m, full ? m : k) : Shape{0}, a.device);
    s = Spec::dense(to_real(a.dtype), with_batch(batch, k), a.device);
    vh = Spec::dense(a.dtype, vectors ? with_batch(batch, full ? n : k, n) : Shape{0}, a.device);
  }
  void run(Context& c, View a, View u, View s, View vh) const { c.backend.linalg->svd(c, a, u, s, vh); }
  void gradient(Gradient& g) const;
};

// With P = U^H dA V = W_u S + dS - S W_v, W_u = U^H dU and W_v = V^H dV skew-Hermitian, and what of dU and dV leaves
// the spaces that U and V span.
void Svd::gradient(Gradient& g) const {
  check<AutogradError>(vectors, [] {
    return std::string("svd: expected the vectors to be kept for the derivative, got the singular values alone");
  });
  const Tensor& s = g.output(1);
  const std::int64_t k = s.size(-1), m = g.output(0).size(-2), n = g.output(2).size(-1);
  const Tensor u = narrow(g.output(0), -1, 0, k), vh = narrow(g.output(2), -2, 0, k), uh = adjoint(u);
  const Tensor gu = g.g[0] ? narrow(g.g[0], -1, 0, k) : Tensor(), gs = g.g[1];
  const Tensor gvh = g.g[2] ? narrow(g.g[2], -2, 0, k) : Tensor();
  if (!gu && !gvh) return void(g.result[0] = matmul(u * as_row(gs), vh));
  const Tensor squares = s * s, differences = as_row(squares) - as_column(squares);
  const Tensor turn_u = gu ? matmul(uh, gu) : Tensor(), turn_v = gvh ? matmul(vh, adjoint(gvh)) : Tensor();
  check_phase(op.name, gu && gvh ? diagonal_of(turn_u) + diagonal_of(turn_v) : diagonal_of(gu ? turn_u : turn_v));
  Tensor inner;
  const auto add = [&inner](const Tensor& x) { inner = inner ? inner + x : x; };
  if (gu) add(off_diagonal(turn_u - adjoint(turn_u), differences) * as_row(s));
  if (gvh) add(as_column(s) * off_diagonal(turn_v - adjoint(turn_v), differences));
  if (gs) add(diag_embed(gs));
  if (gu && is_complex(u.dtype())) {
    const Tensor d = diagonal_of(turn_u);
    add(diag_embed((d - conj(d)) / (2.0 * s)));
  }
  Tensor ga = matmul(u, matmul(inner, vh));
  if (gu && m > k) {
    const Tensor part = gu / as_row(s);
    ga = ga + matmul(part - matmul(u, matmul(uh, part)), vh);
  }
  if (gvh && n > k) {
    const Tensor part = gvh / as_column(s);
    ga = ga + matmul(u, part - matmul(matmul(part, adjoint(vh)), vh));
  }
  g.result[0] = ga;
}

// A pseudo-inverse that is already computed, with its derivative.
struct Pinv {
  static constexpr Operation op = operation("pinv").saves(0, in(0), out(0));
  NEURA_FIELDS()
  void infer(const Spec&, const Spec& found, Spec& p) const {
    p = Spec::dense(found.dtype, found.sizes(), found.device);
  }
  void run(Context& c, View, View found, View p) const { c.backend.create->copy(c, found, p); }
  void gradient(Gradient& g) const {
    const Tensor &a = g.input(0), &p = g.output(), ph = adjoint(p), gh = adjoint(g.g[0]);
    if (p.size(-2) >= p.size(-1)) {
      const Tensor k = matmul(gh, p), kph = matmul(k, ph);
      g.result[0] = kph - adjoint(matmul(p, k)) - matmul(matmul(a, p), kph) + matmul(matmul(ph, p), gh - matmul(k, a));
    } else {
      const Tensor k = matmul(p, gh), phk = matmul(ph, k);
      g.result[0] = matmul(matmul(gh - matmul(a, k), p), ph) - adjoint(matmul(k, p)) + phk - matmul(matmul(phk, p), a);
    }
  }
};

// The threshold below which a singular value counts as 0, [..., 1] for values [..., k].
Tensor threshold(const char* op, const Tensor& A, const Tensor& values, const Tolerance& t) {
  for (const Tensor* given : {&t.atol, &t.rtol})
    check<DTypeError>(!*given || !is_complex(given->dtype()),
                      [&] { return std::string(op) + ": expected real tolerances, got " + given->spec().str(); });
  const double eps =
      values.dtype() == DType::float64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  const double relative = eps * double(std::max(A.size(-2), A.size(-1)));
  const TensorOptions like{.dtype = values.dtype(), .device = values.device()};
  const auto own = [&](const Tensor& x) { return as_column(to(x.detach(), values.dtype())); };
  const Tensor atol = t.atol ? own(t.atol) : zeros({1}, like);
  Tensor rtol = t.rtol ? own(t.rtol) : full({1}, relative, like);
  if (t.atol && !t.rtol) rtol = where(gt(atol, 0.0), 0.0, rtol);
  return maximum(atol, rtol * amax(values, -1, true));
}
Tensor magnitudes(const Tensor& A, bool hermitian) { return hermitian ? abs(eigvalsh(A)) : svdvals(A); }

// The inverses of those above the threshold, else 0.
Tensor inverses(const Tensor& values, const Tensor& sizes, const Tensor& least) {
  return where(gt(sizes, least), 1.0 / values, 0.0);
}
Tensor found_pinv(const char* op, const Tensor& A, const Tolerance& t, bool hermitian) {
  if (hermitian) {
    const auto [l, q] = eigh(A);
    const Tensor sizes = abs(l);
    return matmul(q * as_row(inverses(l, sizes, threshold(op, A, sizes, t))), adjoint(q));
  }
  const auto [u, s, vh] = svd(A, false);
  return matmul(adjoint(vh) * as_row(inverses(s, s, threshold(op, A, s, t))), adjoint(u));
}
Tensor transposed_zeros(const Tensor& A) {
  return matmul(
      mT(A), zeros(with_batch(batch_of(A.spec()), A.size(-2), A.size(-2)), {.dtype = A.dtype(), .device = A.device()}));
}
Tensor with_derivative(const Tensor& A, const Tensor& found) {
  const Shape batch = neura::broadcast_shapes("pinv", batch_of(A.spec()), batch_of(found.spec()));
  return apply(Pinv{}, broadcast_batch(A, batch), broadcast_batch(found, batch));
}

}  // namespace

SvdResult svd(const Tensor& A, bool full_matrices) {
  if (const amp::CastScope cast{amp::Name::linalg, A}) return svd(cast(A), full_matrices);
  check_matrices("svd", A);
  const auto [u, s, vh] = apply(Svd{full_matrices, true}, contiguous(A));
  return {u, s, vh};
}
Tensor svdvals(const Tensor& A) {
  if (const amp::CastScope cast{amp::Name::linalg, A}) return svdvals(cast(A));
  check_matrices("svdvals", A);
  return apply(Svd{false, recorded(A)}, contiguous(A))[1];
}

Tensor pinv(const Tensor& A, const Tolerance& t, bool hermitian) {
  if (const amp::CastScope cast{amp::Name::linalg, A}) return pinv(cast(A), t, hermitian);
  if (hermitian) check_square("pinv", A);
  else check_matrices("pinv", A);
  if (!A.numel()) return transposed_zeros(A);
  return with_derivative(A, found_pinv("pinv", A.detach(), t, hermitian));
}

Tensor matrix_rank(const Tensor& A, const Tolerance& t, bool hermitian) {
  if (const amp::CastScope cast{amp::Name::linalg, A}) return matrix_rank(cast(A), t, hermitian);
  if (hermitian) check_square("matrix_rank", A);
  else check_matrices("matrix_rank", A);
  if (!A.numel()) return zeros(batch_of(A.spec()), {.dtype = DType::int64, .device = A.device()});
  const Tensor values = magnitudes(A.detach(), hermitian);
  return sum(gt(values, threshold("matrix_rank", A, values, t)), -1);
}

Tensor nuclear_norm(const Tensor& A, const Dims& dim, bool keepdim) {
  if (const amp::CastScope cast{amp::Name::nuclear_norm, A}) return nuclear_norm(cast(A), dim, keepdim);
  check<ShapeError>(A.dim() >= 2 && dim.size() == 2, [&] {
    return "matrix_norm: expected matrices and two dimensions, got " + A.spec().str() + " and dim " + dim.str();
  });
  Tensor norm = sum(svdvals(movedim(A, dim, {-2, -1})), -1);
  if (!keepdim) return norm;
  const int a = wrap_dim("matrix_norm", dim[0], A.dim()), b = wrap_dim("matrix_norm", dim[1], A.dim());
  return unsqueeze(unsqueeze(norm, std::min(a, b)), std::max(a, b));
}

namespace {
enum class Norm : std::uint8_t { of_order, nuclear };
Tensor by_inverse(const Tensor& A, Norm kind, std::optional<double> ord = {}) {
  check_square("cond", A);
  MatrixNormOptions options;
  options.ord = ord;
  const auto norm = [&](const Tensor& x) { return kind == Norm::nuclear ? nuclear_norm(x) : matrix_norm(x, options); };
  const auto [inverse, info] = inv_ex(A);
  const Tensor product = norm(A) * norm(inverse);
  return where(ne(info, 0), std::numeric_limits<double>::infinity(), product);
}
Tensor cond_of_nothing(const Tensor& A) {
  return zeros(batch_of(A.spec()), {.dtype = to_real(A.dtype()), .device = A.device()});
}
}  // namespace

Tensor cond(const Tensor& A, std::optional<double> p) {
  if (const amp::CastScope cast{amp::Name::linalg, A}) return cond(cast(A), p);
  check_matrices("cond", A);
  if (!A.numel()) return cond_of_nothing(A);
  if (p && std::abs(*p) != 2) return by_inverse(A, Norm::of_order, p);
  const Tensor s = svdvals(A), first = select(s, -1, 0), last = select(s, -1, s.size(-1) - 1);
  return p && *p < 0 ? last / first : first / last;
}
Tensor cond(const Tensor& A, std::string_view p) {
  if (const amp::CastScope cast{amp::Name::linalg, A}) return cond(cast(A), p);
  check_matrices("cond", A);
  check<ValueError>(p == "fro" || p == "nuc",
                    [&] { return "cond: expected p to be a number, 'fro' or 'nuc', got '" + std::string(p) + "'"; });
  if (!A.numel()) return cond_of_nothing(A);
  return by_inverse(A, p == "fro" ? Norm::of_order : Norm::nuclear);
}

namespace {

// X = A^+ B by QR, of A or of its adjoint: A has full rank.
Tensor full_rank_solution(const Tensor& A, const Tensor& B) {
  if (A.size(-2) >= A.size(-1)) {
    const auto [q, r] = qr(A);
    return solve_triangular(r, matmul(adjoint(q), B), true);
  }
  const auto [q, r] = qr(adjoint(A));
  return matmul(q, solve_triangular(adjoint(r), B, false));
}

void fill_lstsq(LstsqResult& r, const Tensor& A, const Tensor& B, std::string_view driver,
                std::optional<double> rcond) {
  Tolerance t;
  if (rcond) t.rtol = full({}, *rcond, {.dtype = DType::float64, .device = A.device()});
  const auto [u, s, vh] = svd(A.detach(), false);
  const Tensor least = threshold("lstsq", A, s, t);
  const Tensor found = matmul(adjoint(vh) * as_row(inverses(s, s, least)), adjoint(u));
  r.solution = matmul(with_derivative(A, found), B);
  r.rank = sum(gt(s, least), -1);
  if (driver != "gelsy") r.singular_values = s;
}

}  // namespace

LstsqResult lstsq(const Tensor& A, const Tensor& B, std::optional<double> rcond, std::string_view driver) {
  if (const amp::CastScope cast{amp::Name::linalg, A, B}) return lstsq(cast(A), cast(B), rcond, driver);
  constexpr const char* op = "lstsq";
  if (driver.empty()) driver = "gelsy";
  check<ValueError>(driver == "gels" || driver == "gelsy" || driver == "gelsd" || driver == "gelss", [&] {
    return "lstsq: expected driver 'gels', 'gelsy', 'gelsd' or 'gelss', got '" + std::string(driver) + "'";
  });
  check_matrices(op, A), check_same_dtype(op, A, B);
  const bool vector = B.dim() == A.dim() - 1 && is_vector(A, B);
  check<ShapeError>(B.dim() >= 1 && (vector || B.dim() >= 2) && A.size(-2) == (vector ? B.size(-1) : B.size(-2)), [&] {
    return "lstsq: expected B [..., m] or [..., m, k] for A [..., m, n], got A " + A.spec().str() + " and B " +
           B.spec().str();
  });
  const Tensor b = vector ? as_column(B) : B;
  const Shape batch = neura::broadcast_shapes(op, batch_of(A.spec()), batch_of(b.spec()));
  const Tensor a = broadcast_batch(A, batch), rhs = broadcast_batch(b, batch);
  const std::int64_t m = A.size(-2), n = A.size(-1);
  const auto none = [&](DType d) { return empty({0}, {.dtype = d, .device = A.device()}); };
  LstsqResult r{{}, {}, none(DType::int64), none(to_real(A.dtype()))};
  if (!a.numel()) {
    r.solution = matmul(transposed_zeros(a), rhs);
    if (driver != "gels") r.rank = zeros(batch, {.dtype = DType::int64, .device = A.device()});
  } else if (driver == "gels") {
    r.solution = full_rank_solution(a, rhs);
  } else {
    fill_lstsq(r, a, rhs, driver, rcond);
  }
  const bool known = m > n && driver != "gelsy" && (driver == "gels" || all(eq(r.rank, n)).item<bool>());
  const Tensor distance = abs(matmul(a, r.solution) - rhs);
  r.residuals = known ? sum(distance * distance, -2) : narrow(flatten(real_part(r.solution)), 0, 0, 0);
  if (vector) r.solution = squeeze(r.solution, -1);
  return r;
}

}  // namespace neura::linalg

NEURA_DEFINE_OPERATION(svd, linalg::Svd);
NEURA_DEFINE_OPERATION(pinv, linalg::Pinv);
