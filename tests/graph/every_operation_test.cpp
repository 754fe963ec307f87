// The case of every operation, forward and backward, as a program: printed, read back, and run on other operands.
#include <set>

#include "neura/graph/passes.h"
#include "neura/graph/trace.h"
#include "neura/neura.h"
#include "tests/contract/row_case.h"
#include "tests/contract/structs.h"
#include "tests/support/close.h"

namespace neura::test {
namespace {

// Results, and gradients of what has one.
Inputs with_gradients(const StructCase& c, std::span<const Tensor> inputs) {
  Inputs in, leaves;
  for (const Tensor& t : inputs) {
    in.push_back(t.detach());
    if (differentiable(t.dtype())) leaves.push_back(in.back().requires_grad_());
  }
  Inputs results, outputs, incoming;
  for (const Tensor& y : c.f(in)) {
    if (!y) continue;
    results.push_back(y.detach());
    if (y.requires_grad()) outputs.push_back(y), incoming.push_back(y.detach() * 0.5 + 1);
  }
  if (outputs.empty()) return results;
  backward(outputs, incoming);
  for (const Tensor& t : leaves)
    if (t.grad()) results.push_back(t.grad());
  return results;
}
Inputs others(const Inputs& inputs) {
  Inputs all;
  for (const Tensor& t : inputs) all.push_back(differentiable(t.dtype()) ? t * 0.9375 : t.clone());
  return all;
}

// Its cases read values on the host: sizes or a choice of formula come of data.
const std::set<std::string> kReads = {"repeat_interleave_tensor",
                                      "masked_select",
                                      "masked_scatter",
                                      "index_mask",
                                      "matrix_exp",
                                      "linalg_cholesky",
                                      "linalg_cholesky_upper",
                                      "linalg_inv",
                                      "linalg_inv_complex",
                                      "linalg_solve",
                                      "linalg_solve_vector",
                                      "linalg_solve_right",
                                      "linalg_lu_solve",
                                      "linalg_lu_solve_adjoint",
                                      "linalg_lstsq_by_values",
                                      "linalg_tensorinv",
                                      "linalg_tensorsolve"};

class Traced : public testing::TestWithParam<StructCase> {};
INSTANTIATE_TEST_SUITE_P(EveryOperation, Traced, testing::ValuesIn(struct_cases()));

TEST_P(Traced, RunsAsEagerDoes) {
  const StructCase& c = GetParam();
  SCOPED_TRACE(c.text);
  graph::Program p;
  Inputs in;
  for (const Tensor& t : c.inputs) in.push_back(t.clone());
  try {
    p = graph::trace([&](auto x) { return with_gradients(c, x); }, in);
  } catch (const ValueError& e) {
    EXPECT_TRUE(kReads.count(c.name)) << c.name << ": " << e.what();
    return;
  }
  EXPECT_FALSE(kReads.count(c.name));
  const std::string text = str(p, true);
  const graph::Program read = graph::parse(text);
  EXPECT_EQ(str(read, true), text);
  for (const Inputs& x : {c.inputs, others(c.inputs)}) {
    manual_seed(3);
    const Inputs want = with_gradients(c, x);
    manual_seed(3);
    const Inputs got = run(p, x);
    manual_seed(3);
    const Inputs again = run(read, x);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) expect_same(got[i], want[i]), expect_same(again[i], want[i]);
  }
}

struct TracedRow : RowTest {};
INSTANTIATE_TEST_SUITE_P(EveryRow, TracedRow, testing::ValuesIn(row_cases()));
TEST_P(TracedRow, RunsAsEagerDoes) {
  for_accepted([&](DType d) {
    const Inputs in = operands(c, d, broadcasting_shapes(c));
    const bool slopes = row.differentiable && differentiable(d);
    const auto f = [&](std::span<const Tensor> x) {
      Inputs handles;
      for (const Tensor& t : x) handles.push_back(t.detach());
      if (slopes)
        for (Tensor& t : handles)
          if (differentiable(t.dtype())) t.requires_grad_();
      const Tensor y = call(c, handles);
      Inputs results{y.detach()};
      if (!y.requires_grad()) return results;
      y.backward(ones_like(y));
      for (const Tensor& t : handles)
        if (t.grad()) results.push_back(t.grad());
      return results;
    };
    const graph::Program p = graph::trace(f, in);
    if (find_operation(row.name)) {
      const std::string text = str(p);
      EXPECT_EQ(str(graph::parse(text)), text);
    }
    const Inputs other = operands(c, d, broadcasting_shapes(c), 7);
    const Inputs want = f(other), got = run(p, other);
    for (std::size_t i = 0; i < want.size(); ++i) expect_same(got[i], want[i]);
  });
}

}  // namespace
}  // namespace neura::test
