#include "neura/ops/product/matmul.h"

#include <vector>

#include "neura/op/call_error.h"
#include "neura/op/cast_scope.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/product/matmul_ops.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

std::string both(const Tensor& a, const Tensor& b) { return a.spec().str() + " and " + b.spec().str(); }

void check_ranks(const char* op, const Tensor& a, int rank_a, const Tensor& b, int rank_b) {
  const auto word = [](int rank) {
    return rank == 1   ? std::string("a vector")
           : rank == 2 ? std::string("a matrix")
                       : std::string("a batch of matrices");
  };
  check<ShapeError>(a.dim() == rank_a && b.dim() == rank_b, [&] {
    return std::string(op) + ": expected " + word(rank_a) + " and " + word(rank_b) + ", got " + both(a, b);
  });
}
// The size that is summed over, checked with the name of the function that was called.
void check_inner(const char* op, const Tensor& a, const Tensor& b) {
  const bool cast_later = state.active & kAutocast;
  check<DTypeError>(a.dtype() == b.dtype() || cast_later, [&] {
    return std::string(op) + ": expected operands of one dtype, got " + both(a, b) + "; convert one with .to()";
  });
  const std::int64_t inner = b.size(b.dim() > 1 ? -2 : 0);
  check<ShapeError>(a.size(-1) == inner, [&] {
    return std::string(op) + ": expected the second operand's dimension " + (b.dim() > 1 ? "-2" : "0") +
           " to have size " + std::to_string(a.size(-1)) + ", as the first's last has, got " + std::to_string(inner) +
           " (" + both(a, b) + ")";
  });
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  check<ShapeError>(a.dim() >= 1 && b.dim() >= 1, [&] {
    return "matmul: expected at least one dimension, got " + both(a, b) + "; use mul for a product with a number";
  });
  check_inner("matmul", a, b);
  if (a.dim() >= 2 && b.dim() >= 2) {
    if (a.dim() > 2 && b.dim() == 2) {  // one product of all rows, where no copy is needed for it
      Shape rows = {-1, a.size(-1)}, shape = a.shape();
      shape.back() = b.size(1);
      if (a.numel() && view_strides(a.spec(), {a.numel() / a.size(-1), a.size(-1)}))
        return view(apply(MatmulOp{}, view(a, rows), b), shape);
    }
    return apply(MatmulOp{}, a, b);
  }
  if (a.dim() == 1 && b.dim() == 1) return view(apply(MatmulOp{}, unsqueeze(a, 0), unsqueeze(b, 1)), {});
  if (a.dim() == 1) return squeeze(apply(MatmulOp{}, unsqueeze(a, 0), b), -2);
  if (a.dim() == 2) return squeeze(apply(MatmulOp{}, a, unsqueeze(b, 1)), -1);
  return squeeze(matmul(a, unsqueeze(b, 1)), -1);
}

Tensor& matmul_out(Tensor& out, const Tensor& a, const Tensor& b) {
  if (a.dim() >= 2 && b.dim() >= 2) {
    check_inner("matmul", a, b);
    return apply_to(Destination::out, out, MatmulOp{}, a, b);
  }
  check<NotImplementedError>(false, [&] {
    return "matmul: expected matrices or batches of them where out is given, got " + both(a, b) +
           "; copy the result there with copy_()";
  });
  return out;
}

Tensor mm(const Tensor& a, const Tensor& b) {
  check_ranks("mm", a, 2, b, 2), check_inner("mm", a, b);
  return apply(MatmulOp{}, a, b);
}
Tensor bmm(const Tensor& a, const Tensor& b) {
  check_ranks("bmm", a, 3, b, 3), check_inner("bmm", a, b);
  check<ShapeError>(a.size(0) == b.size(0), [&] { return "bmm: expected batches of one size, got " + both(a, b); });
  return apply(MatmulOp{}, a, b);
}
Tensor mv(const Tensor& a, const Tensor& b) {
  if (const amp::CastScope cast{amp::Name::mv, a, b}) return mv(cast(a), cast(b));
  check_ranks("mv", a, 2, b, 1), check_inner("mv", a, b);
  return matmul(a, b);
}
Tensor dot(const Tensor& a, const Tensor& b) {
  if (const amp::CastScope cast{amp::Name::dot, a, b}) return dot(cast(a), cast(b));
  check_ranks("dot", a, 1, b, 1), check_inner("dot", a, b);
  return matmul(a, b);
}
Tensor vdot(const Tensor& a, const Tensor& b) {
  if (const amp::CastScope cast{amp::Name::vdot, a, b}) return vdot(cast(a), cast(b));
  check_ranks("vdot", a, 1, b, 1), check_inner("vdot", a, b);
  return view(apply(MatmulOp{.conj_a = true}, unsqueeze(a, 0), unsqueeze(b, 1)), {});
}
Tensor inner(const Tensor& a, const Tensor& b) {
  if (!a.dim() || !b.dim()) return mul(a, b);
  check<ShapeError>(a.size(-1) == b.size(-1),
                    [&] { return "inner: expected last dimensions of one size, got " + both(a, b); });
  return a.dim() == 1 && b.dim() == 1 ? dot(a, b) : tensordot(a, b, Dims{-1}, Dims{-1});
}
Tensor outer(const Tensor& a, const Tensor& b) {
  check_ranks("outer", a, 1, b, 1);
  return mul(unsqueeze(a, 1), b);
}
Tensor ger(const Tensor& a, const Tensor& b) { return outer(a, b); }

