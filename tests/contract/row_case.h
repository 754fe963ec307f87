// What the contract tests know of a pointwise row: how it is called, whatever its arity, operands that suit it, and its
// answer by the plain loops.
#pragma once
#include <ostream>
#include <string>
#include <vector>

#include "neura/op/apply.h"
#include "tests/support/close.h"

namespace neura::test {

struct RowCase {
  const Row* row;
  double attributes[4] = {};
  std::string name;  // the row's; with a suffix where the attributes are not the defaults
};
std::ostream& operator<<(std::ostream&, const RowCase&);
// Every row with its default attributes, then those that do more with other ones, and the table of the tests.
const std::vector<RowCase>& row_cases();
std::vector<RowCase> differentiable_row_cases();

// By the ordinary call of `apply`.
Tensor call(const RowCase&, std::vector<Operand> operands);
Tensor call(const RowCase&, const std::vector<Tensor>& operands);
Tensor& call_out(const RowCase&, Tensor& out, const std::vector<Tensor>& operands);
Tensor& call_in_place(const RowCase&, Tensor& self, const std::vector<Tensor>& others);

// Shapes for the operands of a row: of one shape, or such that they broadcast to [3, 4, 5] (one operand: [3, 4, 5]).
std::vector<Shape> equal_shapes(const RowCase&, const Shape&);
std::vector<Shape> broadcasting_shapes(const RowCase&);
// Operands within the row's domain; with `anywhere`, floating ones may leave it.
std::vector<Tensor> operands(const RowCase&, DType, const std::vector<Shape>&, std::uint64_t seed = 0,
                             bool anywhere = false);

// The kernel of the plain loops, on operands that broadcast, all of a dtype the row computes in (a condition is bool).
// The result is of the dtype that the kernel writes.
Tensor oracle(const RowCase&, const std::vector<Tensor>& operands);
// Elements converted one at a time; integers wrap around.
Tensor converted(const Tensor&, DType);

// Operands of float64 or complex128 that broadcast, at which the row is finite and smooth, each a bfloat16 number;
// empty if there are none.
std::vector<Tensor> smooth_operands(const RowCase&, DType);

// Gradients of all roots together, where `order` is 2 those of them, where it is 0 the roots; empty if nothing has any.
std::vector<Tensor> derived(std::vector<Tensor> roots, const std::vector<Tensor>& in, int order);

void count_case();  // one (row, dtype, property)

class RowTest : public ::testing::TestWithParam<RowCase> {
 protected:
  const RowCase& c = GetParam();
  const Row& row = *c.row;
  template <class F> void for_accepted(F&& f) {
    for (int i = 0; i < kDTypes; ++i)
      if (row.types.accepts(DType(i))) {
        SCOPED_TRACE(neura::name(DType(i)));
        f(DType(i)), count_case();
      }
  }
};

}  // namespace neura::test
