#include "neura/ops/product/matmul_ops.h"

#include "neura/backend/kernels/matmul.h"
#include "neura/core/error_details.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

// Checks for one dtype that has products, and equal inner sizes.
void check_product(const char* op, const Spec& a, const Spec& b) {
  check<DTypeError>(a.dtype == b.dtype, [&] {
    return std::string(op) + ": expected operands of one dtype, got " + a.str() + " and " + b.str() +
           "; convert one with .to()";
  });
  check<UnsupportedDTypeError>(bit(a.dtype) & dtypes::numbers, [&] {
    return std::string(op) + ": expected numbers, got " + a.str() + "; convert it with .to()";
  });
  check<ShapeError>(a.rank >= 2 && b.rank >= 2 && a.shape[a.rank - 1] == b.shape[b.rank - 2], [&] {
    return std::string(op) + ": expected as many columns as rows, got " + a.str() + " and " + b.str();
  });
}
void check_addend(const char* op, const Spec& input, const Spec& y) {
  check<DTypeError>(input.dtype == y.dtype, [&] {
    return std::string(op) + ": expected one dtype, got " + input.str() + " to be added to " + y.str();
  });
  bool fits = input.rank <= y.rank;
  for (int i = 1; fits && i <= input.rank; ++i) {
    const std::int64_t own = input.shape[input.rank - i];
    fits = own == 1 || own == y.shape[y.rank - i];
  }
  check<ShapeError>(fits, [&] {
    return std::string(op) + ": expected what is added to broadcast to " + y.sizes().str() + ", got " + input.str();
  });
}
void product_shape(const char* op, const Spec& a, const Spec& b, Spec& y) {
  check_product(op, a, b);
  Shape shape = broadcast_shapes(op, Shape(a.shape, std::size_t(a.rank - 2)), Shape(b.shape, std::size_t(b.rank - 2)));
  shape.push_back(a.shape[a.rank - 2]), shape.push_back(b.shape[b.rank - 1]);
  y = Spec::dense(a.dtype, shape, a.device);
}
Scalar conjugate(const Scalar& s) { return s.is_complex() ? Scalar(std::complex<double>(s.real(), -s.imag())) : s; }
std::complex<double> value(const Scalar& s) { return {s.real(), s.imag()}; }
bool is_one(const Scalar& s) { return value(s) == 1.0; }

// alpha * a b, conjugated as told. The transposed operands of derivatives are views.
Tensor product(const Tensor& a, bool conj_a, const Tensor& b, bool conj_b, const Scalar& alpha) {
  if (is_one(alpha)) return apply(MatmulOp{conj_a, conj_b}, a, b);
  return apply(AddmmOp{0, alpha, conj_a, conj_b}, Operand(), a, b);
}
// The derivative of op(a) op(b) with respect to a is g op(b)^H, conjugated again if op(a) conjugates; the other
// likewise.
Tensor left_gradient(const Tensor& g, const Tensor& b, bool conj_a, bool conj_b, const Scalar& alpha) {
  return product(g, conj_a, transpose(b, -2, -1), conj_b == conj_a, conj_a ? alpha : conjugate(alpha));
}
Tensor right_gradient(const Tensor& g, const Tensor& a, bool conj_a, bool conj_b, const Scalar& alpha) {
  return product(transpose(a, -2, -1), conj_a == conj_b, g, conj_b, conj_b ? alpha : conjugate(alpha));
}

}  // namespace

void MatmulOp::infer(const Spec& a, const Spec& b, Spec& y) const { product_shape(op.name, a, b, y); }
void MatmulOp::run(Context& c, View a, View b, View y) const {
  c.backend.matmul->matmul(c, a, b, View(), y, Product{1, 0, conj_a, conj_b});
}
void MatmulOp::gradient(Gradient& g) const {
  if (g.needs(0)) g.result[0] = left_gradient(g.g[0], g.input(1), conj_a, conj_b, 1);
  if (g.needs(1)) g.result[1] = right_gradient(g.g[0], g.input(0), conj_a, conj_b, 1);
}

