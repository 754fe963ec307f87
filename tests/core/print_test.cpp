// Texts as PyTorch 2.11 writes them, but for the dtypes' prefix.
#include "neura/core/print.h"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/shape/view.h"
#include "tests/support/close.h"

namespace neura {
namespace {
constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
}

TEST(Print, WholeNumbersOfAFloatingDtypeHaveAPointOnly) {
  EXPECT_EQ(tensor({1., 2., 3.}).str(), "tensor([1., 2., 3.])");
  EXPECT_EQ(tensor({{1., -2.}, {30., 4.}}).str(), "tensor([[ 1., -2.],\n        [30.,  4.]])");
  EXPECT_EQ(zeros({2, 2}).str(), "tensor([[0., 0.],\n        [0., 0.]])");
}

TEST(Print, FractionsHaveFourDigits) {
  EXPECT_EQ(tensor({1.5, -2.25, 1e3}).str(), "tensor([   1.5000,   -2.2500, 1000.0000])");
  EXPECT_EQ(tensor({0.1, 0.12345678}).str(), "tensor([0.1000, 0.1235])");
  EXPECT_EQ(tensor(2.5).str(), "tensor(2.5000)");
}

TEST(Print, NumbersThatDifferWidelyAreScientific) {
  EXPECT_EQ(tensor({1e-5, 1.}).str(), "tensor([1.0000e-05, 1.0000e+00])");
  EXPECT_EQ(tensor({1., 1e9}).str(), "tensor([1.0000e+00, 1.0000e+09])");
  EXPECT_EQ(tensor({1e-5, 2e-5}).str(), "tensor([1.0000e-05, 2.0000e-05])");
  EXPECT_EQ(tensor({1., 1001.}).str(), "tensor([1.0000e+00, 1.0010e+03])");
  EXPECT_EQ(tensor({1., 1000.}).str(), "tensor([   1., 1000.])");
}

TEST(Print, TheNotationThatIsAskedForSetsTheWidth) {
  const Tensor x = tensor({3.14159265, 0.00001234, 1234.5});
  EXPECT_EQ(repr(x, {.precision = 2, .sci_mode = false}), "tensor([   3.14,    0.00, 1234.50])");
  EXPECT_EQ(repr(x, {.precision = 2, .sci_mode = true}), "tensor([3.14e+00, 1.23e-05, 1.23e+03])");
  EXPECT_EQ(repr(tensor({1., 200.}), {.precision = 2, .sci_mode = true}), "tensor([1.00e+00, 2.00e+02])");
  const std::complex<double> a(1.5, 2), b(1e-6, 3);
  EXPECT_EQ(repr(tensor({a, b}), {.precision = 2, .sci_mode = false}), "tensor([1.50+2.j, 0.00+3.j])");
}

TEST(Print, NanAndInfinityHaveNoPoint) {
  EXPECT_EQ(tensor({nan, inf, -inf, 1.}).str(), "tensor([nan, inf, -inf, 1.])");
  EXPECT_EQ(tensor({nan, 0.5}).str(), "tensor([   nan, 0.5000])");
}

TEST(Print, IntegersAndBool) {
  EXPECT_EQ(tensor({1, -20, 3}).str(), "tensor([  1, -20,   3])");
  EXPECT_EQ(tensor({true, false}).str(), "tensor([ True, False])");
  EXPECT_EQ(tensor({1, 2}, {.dtype = int32}).str(), "tensor([1, 2], dtype=int32)");
  EXPECT_EQ(tensor(7).str(), "tensor(7)");
}

TEST(Print, DtypesThatAreNotUsualAreNamed) {
  EXPECT_EQ(tensor({1., 2.}, {.dtype = float64}).str(), "tensor([1., 2.], dtype=float64)");
  EXPECT_EQ(tensor({1.5, 2.}, {.dtype = bfloat16}).str(), "tensor([1.5000, 2.0000], dtype=bfloat16)");
  EXPECT_EQ(repr(tensor({1.}, {.dtype = float16}), get_printoptions(), "torch."), "tensor([1.], dtype=torch.float16)");
}

TEST(Print, ComplexNumbers) {
  const std::complex<double> a(1, 2), b(0.5, -3);
  EXPECT_EQ(tensor({a, b}).str(), "tensor([1.0000+2.j, 0.5000-3.j])");
  EXPECT_EQ(tensor(a).str(), "tensor(1.+2.j)");
}

TEST(Print, EmptyTensors) {
  EXPECT_EQ(zeros({0}).str(), "tensor([])");
  EXPECT_EQ(zeros({2, 0}).str(), "tensor([], size=(2, 0))");
  EXPECT_EQ(zeros({0}, {.dtype = int64}).str(), "tensor([], dtype=int64)");
  EXPECT_EQ(zeros({2, 0}, {.dtype = boolean}).str(), "tensor([], size=(2, 0), dtype=bool)");
}

TEST(Print, MoreThanAThousandElementsAreSummarised) {
  EXPECT_EQ(arange(1001).str(), "tensor([   0,    1,    2,  ...,  998,  999, 1000])");
  EXPECT_EQ(reshape(arange(2000), {1000, 2}).str(),
            "tensor([[   0,    1],\n        [   2,    3],\n        [   4,    5],\n        ...,\n        [1994, 1995],\n"
            "        [1996, 1997],\n        [1998, 1999]])");
  EXPECT_EQ(reshape(zeros({1001 * 7}), {1001, 7}).str(),
            "tensor([[0., 0., 0.,  ..., 0., 0., 0.],\n        [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "        [0., 0., 0.,  ..., 0., 0., 0.],\n        ...,\n        [0., 0., 0.,  ..., 0., 0., 0.],\n"
            "        [0., 0., 0.,  ..., 0., 0., 0.],\n        [0., 0., 0.,  ..., 0., 0., 0.]])");
}

TEST(Print, LinesBreakAtEightyColumns) {
  EXPECT_EQ(arange(30).str(),
            "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
            "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])");
  EXPECT_EQ(zeros({2, 1, 2}).str(), "tensor([[[0., 0.]],\n\n        [[0., 0.]]])");
}

TEST(Print, GradientsAreMentioned) {
  Tensor x = tensor({1., 2.}).requires_grad_();
  EXPECT_EQ(x.str(), "tensor([1., 2.], requires_grad=True)");
  EXPECT_EQ(mul(x, 2).str(), "tensor([2., 4.], grad_fn=<MulBackward0>)");
}

TEST(Print, ViewsShowWhatTheyShow) {
  EXPECT_EQ(tensor({{1, 2}, {3, 4}}).t().str(), "tensor([[1, 3],\n        [2, 4]])");
  std::ostringstream s;
  s << tensor({{1, 2}, {3, 4}}).select(1, 1);
  EXPECT_EQ(s.str(), "tensor([2, 4])");
}

TEST(Print, OptionsChangeTheText) {
  EXPECT_EQ(repr(tensor({1.5}), {.precision = 2}), "tensor([1.50])");
  EXPECT_EQ(repr(tensor({1.5}), {.sci_mode = true}), "tensor([1.5000e+00])");
  EXPECT_EQ(repr(arange(10), {.threshold = 5, .edgeitems = 1}), "tensor([0,  ..., 9])");
  EXPECT_EQ(test::error_of<ValueError>([] { set_printoptions({.precision = -1}); }),
            "set_printoptions: expected numbers of at least 0 and a precision of at most 60");
}

TEST(Print, DebugTextHasTheGeometry) {
  const std::string s = tensor({{1, 2}, {3, 4}}).t().debug_str();
  for (const char* word : {"strides [1, 2]", "offset 0", "storage of 32 bytes", "requires_grad false", "a view"})
    EXPECT_NE(s.find(word), std::string::npos) << word << " in " << s;
  EXPECT_EQ(Tensor().debug_str(), "undefined tensor");
}

TEST(Print, DebugTextOfASliceThatTracksGradients) {
  const Tensor x = tensor({{1., 2., 3.}, {4., 5., 6.}}).requires_grad_(), y = x * 2;
  EXPECT_EQ(y.slice(1, 1, 3).debug_str(),
            "tensor([[ 4.,  6.],\n        [10., 12.]], grad_fn=<SliceBackward0>)\n"
            "float32 [2, 2] on cpu, strides [3, 1], offset 1\n"
            "storage of 24 bytes, version 0, a view\n"
            "requires_grad true, grad_fn slice\n");
}

}  // namespace neura
