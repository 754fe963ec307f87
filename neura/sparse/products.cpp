// Products of matrices, of which one at least is sparse.
#include <string>

#include "neura/op/pointwise/rows.h"
#include "neura/op/struct_operations.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/product/matmul_ops.h"
#include "neura/ops/product/sparse_product.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"
#include "neura/sparse/rules.h"

namespace neura::sparse {
namespace {

void check_product(const char* op, const Tensor& a, const Tensor& b) {
  check<ShapeError>(a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0), [&] {
    return std::string(op) + ": expected matrices [m, k] and [k, n], got " + a.spec().str() + " and " + b.spec().str();
  });
  check<DTypeError>(a.dtype() == b.dtype(), [&] {
    return std::string(op) + ": expected operands of one dtype, got " + a.spec().str() + " and " + b.spec().str() +
           "; convert one with .to()";
  });
  for (const Tensor* t : {&a, &b})
    check<NotImplementedError>(!parts_if(*t) || (sparse_dim(*t) == 2 && dense_dim(*t) == 0), [&] {
      return std::string(op) + ": expected a sparse matrix without dense dimensions, got " + t->spec().str();
    });
}

// A matrix by rows: where they begin, its columns and its values, which are joined to its history.
struct ByRow {
  Tensor starts, columns, values;
  explicit ByRow(const Tensor& t) {
    const Tensor rows = to_layout(t, Layout::csr);
    starts = pattern(rows).first, columns = pattern(rows).second, values = values_of(rows);
  }
};

Tensor times_dense(const Tensor& a, const Tensor& b) {
  const ByRow rows(a);
  return sparse_product(rows.starts, rows.columns, rows.values, b);
}

// Row by row (Gustavson 1978): each stored element of a meets the stored elements of one row of b.
Tensor times_sparse(const Tensor& a, const Tensor& b) {
  const ByRow x(a), y(b);
  const Tensor low = neura::index_select(y.starts, 0, x.columns);
  const Tensor count = neura::index_select(y.starts, 0, x.columns + Scalar(1)) - low;
  const Tensor from = repeat_interleave(count);
  const Tensor place = arange(from.numel(), {.dtype = DType::int64, .device = from.device()}) -
                       neura::index_select(cumulative(count) - low, 0, from);
  const Tensor row = neura::index_select(numbers_of(x.starts, x.columns.numel()), 0, from);
  const Tensor column = neura::index_select(y.columns, 0, place);
  const Tensor v = neura::index_select(x.values, 0, from) * neura::index_select(y.values, 0, place);
  const Shape size{a.size(0), b.size(1)};
  const Tensor key = row * Scalar(size[1]) + column;
  const Tensor made = coalesce(assemble({Layout::coo, false, coordinates(key, size), {}}, v, size));
  return layout(a) == Layout::csr && layout(b) == Layout::csr ? to_layout(made, Layout::csr) : made;
}

Tensor product(const char* op, const Tensor& a, const Tensor& b) {
  check_product(op, a, b);
  if (parts_if(a) && parts_if(b)) return times_sparse(a, b);
  if (parts_if(a)) return times_dense(a, b);
  return neura::transpose(times_dense(sparse::transpose(b, 0, 1), neura::transpose(a, 0, 1)), 0, 1);
}
bool is_one(const Scalar& s) { return s.real() == 1 && s.imag() == 0; }
bool is_zero(const Scalar& s) { return s.real() == 0 && s.imag() == 0; }
Tensor scaled(const Tensor& t, const Scalar& by) { return is_one(by) ? t : t * by; }

Tensor rule_matmul(const Call& c) {
  const auto& op = *static_cast<const MatmulOp*>(c.op);
  if (op.conj_a || op.conj_b) return {};
  return product("matmul", operand(c, 0), operand(c, 1));
}
Tensor rule_addmm(const Call& c) {
  const auto& op = *static_cast<const AddmmOp*>(c.op);
  const Tensor input = operand(c, 0), a = operand(c, 1), b = operand(c, 2);
  if (op.conj_a || op.conj_b || (!parts_if(a) && !parts_if(b))) return {};
  return input ? addmm(input, a, b, op.beta, op.alpha) : scaled(product("addmm", a, b), op.alpha);
}
Tensor rule_linear(const Call& c) {  // of a weight that is stored sparsely
  const Tensor x = operand(c, 0), w = operand(c, 1), bias = operand(c, 2);
  if (!parts_if(w) || parts_if(x) || x.dim() < 1) return {};
  Shape size = x.shape();
  size.back() = w.size(0);
  const Tensor rows = reshape(x, {x.numel() / std::max<std::int64_t>(x.size(-1), 1), x.size(-1)});
  const Tensor y = reshape(neura::transpose(product("linear", w, neura::transpose(rows, 0, 1)), 0, 1), size);
  return bias ? y + bias : y;
}

}  // namespace

Tensor mm(const Tensor& a, const Tensor& b) {
  if (parts_if(a) || parts_if(b)) return product("mm", a, b);
  return apply(MatmulOp{}, a, b);
}
Tensor addmm(const Tensor& input, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) {
  const Tensor p = scaled(mm(a, b), alpha);
  return is_zero(beta) ? p : p + scaled(input, beta);
}
Tensor sampled_addmm(const Tensor& input, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) {
  check_product("sampled_addmm", a, b);
  const Layout l = parts(input, "sampled_addmm").pattern.layout;
  check<ShapeError>(input.dim() == 2 && input.size(0) == a.size(0) && input.size(1) == b.size(1), [&] {
    return "sampled_addmm: expected a sparse matrix of the product's sizes, got " + input.spec().str();
  });
  check<NotImplementedError>((l == Layout::csr || l == Layout::coo) && !parts_if(a) && !parts_if(b), [&] {
    return std::string("sampled_addmm: expected a sparse_csr or sparse_coo input and dense factors, got a ") + name(l) +
           " one, or sparse factors";
  });
  const Tensor at = l == Layout::coo ? coalesce(input) : input;
  const ByRow rows(at);
  const Tensor v = scaled(sparse_sample(rows.starts, rows.columns, a, neura::transpose(b, 0, 1)), alpha);
  return with_values(at, is_zero(beta) ? v : v + scaled(rows.values, beta));
}

void add_products(Rules& all) {
  all[&operations::matmul()] = rule_matmul;
  all[&operations::addmm()] = rule_addmm;
  all[&operations::linear()] = rule_linear;
}

}  // namespace neura::sparse