Tensor addmm(const Tensor& input, const Tensor& a, const Tensor& b, const AddProductOptions& o) {
  check_ranks("addmm", a, 2, b, 2), check_inner("addmm", a, b);
  return apply(AddmmOp{o.beta, o.alpha}, input, a, b);
}
Tensor addmv(const Tensor& input, const Tensor& a, const Tensor& b, const AddProductOptions& o) {
  if (const amp::CastScope cast{amp::Name::addmv, input, a, b}) return addmv(cast(input), cast(a), cast(b), o);
  check_ranks("addmv", a, 2, b, 1), check_inner("addmv", a, b);
  check<ShapeError>(input.dim() <= 1, [&] { return "addmv: expected a vector to add to, got " + input.spec().str(); });
  const Tensor column = input.dim() == 1 ? unsqueeze(input, 1) : input;
  return squeeze(apply(AddmmOp{o.beta, o.alpha}, column, a, unsqueeze(b, 1)), 1);
}
Tensor baddbmm(const Tensor& input, const Tensor& a, const Tensor& b, const AddProductOptions& o) {
  if (const amp::CastScope cast{amp::Name::baddbmm, input, a, b}) return baddbmm(cast(input), cast(a), cast(b), o);
  check_ranks("baddbmm", a, 3, b, 3), check_inner("baddbmm", a, b);
  check<ShapeError>(a.size(0) == b.size(0), [&] { return "baddbmm: expected batches of one size, got " + both(a, b); });
  return apply(AddmmOp{o.beta, o.alpha}, input, a, b);
}
Tensor addbmm(const Tensor& input, const Tensor& a, const Tensor& b, const AddProductOptions& o) {
  if (const amp::CastScope cast{amp::Name::addbmm, input, a, b}) return addbmm(cast(input), cast(a), cast(b), o);
  check_ranks("addbmm", a, 3, b, 3), check_inner("addbmm", a, b);
  check<ShapeError>(a.size(0) == b.size(0), [&] { return "addbmm: expected batches of one size, got " + both(a, b); });
  // The sum over the batch is a sum over longer rows.
  const Shape shape = {a.size(1), a.size(0) * a.size(2)};
  return apply(AddmmOp{o.beta, o.alpha}, input, reshape(permute(a, {1, 0, 2}), shape),
               reshape(b, {b.size(0) * b.size(1), b.size(2)}));
}
Tensor addr(const Tensor& input, const Tensor& a, const Tensor& b, const AddProductOptions& o) {
  if (const amp::CastScope cast{amp::Name::addr, input, a, b}) return addr(cast(input), cast(a), cast(b), o);
  check_ranks("addr", a, 1, b, 1);
  const auto nonzero = [](const Scalar& s) { return s.real() != 0 || s.imag() != 0; };
  const DType d = promote(input.dtype(), promote(a.dtype(), b.dtype()));
  const auto allowed = [&](const Scalar& s) { return !is_integral(d) || s.category() <= Category::integer; };
  check<DTypeError>(allowed(o.beta) && allowed(o.alpha), [&] {
    return std::string("addr: expected whole numbers for beta and alpha with ") + name(d) + " operands, got " +
           o.beta.str() + " and " + o.alpha.str();
  });
  const Tensor product = outer(a, b);
  if (d == DType::boolean) {  // or and and; a factor is true or false
    const Tensor second = mul(product, nonzero(o.alpha));
    return nonzero(o.beta) ? add(mul(input, true), second) : second;
  }
  const Tensor second = mul(product, o.alpha);
  return nonzero(o.beta) ? add(mul(input, o.beta), second) : expand(second, {a.size(0), b.size(0)});
}

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  check_given("linear", "weight", weight);
  if (weight.dim() == 1) {
    const Tensor y = matmul(input, weight);
    return bias ? add(y, bias) : y;
  }
  return apply(LinearOp{}, input, weight, bias);
}

