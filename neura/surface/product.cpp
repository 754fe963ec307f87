// Products of matrices, vectors and batches of them; numbers as integers of few bits, and products of these.
#include "neura/ops/linalg/matrix_functions.h"
#include "neura/ops/product/einsum.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/quant/int8_product.h"
#include "neura/ops/quant/quantize.h"
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
  s.add(
      "quantize_affine(input, scale, zero_point, quant_min=None, quant_max=None, *, axis=None, dtype=None)",
      &to_integers<quantize_affine>, function,
      "clamp(round(input / scale) + zero_point, quant_min, quant_max) as int8 (or dtype=uint8), rounded to the nearest "
      "even integer; a NaN becomes quant_min. scale and zero_point have one element, or with axis one for each place "
      "along it. By default the range is the dtype's; a smaller one is a number of fewer bits.");
  s.add("requantize_affine(input, scale, zero_point, quant_min=None, quant_max=None, *, axis=None, dtype=None)",
        &to_integers<requantize_affine>, function,
        "The int32 sums of a product as int8 or uint8: clamp(round(float32(input) * scale) + zero_point, quant_min, "
        "quant_max).");
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
#include "neura/surface/entries.h"
#include "neura/tables/functions/product.def"
#include "neura/tables/functions/quant.def"
#include "neura/tables/functions/end.h"
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
      "einsum(equation, *operands)", [](const std::string& e, const Tensors& l) { return einsum(e, l); }, function,
      "Sums of products by Einstein's convention: einsum('ij,jk->ik', a, b); or with lists of dimensions, einsum(a, "
      "[0, "
      "1], b, [1, 2], [0, 2]). ValueError where the equation does not fit the operands.");
  s.add("einsum(*operands)", &einsum_of_lists, function);
  add_quantization(s);
}

}  // namespace neura::surface
