// QR, and Householder reflectors.
#include "neura/op/cast_scope.h"
#include "neura/op/registry.h"
#include "neura/ops/linalg/linalg_common.h"

namespace neura::linalg {
namespace {

enum class Mode : std::uint8_t { reduced, complete, r };

// What dR R^-1 must be for Q^H dQ to be skew-Hermitian: the adjoint of that map.
Tensor symmetric(const Tensor& x) {
  const Tensor upper = triu(x), half = (upper + triu(upper, 1)) * 0.5;
  return half + adjoint(half);
}
// Of a = q r with at least as many rows as columns.
Tensor tall_gradient(const Tensor& q, const Tensor& r, const Tensor& gq, const Tensor& gr) {
  Tensor inner;
  if (gr) inner = matmul(gr, adjoint(r));
  if (gq) inner = inner ? inner - matmul(adjoint(q), gq) : -matmul(adjoint(q), gq);
  Tensor ga = matmul(q, symmetric(inner));
  if (gq) ga = ga + gq;
  return solve_triangular(adjoint(r), ga, false, false);
}

struct Qr {
  static constexpr Operation op = operation("qr").saves(0, out(0, 1));
  Mode mode;
  NEURA_FIELDS(mode)
  void infer(const Spec& a, Spec& q, Spec& r) const {
    const std::int64_t m = a.shape[a.rank - 2], n = a.shape[a.rank - 1],
                       k = mode == Mode::complete ? m : std::min(m, n);
    q = Spec::dense(a.dtype, mode == Mode::r ? Shape{0} : with_batch(batch_of(a), m, k), a.device);
    r = Spec::dense(a.dtype, with_batch(batch_of(a), k, n), a.device);
  }
  void run(Context& c, View a, View q, View r) const { c.backend.linalg->qr(c, a, q, r); }
  void gradient(Gradient& g) const {
    check<AutogradError>(mode != Mode::r, [] {
      return std::string("qr: expected mode 'reduced' or 'complete', got a derivative in mode 'r', which has no Q");
    });
    const Tensor &q = g.output(0), &r = g.output(1);
    const std::int64_t m = q.size(-2), n = r.size(-1);
    check<AutogradError>(mode == Mode::reduced || m <= n, [&] {
      return "qr: expected no more rows than columns in mode 'complete', got a derivative of a matrix [" +
             std::to_string(m) + ", " + std::to_string(n) + "]; use mode 'reduced'";
    });
    if (m >= n) return void(g.result[0] = tall_gradient(q, r, g.g[0], g.g[1]));
    // The columns beyond the square part are q v: they have a share of q's gradient.
    const Tensor u = narrow(r, -1, 0, m), v = narrow(r, -1, m, n - m);
    if (!g.g[1]) {
      const Tensor first = tall_gradient(q, u, g.g[0], {});
      g.result[0] = cat({first, zeros(v.shape(), {.dtype = v.dtype(), .device = v.device()})}, -1);
      return;
    }
    const Tensor gu = narrow(g.g[1], -1, 0, m), gv = narrow(g.g[1], -1, m, n - m);
    const Tensor through_v = matmul(matmul(q, v), adjoint(gv)), gq = g.g[0] ? g.g[0] + through_v : through_v;
    g.result[0] = cat({tall_gradient(q, u, gq, gu), matmul(q, gv)}, -1);
  }
};

struct Geqrf {
  static constexpr Operation op = operation("geqrf");
  NEURA_FIELDS()
  void infer(const Spec& a, Spec& reflectors, Spec& tau) const {
    reflectors = Spec::dense(a.dtype, a.sizes(), a.device);
    tau = Spec::dense(a.dtype, with_batch(batch_of(a), std::min(a.shape[a.rank - 2], a.shape[a.rank - 1])), a.device);
  }
  void run(Context& c, View a, View reflectors, View tau) const {
    c.backend.linalg->householder(c, a, reflectors, tau);
  }
};
struct HouseholderProduct {
  static constexpr Operation op = operation("householder_product");
  NEURA_FIELDS()
  void infer(const Spec& a, const Spec&, Spec& q) const { q = Spec::dense(a.dtype, a.sizes(), a.device); }
  void run(Context& c, View a, View tau, View q) const { c.backend.linalg->reflect(c, a, tau, q); }
};

// The definition: reflectors applied one by one, last first. Derivatives go through it.
Tensor reflect(const Tensor& A, const Tensor& tau, Tensor x) {
  const std::int64_t k = tau.size(-1), m = A.size(-2);
  const Tensor v = tril(narrow(A, -1, 0, k), -1) + eye(m, k, {.dtype = A.dtype(), .device = A.device()});
  for (std::int64_t i = k - 1; i >= 0; --i) {
    const Tensor column = narrow(v, -1, i, 1), factor = as_column(narrow(tau, -1, i, 1));
    x = x - factor * matmul(column, matmul(adjoint(column), x));
  }
  return x;
}

}  // namespace

QrResult qr(const Tensor& A, std::string_view mode) {
  if (const amp::CastScope cast{amp::Name::linalg, A}) return qr(cast(A), mode);
  check_matrices("qr", A);
  check<ValueError>(mode == "reduced" || mode == "complete" || mode == "r",
                    [&] { return "qr: expected mode 'reduced', 'complete' or 'r', got '" + std::string(mode) + "'"; });
  const auto [q, r] = apply(Qr{mode == "reduced" ? Mode::reduced
                               : mode == "r"     ? Mode::r
                                                 : Mode::complete},
                            contiguous(A));
  return {q, r};
}

GeqrfResult geqrf(const Tensor& input) {
  if (const amp::CastScope cast{amp::Name::linalg, input}) return geqrf(cast(input));
  check_matrices("geqrf", input, "input");
  const auto [a, tau] = apply(Geqrf{}, contiguous(input));
  return {a, tau};
}

Tensor householder_product(const Tensor& A, const Tensor& tau) {
  if (const amp::CastScope cast{amp::Name::linalg, A, tau}) return householder_product(cast(A), cast(tau));
  constexpr const char* op = "householder_product";
  check_matrices(op, A), check_same_dtype(op, A, tau);
  check<ShapeError>(A.size(-2) >= A.size(-1), [&] {
    return "householder_product: expected at least as many rows as columns, got " + A.spec().str();
  });
  check<ShapeError>(tau.dim() == A.dim() - 1 && tau.size(-1) <= A.size(-1) &&
                        with_batch(batch_of(A.spec()), tau.size(-1)) == tau.shape(),
                    [&] {
                      return "householder_product: expected tau [..., k] for A [..., m, n], k <= n, got A " +
                             A.spec().str() + " and tau " + tau.spec().str();
                    });
  if (!recorded(A) && !recorded(tau)) return apply(HouseholderProduct{}, contiguous(A), contiguous(tau));
  const Tensor first = eye(A.size(-2), A.size(-1), {.dtype = A.dtype(), .device = A.device()});
  return reflect(A, tau, expand(first, A.shape()));
}

Tensor ormqr(const Tensor& input, const Tensor& tau, const Tensor& other, bool left, bool transpose) {
  if (const amp::CastScope cast{amp::Name::linalg, input, tau, other})
    return ormqr(cast(input), cast(tau), cast(other), left, transpose);
  constexpr const char* op = "ormqr";
  check_matrices(op, input, "input"), check_matrices(op, other, "other");
  check_same_dtype(op, input, tau), check_same_dtype(op, input, other);
  const std::int64_t m = input.size(-2), k = tau.dim() ? tau.size(-1) : 0;
  check<ShapeError>(other.size(left ? -2 : -1) == m && other.dim() == input.dim(), [&] {
    return std::string("ormqr: expected other ") + (left ? "[..., m, n]" : "[..., n, m]") +
           " for input [..., m, k], got " + other.spec().str() + " and " + input.spec().str();
  });
  check<ShapeError>(
      tau.dim() == input.dim() - 1 && k <= std::min(m, input.size(-1)) &&
          with_batch(batch_of(input.spec()), k) == tau.shape() && batch_of(other.spec()) == batch_of(input.spec()),
      [&] {
        return "ormqr: expected tau [..., k] for input [..., m, n], k <= min(m, n), and one batch, got tau " +
               tau.spec().str() + ", input " + input.spec().str() + " and other " + other.spec().str();
      });
  const Tensor reflectors = narrow(input, -1, 0, k);
  const Tensor rest =
      zeros(with_batch(batch_of(input.spec()), m, m - k), {.dtype = input.dtype(), .device = input.device()});
  const Tensor q = householder_product(cat({reflectors, rest}, -1), tau), factor = transpose ? adjoint(q) : q;
  return left ? matmul(factor, other) : matmul(other, factor);
}

}  // namespace neura::linalg

NEURA_DEFINE_OPERATION(qr, linalg::Qr);
NEURA_DEFINE_OPERATION(geqrf, linalg::Geqrf);
NEURA_DEFINE_OPERATION(householder_product, linalg::HouseholderProduct);
