// Products of matrices, vectors and batches of them; numbers as integers of few bits, and products of these.
#include "neura/ops/linalg/matrix_functions.h"
#include "neura/ops/product/einsum.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/quant/integer_product.h"
#include "neura/ops/quant/quantize.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/shape.h"
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

using I = std::int64_t;
using MaybeI = std::optional<I>;
template <Tensor (*f)(T, T, T, const QuantizeOptions&)>
Tensor to_integers(T x, T scale, T zero, MaybeI low, MaybeI high, MaybeI axis, std::optional<DType> dtype) {
  return f(x, scale, zero, {axis, low, high, dtype.value_or(DType::int8)});
}

void add_quantization(const List& s) {
  s.add(
      "fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max)",
      [](T x, double scale, I zero, I low, I high) {
        return fake_quantize_per_tensor_affine(x, scale, zero, low, high);
      },
      function,
      "Quantised and dequantised: (clamp(round(input / scale) + zero_point, quant_min, quant_max) - zero_point) * "
      "scale, rounded to the nearest even integer. The gradient passes where nothing was cut off and is 0 elsewhere. "
      "scale and zero_point are numbers or tensors of one element.");
  s.add(
      "fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max)",
      [](T x, T scale, T zero, I low, I high) { return fake_quantize_per_tensor_affine(x, scale, zero, low, high); },
      function);
  s.add("fake_quantize_per_channel_affine(input, scale, zero_point, axis, quant_min, quant_max)",
        &fake_quantize_per_channel_affine, function,
        "fake_quantize_per_tensor_affine with a scale and a zero_point for each place along axis.");
  s.add(
      "quantize_affine(input, scale, zero_point, quant_min=None, quant_max=None, *, axis=None, dtype=None)",
      &to_integers<quantize_affine>, function,
      "clamp(round(input / scale) + zero_point, quant_min, quant_max) as int8 (or dtype=uint8), rounded to the nearest "
      "even integer; a NaN becomes quant_min. scale and zero_point have one element, or with axis one for each place "
      "along it. By default the range is the dtype's; a smaller one is a number of fewer bits.");
  s.add(
      "dequantize_affine(input, scale, zero_point=None, *, axis=None)",
      [](T q, T scale, T zero, MaybeI axis) { return dequantize_affine(q, scale, zero, axis); }, function,
      "(input - zero_point) * scale in float32, of int8, uint8 or int32.");
  s.add("requantize_affine(input, scale, zero_point, quant_min=None, quant_max=None, *, axis=None, dtype=None)",
        &to_integers<requantize_affine>, function,
        "The int32 sums of a product as int8 or uint8: clamp(round(float32(input) * scale) + zero_point, quant_min, "
        "quant_max).");
}
void add_integer_products(const List& s) {
  s.add("_int_mm(input, mat2)", &_int_mm, function,
        "The product of two matrices of int8 or uint8, each, with int32 sums: exact.");
  s.add(
      "integer_matmul(input, other, packed=None)", &integer_matmul, function,
      "matmul of int8 or uint8, each, with int32 sums, for matrices and batches of them. packed: integer_pack(other).");
  s.add(
      "integer_pack(other)", &integer_pack, function,
      "An int8 matrix as integer_matmul reads it, to be given to it beside the matrix: uint8 bytes for this process.");
}

// einsum(x, [0, 1], y, [1, 2], [0, 2]): the equation of these lists.
std::string letters_of(const Integers& list) {
  constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::string letters;
  for (const std::int64_t number : list) {
    check<ValueError>(number == Sublists::kEllipsis || (number >= 0 && number < 52),
                      [] { return std::string("einsum: expected numbers of dimensions from 0 to 51, or Ellipsis"); });
    if (number == Sublists::kEllipsis) letters += "...";
    else letters += kLetters[std::size_t(number)];
  }
  return letters;
}
Tensor einsum_of_lists(const Sublists& given) {
  std::string equation;
  for (std::size_t i = 0; i < given.tensors.size(); ++i) equation += (i ? "," : "") + letters_of(given.lists[i]);
  if (given.lists.size() > given.tensors.size()) equation += "->" + letters_of(given.lists.back());
  return einsum(equation, given.tensors);
}

}  // namespace

void add_products(std::deque<Function>& all) {
  const List s(all, "");
  s.add(
       "matmul(input, other)", [](T a, T b) { return matmul(a, b); }, both | out,
       "The matrix product [..., n, m] x [..., m, p] -> [..., n, p]; batch dimensions broadcast, 1-d operands are "
       "vectors. ShapeError where inner sizes differ.")
      .also("linalg");
  s.add("mm(input, mat2)", &mm, both | out, "The matrix product [n, m] x [m, p] -> [n, p].")
      .alias("spmm", "mm")
      .alias("dsmm", "mm");
  s.add("bmm(input, mat2)", &bmm, both | out, "The batched matrix product [b, n, m] x [b, m, p] -> [b, n, p].");
  s.add("mv(input, vec)", &mv, both | out, "The matrix-vector product [n, m] x [m] -> [n].");
  s.add("dot(input, tensor)", &dot, both | out, "The dot product of two vectors of equal length.");
  s.add("vdot(input, other)", &vdot, both | out, "The dot product of two vectors, the first conjugated.");
  s.add("inner(input, other)", &inner, both | out,
        "Dot products over the last dimension of both: [..., m] and [*, m] -> [..., *].");
  s.add("outer(input, vec2)", &outer, both | out, "The outer product of two vectors: [n] and [m] -> [n, m].")
      .alias("ger", "outer");
  s.add("kron(input, other)", &kron, both | out, "The Kronecker product.");
  add_sums(s);
  s.add(
      "tensordot(a, b, dims=2)", [](T a, T b, std::int64_t dims) { return tensordot(a, b, dims); }, function | out,
      "Contracts pairs of dimensions: the last dims of a with the first of b, or those of the two lists dims.");
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
       "matrix_power(input, n)", [](T x, std::int64_t n) { return matrix_power(x, n); }, both | out,
       "The n-th power of square matrices [..., n, n]: repeated products; of the inverse where n is negative.")
      .also("linalg");
  s.add("matrix_exp(input)", &matrix_exp, both,
        "The exponential of square matrices [..., n, n], floating or complex: the sum of input^k / k!.")
      .also("linalg");
  s.add(
      "einsum(equation, *operands)", [](const std::string& e, const Tensors& l) { return einsum(e, l); }, function,
      "Sums of products by Einstein's convention: einsum('ij,jk->ik', a, b); or with lists of dimensions, einsum(a, "
      "[0, "
      "1], b, [1, 2], [0, 2]). ValueError where the equation does not fit the operands.");
  s.add("einsum(*operands)", &einsum_of_lists, function);
  s.add("trace(input)", &trace, both, "The sum of the diagonal of a matrix.");
  add_quantization(s), add_integer_products(s);
}

}  // namespace neura::surface
