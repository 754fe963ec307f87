// What the dispatcher does with a tensor that has an extension: a rule takes it, or a sentence refuses it.
#include "neura/autograd/gradcheck.h"
#include "neura/op/apply.h"
#include "neura/op/attributes.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/reduce/statistics.h"
#include "neura/sparse/parts.h"
#include "tests/support/close.h"

namespace neura::test {
namespace {

Tensor some(Layout l = Layout::coo) {
  return sparse::to_layout(tensor({{0., 3., 0.}, {4., 0., 5.}}, {.dtype = DType::float32}), l);
}

// Memory of the values alone would be read far outside: an operation that let one through would show it here.
TEST(Dispatch, RefusesASparseTensorWhereThereIsNoRule) {
  int refused = 0, taken = 0;
  for (const Row* row : all_operations()) {
    if (row->kind == Row::slope && row->of->slopes[row->operand].passes) continue;  // it is never called
    const int inputs = row->group ? row->first_of_list + row->group : row->inputs;
    for (int place = 0; place < inputs; ++place) {
      if (sparse::find_rule(*row) && row->kind != Row::slope) {
        ++taken;
        continue;
      }
      const Tensor t = some(), dense = ones({2, 3});
      std::vector<Operand> in;
      for (int i = 0; i < inputs; ++i) in.emplace_back(dense);
      in[std::size_t(place)] = Operand(t);
      std::vector<Tensor> out(kMaxOutputs);
      const double plain[8] = {};
      OpMemory memory(*row);
      const bool pointwise = row->kind == Row::pointwise || row->kind == Row::slope;
      Call call{row, pointwise ? static_cast<const void*>(plain) : memory.get(), in.data(), inputs, out.data()};
      const std::string text = error_of<NotImplementedError>([&] { apply(call); });
      EXPECT_NE(text.find(": expected a dense tensor for "), std::string::npos) << row->name << ": " << text;
      EXPECT_NE(text.find(", got a sparse_coo one; call to_dense()"), std::string::npos) << row->name << ": " << text;
      ++refused;
    }
  }
  EXPECT_GT(refused, 400);
  EXPECT_GT(taken, 40);
}
TEST(Dispatch, KnowsRowsAndNotTheirNames) {
  EXPECT_TRUE(sparse::find_rule(rows::neg));
  Row own = rows::neg;  // a program's own operation, whatever its name
  EXPECT_FALSE(sparse::find_rule(own));
}
TEST(Dispatch, NamesTheOperand) {
  const Tensor t = some(), x = ones({2, 3});
  EXPECT_EQ(error_of<NotImplementedError>([&] { maximum(t, x); }),
            "maximum: expected a dense tensor for input, got a sparse_coo one; call to_dense()");
  EXPECT_EQ(error_of<NotImplementedError>([&] { maximum(x, some(Layout::csr)); }),
            "maximum: expected a dense tensor for other, got a sparse_csr one; call to_dense()");
  EXPECT_EQ(error_of<NotImplementedError>([&] { cos(t); }),
            "cos: expected a dense tensor for input, got a sparse_coo one; call to_dense()");
  Tensor self = some();
  EXPECT_EQ(error_of<NotImplementedError>([&] { cos_(self); }),
            "cos: expected a dense tensor for input, got a sparse_coo one; call to_dense()");
  EXPECT_EQ(error_of<NotImplementedError>([&] { cos_out(self, x); }),
            "cos: expected a dense tensor for the destination, got a sparse_coo one; call to_dense()");
  EXPECT_EQ(error_of<NotImplementedError>([&] { t.data<float>(); }),
            "data: expected a dense tensor, got a sparse_coo one; call to_dense()");
  EXPECT_EQ(error_of<NotImplementedError>([&] { contiguous(t); }),
            "to: expected a dense tensor for input, got a sparse_coo one; call to_dense()");
  EXPECT_EQ(error_of<NotImplementedError>([&] { resize_(self, {2}); }),
            "resize_: expected a dense tensor, got a sparse_coo one; call to_dense()");
  const Tensor leaf = some().requires_grad_();
  EXPECT_EQ(error_of<NotImplementedError>([&] { gradcheck([](const std::vector<Tensor>& x) { return x; }, {leaf}); }),
            "gradcheck: expected a dense tensor, got a sparse_coo one; call to_dense()");
  EXPECT_EQ(error_of<NotImplementedError>([&] { sparse::to_coo(ones({1})).item(); }),
            "item: expected a dense tensor, got a sparse_coo one; call to_dense()");
  EXPECT_EQ(error_of<NotImplementedError>([&] { ones_like(t); }),
            "ones_like: expected a dense tensor, got a sparse_coo one; call to_dense()");
}
// What was recorded of a dense tensor may meet a sparse gradient: the slopes refuse it, too.
TEST(Dispatch, RefusesASparseGradientThatASlopeWouldRead) {
  Tensor x = ones({2, 3}).requires_grad_();
  const Tensor y = exp(x);
  EXPECT_EQ(error_of<NotImplementedError>([&] { y.backward(some()); }),
            "exp_backward: expected a dense tensor for operand 0, got a sparse_coo one; call to_dense()");
}
TEST(Dispatch, WritesWhatARuleGivesIntoASparseDestination) {
  Tensor t = some();
  const Tensor shares = t.detach();
  const std::uint32_t before = t.version();
  mul_(t, 2);
  EXPECT_NE(t.version(), before);
  expect_close(sparse::to_dense(shares), {0, 6, 0, 8, 0, 10});
  zero_(t);
  EXPECT_EQ(sparse::nnz(shares), 0);
  Tensor dense = ones({2, 3});
  add_(dense, some());
  expect_close(dense, {1, 4, 1, 5, 1, 6});
  copy_(dense, some());
  expect_close(dense, {0, 3, 0, 4, 0, 5});
  EXPECT_THROW(mul_(dense, some()), NotImplementedError);  // of a dense tensor it would make a sparse one
}

}  // namespace
}  // namespace neura::test
