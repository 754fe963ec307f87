// Tensors of any rank as matrices.
#include "neura/op/cast_scope.h"
#include "neura/ops/linalg/linalg_common.h"

namespace neura::linalg {
namespace {

std::int64_t product(const Shape& s, int from, int to) {
  std::int64_t n = 1;
  for (int d = from; d < to; ++d) n *= s[d];
  return n;
}
Shape part(const Shape& s, int from, int to) { return {s.data() + from, std::size_t(to - from)}; }

}  // namespace

Tensor tensorinv(const Tensor& A, int ind) {
  if (const amp::CastScope cast{amp::Name::linalg, A}) return tensorinv(cast(A), ind);
  check<ValueError>(ind > 0, [&] { return "tensorinv: expected ind > 0, got " + std::to_string(ind); });
  check<ShapeError>(ind <= A.dim(), [&] {
    return "tensorinv: expected at least ind = " + std::to_string(ind) + " dimensions, got " + A.spec().str();
  });
  const Shape sizes = A.shape(), first = part(sizes, 0, ind), last = part(sizes, ind, sizes.size());
  const std::int64_t n = product(sizes, 0, ind), m = product(sizes, ind, sizes.size());
  check<ShapeError>(n == m, [&] {
    return "tensorinv: expected as many elements in the first ind dimensions as in the others, got " + A.spec().str() +
           " and ind " + std::to_string(ind);
  });
  Shape result = last;
  for (std::int64_t s : first) result.push_back(s);
  return reshape(inv(reshape(A, {n, m})), result);
}

Tensor tensorsolve(const Tensor& A, const Tensor& B, const Dims& dims) {
  if (const amp::CastScope cast{amp::Name::linalg, A, B}) return tensorsolve(cast(A), cast(B), dims);
  Tensor a = A;
  if (!dims.empty()) {
    Dims end;
    for (int i = 0; i < dims.size(); ++i) end.push_back(A.dim() - dims.size() + i);
    a = movedim(A, dims, end);
  }
  const Shape sizes = a.shape();
  check<ShapeError>(a.dim() >= B.dim(), [&] {
    return "tensorsolve: expected A with B's dimensions first, got A " + A.spec().str() + " and B " + B.spec().str();
  });
  const std::int64_t n = product(sizes, 0, B.dim()), m = product(sizes, B.dim(), a.dim());
  check<ShapeError>(n == m && B.numel() == n, [&] {
    return "tensorsolve: expected as many elements in B and in A's first " + std::to_string(B.dim()) +
           " dimensions as in the others, got A " + A.spec().str() + " and B " + B.spec().str();
  });
  return reshape(solve(reshape(a, {n, m}), reshape(B, {n})), part(sizes, B.dim(), a.dim()));
}

}  // namespace neura::linalg
