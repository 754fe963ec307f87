// Products of matrices, vectors and batches of them.
#include "neura/ops/reduce.h"
#include "neura/ops/shape.h"
#include "neura/ops/matmul.h"
#include "neura/ops/matrix.h"
#include "neura/surface/list.h"

namespace neura::surface {
namespace {

using T = const Tensor&;
template <Tensor (*f)(T, T, T, const AddProductOptions&)> Tensor sum_with(T x, T a, T b, Scalar beta, Scalar alpha) {
  return f(x, a, b, {beta, alpha});
}

void add_sums(const List& s) {
  s.add("addmm(input, mat1, mat2, *, beta=1, alpha=1)", &sum_with<addmm>, both | out | in_place,
        "beta * input + alpha * (mat1 @ mat2), for matrices.");
  s.add("addmv(input, mat, vec, *, beta=1, alpha=1)", &sum_with<addmv>, both | out | in_place,
        "beta * input + alpha * (mat @ vec).");
  s.add("addr(input, vec1, vec2, *, beta=1, alpha=1)", &sum_with<addr>, both | out | in_place,
        "beta * input + alpha * outer(vec1, vec2).");
  s.add("addbmm(input, batch1, batch2, *, beta=1, alpha=1)", &sum_with<addbmm>, both | out | in_place,
        "beta * input + alpha * the sum of the products of matrices batch1 [b, n, m] and batch2 [b, m, p].");
  s.add("baddbmm(input, batch1, batch2, *, beta=1, alpha=1)", &sum_with<baddbmm>, both | out | in_place,
        "beta * input + alpha * (batch1 @ batch2), for [b, n, m] and [b, m, p].");
}

}  // namespace

void add_products(std::deque<Function>& all) {
  const List s(all, "");
  s.add(
      "matmul(input, other)", [](T a, T b) { return matmul(a, b); }, both | out | direct,
      "The matrix product; vectors are rows or columns, further dimensions broadcast. ShapeError where sizes do not "
      "meet.");
  s.add("mm(input, mat2)", &mm, both | out, "The product of two matrices [n, m] and [m, p].");
  s.add("bmm(input, mat2)", &bmm, both | out, "The products of matrices [b, n, m] and [b, m, p]: [b, n, p].");
  s.add("mv(input, vec)", &mv, both | out, "The product of a matrix and a vector.");
  s.add("dot(input, tensor)", &dot, both | out, "The sum of products of two vectors of equal length.");
  s.add("vdot(input, other)", &vdot, both | out, "The sum of products of two vectors, the first conjugated.");
  s.add("inner(input, other)", &inner, both | out, "The sums of products along the last dimension of both.");
  s.add("outer(input, vec2)", &outer, both | out, "The matrix of all products of two vectors.").alias("ger", "outer");
  s.add("kron(input, other)", &kron, both | out, "The Kronecker product.");
  add_sums(s);
  s.add(
      "tensordot(a, b, dims=2)", [](T a, T b, std::int64_t dims) { return tensordot(a, b, dims); }, function | out,
      "Sums of products over pairs of dimensions: the last of a and first of b, or the lists dims.");
  s.add(
      "tensordot(a, b, dims)",
      [](T a, T b, const Shapes& dims) {
        check<ValueError>(dims.size() == 2, [&] {
          return "tensordot: expected a number or two lists of dimensions, got " + std::to_string(dims.size()) +
                 " lists";
        });
        return tensordot(a, b, dims[0], dims[1]);
      },
      function | out);
  s.add(
      "chain_matmul(*tensors)", [](const Tensors& l) { return chain_matmul(l); }, function | out,
      "The product of matrices, in the order that costs least.");
  s.add(
      "_multi_dot(tensors)", [](const Tensors& l) { return multi_dot(l); }, function | out,
      "The product of matrices (the first and last may be vectors), in the order that costs least.");
  s.add(
      "matrix_power(input, n)", [](T x, std::int64_t n) { return matrix_power(x, n); }, both | out,
      "The n-th power of square matrices [..., n, n]: repeated products; of the inverse where n is negative.");
  s.add("matrix_exp(input)", &matrix_exp, both,
        "The exponential of square matrices [..., n, n], floating or complex: the sum of input^k / k!.");
  s.add("trace(input)", &trace, both, "The sum of the diagonal of a matrix.");
}

}  // namespace neura::surface
