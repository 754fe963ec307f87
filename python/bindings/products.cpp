// Products of matrices, vectors and batches of them.
#include "common.h"
#include "neura/ops/autocast.h"

namespace neura::python {
namespace {

using T = const Tensor&;
template <Tensor (*f)(T, T, T, const AddProductOptions&)>
void add_product(const Names& n, const char* name, const char* first, const char* second) {
  n.both(
      name,
      [](T x, T a, T b, Scalar beta, Scalar alpha) {
        return f(x, a, b, {beta, alpha});
      },
      "input"_a, nb::arg(first), nb::arg(second), nb::kw_only(), "beta"_a = Scalar(1), "alpha"_a = Scalar(1));
  const std::string in_place = std::string(name) + "_";
  n.method(
      in_place.c_str(),
      [](Tensor& x, T a, T b, Scalar beta, Scalar alpha) {
        const amp::Restored uncast;
        return copy_(x, f(x, a, b, {beta, alpha}));
      },
      "self"_a, nb::arg(first), nb::arg(second), nb::kw_only(), "beta"_a = Scalar(1), "alpha"_a = Scalar(1));
}

std::vector<Tensor> operands_of(const nb::args& args) {
  std::vector<Tensor> v;
  if (args.size() == 1 && to_tensors(nb::handle(args[0]).ptr(), v)) return v;
  if (!to_tensors(args.ptr(), v)) throw nb::type_error("einsum: expected an equation and tensors");
  return v;
}

// einsum(x, [0, 1], y, [1, 2], [0, 2]): the equation that these lists stand for.
std::string letters_of(nb::handle list) {
  constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  if (!PySequence_Check(list.ptr()) || is_tensor(list.ptr()))
    throw nb::type_error("einsum: expected a list of numbers of dimensions after each tensor");
  std::string letters;
  for (nb::handle item : nb::iter(list)) {
    std::int64_t number = -1;
    if (item.ptr() == Py_Ellipsis) letters += "...";
    else if (!nb::try_cast<std::int64_t>(item, number) || number < 0 || number >= 52)
      throw ValueError("einsum: expected numbers of dimensions from 0 to 51, or Ellipsis");
    else letters += kLetters[number];
  }
  return letters;
}
Tensor einsum_of_lists(const nb::args& args) {
  if (args.size() < 2 || !is_tensor(nb::handle(args[0]).ptr()))
    throw nb::type_error("einsum: expected an equation and tensors, or tensors each with its list of dimensions");
  std::string equation;
  std::vector<Tensor> operands;
  std::size_t i = 0;
  for (; i + 1 < args.size(); i += 2) {
    const nb::handle operand(args[i]);
    if (!is_tensor(operand.ptr())) throw nb::type_error("einsum: expected a tensor before each list of dimensions");
    operands.push_back(tensor_in(operand.ptr()));
    equation += (i ? "," : "") + letters_of(args[i + 1]);
  }
  if (i < args.size()) equation += "->" + letters_of(args[i]);
  return einsum(equation, operands);
}

}  // namespace

void bind_products(const Names& n) {
  n.both(
      "matmul", [](T a, T b) { return matmul(a, b); }, "input"_a, "other"_a);
  n.both("mm", &mm, "input"_a, "mat2"_a).both("bmm", &bmm, "input"_a, "mat2"_a).both("mv", &mv, "input"_a, "vec"_a);
  n.both("dot", &dot, "input"_a, "tensor"_a).both("vdot", &vdot, "input"_a, "other"_a);
  n.both("inner", &inner, "input"_a, "other"_a)
      .both("outer", &outer, "input"_a, "vec2"_a)
      .both("ger", &ger, "input"_a, "vec2"_a);
  add_product<addmm>(n, "addmm", "mat1", "mat2"), add_product<addmv>(n, "addmv", "mat", "vec");
  add_product<addr>(n, "addr", "vec1", "vec2"), add_product<addbmm>(n, "addbmm", "batch1", "batch2");
  add_product<baddbmm>(n, "baddbmm", "batch1", "batch2");
  n.function(
      "tensordot", [](T a, T b, std::int64_t dims) { return tensordot(a, b, dims); }, "a"_a, "b"_a, "dims"_a = 2);
  n.function(
      "tensordot",
      [](T a, T b, nb::sequence dims) {
        Dims first, second;
        if (nb::len(dims) != 2 || !to_shape(nb::object(dims[0]).ptr(), first) ||
            !to_shape(nb::object(dims[1]).ptr(), second))
          throw nb::type_error("tensordot: expected a number, or two lists of dimensions");
        return tensordot(a, b, first, second);
      },
      "a"_a, "b"_a, "dims"_a);
  n.function("chain_matmul", [](nb::args args) { return chain_matmul(operands_of(args)); });
  n.function(
      "_multi_dot", [](const std::vector<Tensor>& l) { return multi_dot(l); }, "tensors"_a);
  n.function(
      "einsum", [](const std::string& equation, nb::args args) { return einsum(equation, operands_of(args)); },
      "equation"_a, "operands"_a);
  n.function("einsum", &einsum_of_lists);
}

}  // namespace neura::python
