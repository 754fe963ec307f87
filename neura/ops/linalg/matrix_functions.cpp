#include "neura/ops/linalg/matrix_functions.h"

#include <cmath>

#include "neura/core/meta.h"
#include "neura/core/wrapped.h"
#include "neura/op/cast_scope.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/linalg/linalg.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

void check_square(const char* op, const Tensor& x) {
  check<ShapeError>(x.dim() >= 2 && x.size(-1) == x.size(-2),
                    [&] { return std::string(op) + ": expected square matrices [..., n, n], got " + x.spec().str(); });
  check<DTypeError>(differentiable(x.dtype()),
                    [&] { return std::string(op) + ": expected a floating or complex dtype, got " + x.spec().str(); });
}
Tensor identity_like(const Tensor& x) {
  return eye(x.size(-1), {.dtype = x.dtype(), .device = x.device()}).expand(x.shape());
}

// The sum of x^k / k! for k = 0 … 19, in powers of x^4: seven products.
Tensor taylor(const Tensor& x) {
  const Tensor one = identity_like(x), x2 = matmul(x, x), x3 = matmul(x2, x), x4 = matmul(x2, x2);
  double factor[20];
  factor[0] = 1;
  for (int k = 1; k < 20; ++k) factor[k] = factor[k - 1] / k;
  const auto part = [&](int k) {
    return one * factor[k] + x * factor[k + 1] + x2 * factor[k + 2] + x3 * factor[k + 3];
  };
  Tensor sum = part(16);
  for (int k = 12; k >= 0; k -= 4) sum = matmul(sum, x4) + part(k);
  return sum;
}

// Of numbers of at least 0; of none 0.
Tensor largest(const Tensor& x, int dim, bool keepdim) {
  return x.size(dim) ? amax(x, dim, keepdim) : sum(x, dim, keepdim);
}

}  // namespace

Tensor matrix_norm(const Tensor& input, const MatrixNormOptions& o) {
  if (const amp::CastScope cast{amp::Name::matrix_norm, input}; !o.dtype && cast) return matrix_norm(cast(input), o);
  check<ShapeError>(input.dim() >= 2 && o.dim.size() == 2, [&] {
    return "matrix_norm: expected matrices and two dimensions, got " + input.spec().str() + " and dim " + o.dim.str();
  });
  const int rows = wrap_dim("matrix_norm", o.dim[0], input.dim());
  const int columns = wrap_dim("matrix_norm", o.dim[1], input.dim());
  check<ShapeError>(rows != columns,
                    [&] { return "matrix_norm: expected two different dimensions, got " + o.dim.str(); });
  if (!o.ord) return vector_norm(input, 2, {rows, columns}, o.keepdim, o.dtype);
  const double ord = *o.ord, size = std::abs(ord);
  check<ValueError>(size == 1 || size == 2 || std::isinf(size), [&] {
    return "matrix_norm: expected ord to be 1, -1, 2, -2, inf, -inf, 'fro' or 'nuc', got " + std::to_string(ord);
  });
  if (size == 2) {
    const Tensor values = linalg::svdvals(movedim(o.dtype ? to(input, *o.dtype) : input, {rows, columns}, {-2, -1}));
    const Tensor norm = ord < 0 ? amin(values, -1) : largest(values, -1, false);
    return o.keepdim ? unsqueeze(unsqueeze(norm, std::min(rows, columns)), std::max(rows, columns)) : norm;
  }
  const int inner = size == 1 ? rows : columns, outer = size == 1 ? columns : rows;
  const Tensor sums = vector_norm(input, 1, inner, true, o.dtype);
  const Tensor norm = ord < 0 ? amin(sums, outer, true) : largest(sums, outer, true);
  return o.keepdim ? norm : squeeze(norm, {rows, columns});
}

Tensor matrix_power(const Tensor& input, std::int64_t n) {
  check_square("matrix_power", input);
  if (n == 0) {
    Tensor one = clone(input);
    return copy_(one, identity_like(input));
  }
  Tensor power, square = n < 0 ? linalg::inv(input) : input;
  for (std::uint64_t left = n < 0 ? -std::uint64_t(n) : std::uint64_t(n);; left >>= 1) {
    if (left & 1) power = power ? matmul(power, square) : square;
    if (left == 1) return power.is_same(input) ? clone(power) : power;
    square = matmul(square, square);
  }
}

Tensor matrix_exp(const Tensor& input) {
  check_square("matrix_exp", input);
  if (input.numel() == 0) return clone(input);
  if (bit(input.dtype()) & dtypes::halves) return matrix_exp(input.to(DType::float32)).to(input.dtype());
  double greatest = 0;  // where there are no values
  if (!is_meta(input.device())) greatest = amax(matrix_norm(innermost(input).detach(), {.ord = 1})).item<double>();
  int squarings = 0;
  for (; std::isfinite(greatest) && greatest > 1; greatest /= 2) ++squarings;
  Tensor result = taylor(squarings ? input * std::ldexp(1.0, -squarings) : input);
  for (int i = 0; i < squarings; ++i) result = matmul(result, result);
  return result;
}

}  // namespace neura