void AddmmOp::infer(const Spec& input, const Spec& a, const Spec& b, Spec& y) const {
  product_shape(op.name, a, b, y);
  if (input.rank != kAbsent) check_addend(op.name, input, y);
}
void AddmmOp::run(Context& c, View input, View a, View b, View y) const {
  c.backend.matmul->matmul(c, a, b, input, y, Product{value(alpha), value(beta), conj_a, conj_b});
}
void AddmmOp::gradient(Gradient& g) const {
  if (g.needs(In::input)) g.result[In::input] = is_one(beta) ? g.g[0] : mul(g.g[0], conjugate(beta));
  if (g.needs(In::mat1)) g.result[In::mat1] = left_gradient(g.g[0], g.input(In::mat2), conj_a, conj_b, alpha);
  if (g.needs(In::mat2)) g.result[In::mat2] = right_gradient(g.g[0], g.input(In::mat1), conj_a, conj_b, alpha);
}

void LinearOp::infer(const Spec& x, const Spec& w, const Spec& bias, Spec& y) const {
  check<ShapeError>(x.rank >= 1 && w.rank == 2 && x.shape[x.rank - 1] == w.shape[1], [&] {
    return "linear: expected input [.., in] and weight [out, in], got " + x.str() + " and " + w.str();
  });
  Spec turned = w, rows = x;  // checked as the product that it is
  std::swap(turned.shape[0], turned.shape[1]);
  if (rows.rank == 1) rows.rank = 2, rows.shape[1] = rows.shape[0], rows.shape[0] = 1;
  check_product(op.name, rows, turned);
  Shape shape = x.sizes();
  shape.back() = w.shape[0];
  y = Spec::dense(x.dtype, shape, x.device);
  if (bias.rank == kAbsent) return;
  check<ShapeError>(bias.rank <= 1 && (bias.numel == 1 || bias.numel == w.shape[0]),
                    [&] { return "linear: expected bias [" + std::to_string(w.shape[0]) + "], got " + bias.str(); });
  check_addend(op.name, bias, y);
}
void LinearOp::run(Context& c, View x, View w, View bias, View y) const {
  Spec turned = *w.spec, rows = *x.spec, result = *y.spec;
  std::swap(turned.shape[0], turned.shape[1]), std::swap(turned.strides[0], turned.strides[1]), turned.finish();
  const auto as_matrix = [](Spec& s) {
    s.rank = 2, s.shape[1] = s.shape[0], s.strides[1] = s.strides[0], s.shape[0] = 1, s.strides[0] = 0, s.finish();
  };
  if (x.rank() == 1) as_matrix(rows), as_matrix(result);
  c.backend.matmul->matmul(c, View{x.data, &rows}, View{w.data, &turned}, bias, View{y.data, &result},
                           Product{1, 1, conj_x, conj_w});
}
Tensor LinearOp::define(const Tensor& x, const Tensor& w, const Tensor& bias) const {
  const Tensor y = matmul(conj_x ? conj(x) : x, transpose(conj_w ? conj(w) : w, 0, 1));
  return bias ? y + bias : y;
}
void LinearOp::gradient(Gradient& g) const {
  if (g.needs(In::input)) {  // g op(w)^*, which is a linear operation with the transposed weight
    const Tensor turned = transpose(g.input(In::weight), 0, 1);
    g.result[In::input] = apply(LinearOp{conj_x, conj_w == conj_x}, g.g[0], turned, Operand());
  }
  if (g.needs(In::weight)) {
    const auto as_rows = [](const Tensor& t) { return t.dim() > 1 ? flatten(t, 0, -2) : unsqueeze(t, 0); };
    const Tensor rows = as_rows(g.input(In::input)), upper = as_rows(g.g[0]);
    g.result[In::weight] = product(transpose(upper, 0, 1), conj_w, rows, conj_x == conj_w, 1);
  }
  if (g.needs(In::bias)) g.result[In::bias] = g.g[0];
}

}  // namespace neura

NEURA_DEFINE_OPERATION(matmul, MatmulOp);
NEURA_DEFINE_OPERATION(addmm, AddmmOp);
NEURA_DEFINE_OPERATION(linear, LinearOp);
