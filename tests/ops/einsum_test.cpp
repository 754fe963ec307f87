// Equations: against a sum over every index, PyTorch's stored answers, gradients, errors.
#include "neura/ops/product/einsum.h"

#include <gtest/gtest.h>

#include "tests/support/conformance.h"
#include "tests/support/gradients.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

using Results = std::vector<Tensor>;

Tensor x(const Shape& s, std::uint64_t seed = 0) { return sample(s, DType::float64, {.seed = seed}); }

TEST(Einsum, ProductsAndTransposes) {
  const Tensor a = x({3, 4}), b = x({4, 5}, 1);
  expect_close(einsum("ij,jk->ik", {a, b}), a.matmul(b));
  expect_close(einsum("ij,jk", {a, b}), a.matmul(b));
  expect_close(einsum("ji,jk->ki", {a.t().contiguous().t(), x({3, 5}, 2)}), x({3, 5}, 2).t().matmul(a));
  expect_close(einsum("ij->ji", {a}), a.t());
  expect_close(einsum("b a", {a}), a.t());
  expect_close(einsum("bij,bjk->bik", {x({2, 3, 4}), x({2, 4, 5}, 1)}), x({2, 3, 4}).matmul(x({2, 4, 5}, 1)));
}
TEST(Einsum, EllipsisBroadcastsAndIsSummedWhereTheResultHasNone) {
  const Tensor a = x({2, 1, 3, 4}), b = x({5, 4, 6}, 1);
  expect_close(einsum("...ij,...jk->...ik", {a, b}), a.matmul(b));
  expect_close(einsum("...ij,...jk", {a, b}), a.matmul(b));
  expect_close(einsum("...ij->ij", {a}), a.sum({0, 1}));
  expect_close(einsum("i...->...", {a}), a.sum(0));
}
TEST(Einsum, RepeatedLettersAreTheDiagonal) {
  const Tensor a = x({3, 3});
  const double trace = a[0][0].item<double>() + a[1][1].item<double>() + a[2][2].item<double>();
  EXPECT_DOUBLE_EQ(einsum("ii", {a}).item<double>(), trace);
  EXPECT_EQ(einsum("ii->i", {a}).shape(), Shape({3}));
  EXPECT_EQ(einsum("iji->ji", {x({2, 4, 2})}).shape(), Shape({4, 2}));
}
TEST(Einsum, SeveralOperandsAndSizesOfOne) {
  const Tensor a = x({3, 4}), b = x({4, 5}, 1), c = x({5, 2}, 2);
  expect_close(einsum("ij,jk,kl->il", {a, b, c}), a.matmul(b).matmul(c));
  expect_close(einsum("ij,kj->ik", {a, x({1, 1}, 3)}), einsum("ij,kj->ik", {a, x({1, 1}, 3).expand({1, 4})}));
}
TEST(Einsum, Gradients) {
  expect_gradients([](const std::vector<Tensor>& t) -> Results { return {einsum("bij,jk,bk->bi", t)}; },
                   {x({2, 3, 4}), x({4, 5}, 1), x({2, 5}, 2)});
  expect_gradients([](const Tensor& t) { return einsum("ii->i", {t}); }, x({3, 3}), {.second = false});
}
TEST(Einsum, Errors) {
  const Tensor a = x({3, 4});
  EXPECT_EQ(error_of<ValueError>([&] { einsum("ij,jk->ik", {a}); }),
            "einsum: expected 2 operands for \"ij,jk->ik\", got 1");
  EXPECT_EQ(error_of<ValueError>([&] { einsum("ij->ii", {a}); }), "einsum: the result has i twice in \"ij->ii\"");
  EXPECT_EQ(error_of<ValueError>([&] { einsum("ij->k", {a}); }),
            "einsum: the result has k, which no operand has in \"ij->k\"");
  EXPECT_EQ(error_of<ValueError>([&] { einsum("i.j", {a}); }), "einsum: expected three dots in \"i.j\"");
  EXPECT_EQ(error_of<ShapeError>([&] { einsum("ijk", {a}); }),
            "einsum: expected an operand of 3 dimensions for \"ijk\" in \"ijk\", got float64 [3, 4]");
  EXPECT_EQ(error_of<ShapeError>([&] {
              einsum("ij,ij", {a, x({3, 5})});
            }),
            "einsum: expected one size for j, got 4 and 5 (float64 [3, 5])");
}
TEST(Einsum, AnswersArePyTorchs) {
  expect_conformance("einsum", {{"einsum", [](const ConformanceCase& c) -> Results {
                                   std::vector<Tensor> operands;
                                   for (const Value& v : c.input.items) operands.push_back(v.data);
                                   return {einsum(c.args[0].word, operands)};
                                 }}});
}

}  // namespace
}  // namespace neura::test
