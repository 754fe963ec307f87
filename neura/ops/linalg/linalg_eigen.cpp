// Eigenvalues and eigenvectors.
#include "neura/op/cast_scope.h"
#include "neura/op/registry.h"
#include "neura/ops/linalg/linalg_common.h"
#include "neura/ops/reduce/expect.h"

namespace neura::linalg {

void check_phase(const char* op, const Tensor& turn) {
  if (!is_complex(turn.dtype()) || !turn.numel()) return;
  if (!host_looks(turn)) return expect(Rule::phase, le(abs(imag(turn.detach())), 1e-2));
  check<AutogradError>(amax(abs(imag(turn.detach()))).item<double>() <= 1e-2, [&] {
    return std::string(op) +
           ": expected a function of the vectors that does not depend on their phase, got one that "
           "does, and has no derivative";
  });
}
Tensor off_diagonal(const Tensor& x, const Tensor& differences) {
  const Tensor one = identity(differences, differences.size(-1));
  return x / (differences + one) * (1 - one);
}

namespace {

bool values_only(const Spec& vectors) { return vectors.rank == 1; }
Spec vectors_of(const Spec& a, DType d, bool wanted) { return Spec::dense(d, wanted ? a.sizes() : Shape{0}, a.device); }
Spec values_of(const Spec& a, DType d) {
  return Spec::dense(d, with_batch(batch_of(a), a.shape[a.rank - 1]), a.device);
}
void check_vectors(const char* op, const Tensor& vectors) {
  check<AutogradError>(!values_only(vectors.spec()), [&] {
    return std::string(op) + ": expected the vectors to be kept for the derivative, got the values alone";
  });
}

struct Eigh {
  static constexpr Operation op = operation("eigh").saves(0, out(0, 1));
  bool upper, vectors;
  NEURA_FIELDS(upper, vectors)
  void infer(const Spec& a, Spec& l, Spec& v) const {
    l = values_of(a, to_real(a.dtype)), v = vectors_of(a, a.dtype, vectors);
  }
  void run(Context& c, View a, View l, View v) const { c.backend.linalg->eigh(c, upper, a, l, v); }
  // V^H dA V = dL on the diagonal, and (V^H dV) * (l_j - l_i) off it; dA is Hermitian.
  void gradient(Gradient& g) const {
    const Tensor &l = g.output(0), &v = g.output(1), vh = adjoint(v);
    check_vectors(op.name, v);
    if (!g.g[1]) return void(g.result[0] = matmul(v * as_row(g.g[0]), vh));
    const Tensor turn = matmul(vh, g.g[1]);
    check_phase(op.name, diagonal_of(turn));
    const Tensor one_sided = off_diagonal(turn, as_row(l) - as_column(l));
    Tensor inner = (one_sided + adjoint(one_sided)) * 0.5;
    if (g.g[0]) inner = inner + diag_embed(g.g[0]);
    g.result[0] = matmul(v, matmul(inner, vh));
  }
};

struct Eig {
  static constexpr Operation op = operation("eig").saves(0, out(0, 1));
  bool vectors;
  NEURA_FIELDS(vectors)
  void infer(const Spec& a, Spec& l, Spec& v) const {
    const DType complex = is_complex(a.dtype) ? a.dtype : to_complex(a.dtype);
    l = values_of(a, complex), v = vectors_of(a, complex, vectors);
  }
  void run(Context& c, View a, View l, View v) const { c.backend.linalg->eig(c, a, l, v); }
  // V^-1 dA V, as for eigh; a column of V keeps its length.
  void gradient(Gradient& g) const {
    const Tensor &l = g.output(0), &v = g.output(1), vh = adjoint(v);
    check_vectors(op.name, v);
    if (!g.g[1]) return void(g.result[0] = solve_ex(vh, as_column(g.g[0]) * vh).result);
    const Tensor turn = matmul(vh, g.g[1]), along = diagonal_of(turn);
    check_phase(op.name, along);
    const Tensor sideways = turn - matmul(vh, v * as_row(real(along)));
    Tensor inner = off_diagonal(sideways, conj(as_row(l) - as_column(l)));
    if (g.g[0]) inner = inner + diag_embed(g.g[0]);
    g.result[0] = solve_ex(vh, matmul(inner, vh)).result;
  }
};

EigResult symmetric(const char* op, const Tensor& A, char UPLO, bool vectors) {
  if (const amp::CastScope cast{amp::Name::linalg, A}) return symmetric(op, cast(A), UPLO, vectors);
  check_square(op, A);
  const char side = UPLO == 'l' ? 'L' : UPLO == 'u' ? 'U' : UPLO;
  check<ValueError>(side == 'L' || side == 'U', [&] {
    return std::string(op) + ": expected UPLO to be 'L' or 'U', got '" + std::string(1, UPLO) + "'";
  });
  const auto [l, v] = apply(Eigh{side == 'U', vectors || recorded(A)}, contiguous(A));
  return {l, v};
}
EigResult general(const char* op, const Tensor& A, bool vectors) {
  if (const amp::CastScope cast{amp::Name::linalg, A}) return general(op, cast(A), vectors);
  check_square(op, A);
  const auto [l, v] = apply(Eig{vectors || recorded(A)}, contiguous(A));
  return {l, v};
}

}  // namespace

EigResult eigh(const Tensor& A, char UPLO) { return symmetric("eigh", A, UPLO, true); }
Tensor eigvalsh(const Tensor& A, char UPLO) { return symmetric("eigvalsh", A, UPLO, false).eigenvalues; }
EigResult eig(const Tensor& A) { return general("eig", A, true); }
Tensor eigvals(const Tensor& A) { return general("eigvals", A, false).eigenvalues; }

}  // namespace neura::linalg

NEURA_DEFINE_OPERATION(eigh, linalg::Eigh);
NEURA_DEFINE_OPERATION(eig, linalg::Eig);
