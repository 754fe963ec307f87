// einsum, whose operands and lists of dimensions take turns.
#include "common.h"

namespace neura::python {
namespace {

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

void bind_einsum(const Names& n) {
  n.function(
      "einsum", [](const std::string& equation, nb::args args) { return einsum(equation, operands_of(args)); },
      "equation"_a, "operands"_a);
  n.function("einsum", &einsum_of_lists);
}

}  // namespace neura::python