Tensor tensordot(const Tensor& a, const Tensor& b, std::int64_t dims) {
  check<ValueError>(dims >= 0, [&] { return "tensordot: expected dims of at least 0, got " + std::to_string(dims); });
  check<ShapeError>(dims <= a.dim() && dims <= b.dim(), [&] {
    return "tensordot: expected operands of at least " + std::to_string(dims) + " dimensions, got " + both(a, b);
  });
  Dims left, right;
  for (int i = 0; i < dims; ++i) left.push_back(a.dim() - dims + i), right.push_back(i);
  return tensordot(a, b, left, right);
}
Tensor tensordot(const Tensor& a, const Tensor& b, const Dims& dims_a, const Dims& dims_b) {
  if (const amp::CastScope cast{amp::Name::tensordot, a, b}) return tensordot(cast(a), cast(b), dims_a, dims_b);
  check<ShapeError>(dims_a.size() == dims_b.size(), [&] {
    return "tensordot: expected as many dimensions of both operands, got " + dims_a.str() + " and " + dims_b.str();
  });
  unsigned summed_a = 0, summed_b = 0;
  Dims order_a, order_b, last_a;
  Shape shape;
  std::int64_t inner = 1, rows = 1, columns = 1;
  Tensor left = a, right = b;
  for (int i = 0; i < dims_a.size(); ++i) {
    const int da = wrap_dim("tensordot", dims_a[i], a.dim()), db = wrap_dim("tensordot", dims_b[i], b.dim());
    check<ShapeError>(!(summed_a >> da & 1) && !(summed_b >> db & 1), [&] {
      return "tensordot: expected each dimension of an operand once, got " + dims_a.str() + " and " + dims_b.str();
    });
    summed_a |= 1u << da, summed_b |= 1u << db;
    // A size of 1 broadcasts: the other operand is summed first.
    if (left.size(da) == 1 && right.size(db) != 1) right = sum(right, db, true, b.dtype());
    else if (right.size(db) == 1 && left.size(da) != 1) left = sum(left, da, true, a.dtype());
    check<ShapeError>(left.size(da) == right.size(db), [&] {
      return "tensordot: expected sizes that meet, got " + std::to_string(a.size(da)) + " in dimension " +
             std::to_string(da) + " and " + std::to_string(b.size(db)) + " in dimension " + std::to_string(db) + " (" +
             both(a, b) + ")";
    });
    inner *= left.size(da), last_a.push_back(da), order_b.push_back(db);
  }
  for (int d = 0; d < a.dim(); ++d)
    if (!(summed_a >> d & 1)) order_a.push_back(d), shape.push_back(a.size(d)), rows *= a.size(d);
  for (int d = 0; d < b.dim(); ++d)
    if (!(summed_b >> d & 1)) order_b.push_back(d), shape.push_back(b.size(d)), columns *= b.size(d);
  for (std::int64_t d : last_a) order_a.push_back(d);
  left = a.dim() ? permute(left, order_a) : left, right = b.dim() ? permute(right, order_b) : right;
  return reshape(mm(reshape(left, {rows, inner}), reshape(right, {inner, columns})), shape);
}

namespace {
// The classic table: cost[i][j] of multiplying matrices i to j, and where to split them.
Tensor chain(std::span<const Tensor> m) {
  const int n = int(m.size());
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
  std::vector<std::vector<int>> split(n, std::vector<int>(n, 0));
  const auto rows = [&](int i) { return double(m[i].size(0)); };
  const auto columns = [&](int i) { return double(m[i].size(1)); };
  for (int length = 1; length < n; ++length)
    for (int i = 0; i + length < n; ++i) {
      const int j = i + length;
      for (int s = i; s < j; ++s) {
        const double total = cost[i][s] + cost[s + 1][j] + rows(i) * columns(s) * columns(j);
        if (s == i || total < cost[i][j]) cost[i][j] = total, split[i][j] = s;
      }
    }
  const auto multiply = [&](auto& self, int i, int j) -> Tensor {
    return i == j ? m[i] : mm(self(self, i, split[i][j]), self(self, split[i][j] + 1, j));
  };
  return multiply(multiply, 0, n - 1);
}
}  // namespace

Tensor multi_dot(std::span<const Tensor> tensors) {
  check<ValueError>(tensors.size() >= 2,
                    [&] { return "multi_dot: expected at least two tensors, got " + std::to_string(tensors.size()); });
  std::vector<Tensor> m(tensors.begin(), tensors.end());
  const bool row = m.front().dim() == 1, column = m.back().dim() == 1;
  if (row) m.front() = unsqueeze(m.front(), 0);
  if (column) m.back() = unsqueeze(m.back(), 1);
  for (const Tensor& t : m)
    check<ShapeError>(t.dim() == 2, [&] { return "multi_dot: expected matrices, got " + t.spec().str(); });
  const Tensor y = chain(m);
  if (row && column) return view(y, {});
  return row ? squeeze(y, 0) : column ? squeeze(y, 1) : y;
}
Tensor chain_matmul(std::span<const Tensor> matrices) {
  check<ValueError>(!matrices.empty(), [] { return "chain_matmul: expected at least one matrix, got none"; });
  for (const Tensor& t : matrices)
    check<ShapeError>(t.dim() == 2, [&] { return "chain_matmul: expected matrices, got " + t.spec().str(); });
  return chain(matrices);
}

Tensor Tensor::matmul(const Tensor& other) const { return neura::matmul(*this, other); }

}  // namespace neura
