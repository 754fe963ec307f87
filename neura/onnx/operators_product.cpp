// Products of matrices, also of quantised ones.
#include <algorithm>

#include "neura/onnx/operators.h"
#include "neura/onnx/quantised.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/linalg/linalg.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/product/einsum.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/shape/view.h"

namespace neura::onnx {
namespace {

BoundNode general(const Node& n) {
  const double alpha = n.real("alpha", 1), beta = n.real("beta", 1);
  const bool ta = n.flag("transA"), tb = n.flag("transB");
  return [=](const Operands& x) -> Results {
    const Tensor a = ta ? x[0].t() : x[0], b = tb ? x[1].t() : x[1];
    if (a.dim() != 2 || b.dim() != 2)
      throw ShapeError("Gemm: expected matrices, got " + a.shape().str() + " and " + b.shape().str());
    const bool whole = is_integral(a.dtype());
    Tensor y = whole ? integer_product(a, b).to(a.dtype()) : matmul(a, b);
    if (alpha != 1) y = mul(y, alpha).to(a.dtype());
    if (!x.has(2)) return y;
    return add(y, beta == 1 ? x[2] : mul(x[2], beta).to(a.dtype()));
  };
}
Results product(const Operands& x) {
  const Tensor a = x[0], b = x[1];
  return is_integral(a.dtype()) ? integer_product(a, b).to(a.dtype()) : matmul(a, b);
}
BoundNode fused_product(const Node& n) {
  const double alpha = n.real("alpha", 1);
  const bool ta = n.flag("transA"), tb = n.flag("transB");
  if (n.flag("transBatchA") || n.flag("transBatchB"))
    throw NotImplementedError("FusedMatMul with transposed batches is not implemented");
  return [=](const Operands& x) -> Results {
    const Tensor y = matmul(ta ? transpose(x[0], -1, -2) : x[0], tb ? transpose(x[1], -1, -2) : x[1]);
    return alpha == 1 ? y : mul(y, alpha);
  };
}
BoundNode summed(const Node& n) {
  std::string equation = n.text("equation", "");
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  return [equation](const Operands& x) -> Results {
    const std::vector<Tensor> operands = x.tensors();
    return einsum(equation, operands);
  };
}
Results integer_matmul(const Operands& x) { return product_without_zero_points(x, 0, 2, 1, 3).to(int32); }

// a gated by itself, times b.
BoundNode gated(const Node& n) {
  const double alpha = n.real("alpha", 1);
  return [alpha](const Operands& x) -> Results { return mul(mul(x[0], sigmoid(mul(x[0], alpha))), x[1]); };
}

}  // namespace

std::span<const Operator> product_operators() {
  constexpr Types plain = Types::plain;
  static const Operator rows[] = {
      {"MatMul", 1, kNewest, product},
      {"Gemm", 1, kNewest, general},
      {"Einsum", 12, kNewest, summed},
      {"MatMulInteger", 10, kNewest, integer_matmul},
      {"Det", 11, kNewest, AS(linalg::det(x[0]))},
      {"SwiGLU", 28, kNewest, gated},
      {"FusedMatMul", 1, kNewest, fused_product, plain, Folding::allowed, "com.microsoft"},
  };
  return rows;
}

}  // namespace neura::onnx
