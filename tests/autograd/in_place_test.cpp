#include <cmath>

#include "tests/support/engine.h"

namespace neura {
namespace {

// The in-place cases of PyTorch's documentation and of its source notes. The values are what PyTorch 2.11 gave for the
// same programs.
TEST(InPlace, RowsFilledOneByOne) {
  Tensor w = leaf({1, 2, 3}, {3}), y = zeros({3});
  for (int i = 0; i < 3; ++i) {
    Tensor row = select(y, 0, i);
    copy_(row, tanh(select(w, 0, i)) * (i + 1));
  }
  EXPECT_TRUE(std::string(y.grad_fn()) == "copy_slices");
  sum(y).backward();
  EXPECT_TRUE(is_near(w.grad(), {0.41997429, 0.14130163, 0.02959794}));
}
TEST(InPlace, WriteThroughAChainOfViews) {
  Tensor x = leaf({1, 2, 3, 4, 5, 6}, {2, 3}), b = x * 1, v = select(transpose(b, 0, 1), 0, 1);
  EXPECT_TRUE(v.impl()->base == b.impl());
  v *= 3;
  sum(b * b).backward();
  EXPECT_TRUE(is_near(x.grad(), {2, 36, 6, 8, 90, 12}));
}
TEST(InPlace, BaseWrittenAfterTheView) {
  Tensor x = leaf({1, 2, 3, 4}, {2, 2}), b = x * 1, v = select(b, 0, 0);
  EXPECT_TRUE(std::string(v.grad_fn()) == "select");
  b *= 3;
  EXPECT_TRUE(std::string(v.grad_fn()) == "as_strided");
  sum(v * v).backward();
  EXPECT_TRUE(is_near(x.grad(), {18, 36, 0, 0}));
}
TEST(InPlace, BaseWrittenAfterAViewOfPairsOrOfComplexNumbers) {
  Tensor x = full({3}, 1, {.dtype = complex64}).requires_grad_(), b = x * 1, pairs = view_as_real(b);
  b *= 3;
  sum(select(pairs, 0, 1) * 2).backward();
  const Tensor g = view_as_real(x.grad());
  EXPECT_TRUE(is_near(select(g, 1, 0), {0, 6, 0}) && is_near(select(g, 1, 1), {0, 6, 0}));
  Tensor y = leaf({1, 2, 3, 4, 5, 6}, {6}), c = y * 1, numbers = view_as_complex(view(c, {3, 2}));
  c *= 3;
  sum(real(select(numbers, 0, 1)) + imag(select(numbers, 0, 2)) * 2).backward();
  EXPECT_TRUE(is_near(y.grad(), {0, 0, 3, 0, 0, 6}));
}
TEST(InPlace, PairsOfComplexNumbersWritten) {
  for (const DType d : {complex64, DType::complex128}) {
    Tensor x = full({2}, Scalar(std::complex<double>(1, 2)), {.dtype = d}).requires_grad_(), b = x * 1;
    Tensor pairs = view_as_real(b), imaginary = imag(b), second = select(real(b), 0, 1);
    mul_(imaginary, 3), add_(second, 4);
    EXPECT_TRUE(std::string(b.grad_fn()) == "copy_slices");
    EXPECT_TRUE(is_near(reshape(pairs, {4}), {1, 6, 5, 6}));
    sum(real(b) * real(b) + imag(b)).backward();
    EXPECT_TRUE(is_near(reshape(view_as_real(x.grad()), {4}), {2, 3, 10, 3}));
  }
}
TEST(InPlace, ComplexNumbersOfPairsWritten) {
  Tensor x = leaf({1, 2, 3, 4}, {2, 2}, DType::float64), b = x * 1, numbers = view_as_complex(b);
  mul_(numbers, Scalar(std::complex<double>(0, 2)));
  EXPECT_TRUE(is_near(reshape(b, {4}), {-4, 2, -8, 6}));
  const Tensor g = derivative(sum(b * b * b), x, true);
  EXPECT_TRUE(is_near(reshape(g, {4}), {24, -96, 216, -384}));
  EXPECT_TRUE(is_near(reshape(derivative(sum(g), x), {4}), {48, -96, 144, -192}));
}
TEST(InPlace, PartsOfAConstantWrittenByWhatNeedsAGradient) {
  Tensor w = leaf({1, 2}, {2}), b = full({2}, Scalar(std::complex<double>(3, 5)), {.dtype = complex64});
  Tensor imaginary = imag(b);
  mul_(imaginary, w);
  EXPECT_TRUE(b.requires_grad());
  sum(imag(b) * 2 + real(b)).backward();
  EXPECT_TRUE(is_near(w.grad(), {10, 10}));
}
TEST(InPlace, TwoViewsOfOneBase) {
  Tensor x = leaf({1, 2, 3, 4}, {4}), b = x * 1, v1 = slice(b, 0, 0, 3), v2 = slice(b, 0, 1, 4);
  v1 *= full({3}, 2.0);
  sum(v2 * v2).backward();
  EXPECT_TRUE(is_near(x.grad(), {0, 16, 24, 8}));
}
TEST(InPlace, BaseThatComesToNeedAGradient) {
  Tensor w = leaf({5, 6}, {2}), b = zeros({2, 2}), u = select(b, 0, 1), v = select(b, 0, 0);
  EXPECT_TRUE(!u.requires_grad());
  copy_(v, w * w);
  EXPECT_TRUE(u.requires_grad() && v.requires_grad() && b.requires_grad() && std::string(u.grad_fn()) == "as_strided");
  (sum(b) + sum(u)).backward();
  EXPECT_TRUE(is_near(w.grad(), {10, 12}));
}
TEST(InPlace, ViewWrittenTwiceByAFactorWithGradient) {
  Tensor x = leaf({1, 2, 3, 4}, {4}), w = leaf({2, 3}, {2}), b = x * 1, v = slice(b, 0, 1, 3);
  v *= w, v *= w;
  sum(b * b).backward();
  EXPECT_TRUE(is_near(x.grad(), {2, 64, 486, 8}) && is_near(w.grad(), {128, 972}));
}
TEST(InPlace, ExpandedViewAfterItsBaseWasWritten) {
  Tensor x = leaf({1, 2}, {2}), b = x * 1;
  Tensor e = expand(b, {3, 2});
  b *= 2;
  sum(e * e).backward();
  EXPECT_TRUE(is_near(x.grad(), {24, 48}));
}
TEST(InPlace, ViewOfAViewBothWritten) {
  Tensor x = leaf({1, 2, 3, 4}, {2, 2}), b = x * 1, v = select(b, 0, 0), u = slice(v, 0, 0, 1);
  v *= 3, u *= 5;
  sum(b * b).backward();
  EXPECT_TRUE(is_near(x.grad(), {450, 36, 6, 8}));
}
TEST(InPlace, ViewOfEverything) {
  Tensor x = leaf({1, 2, 3}, {3}), b = zeros({3}), v = slice(b, 0, 0, 3);
  copy_(v, x), v *= 2, b *= 3;
  sum(v * b).backward();
  EXPECT_TRUE(is_near(x.grad(), {72, 144, 216}));
}
TEST(InPlace, HookStaysWithTheValueItSaw) {
  Tensor x = leaf({1, 2}, {2}), y = x * 1;
  register_hook(y, [](const Tensor& g) { return g * 10; });
  y *= 2;
  sum(y).backward();
  EXPECT_TRUE(is_near(x.grad(), {20, 20}));
}
TEST(InPlace, OverwrittenValuesGetZero) {
  Tensor x = leaf({1, 2}, {2}), y = x * 1;
  copy_(y, 0);
  sum(y).backward();
  EXPECT_TRUE(is_near(x.grad(), {0, 0}));
}
TEST(InPlace, ThirdOrderThroughCopySlices) {
  Tensor x = leaf({1, 2, 3}, {3}, DType::float64), b = x * x, v = slice(b, 0, 1, 3);
  mul_(v, select(b.detach(), 0, 0) * 0 + select(x, 0, 0));
  const Tensor g1 = derivative(sum(b * b), x, true), g2 = derivative(sum(g1 * g1), x, true),
               g3 = derivative(sum(g2), x);
  EXPECT_TRUE(is_near(g1, {198, 32, 108}) && is_near(g2, {132328, 28416, 108864}) &&
              is_near(g3, {578472, 145536, 513216}));  // (torch)
}
TEST(InPlace, InPlaceOnItselfHasAGradient) {  // torch refuses these
  Tensor x = leaf({1, 2, 3}, {3}), y = x * 1;
  y.detach(), mul_(y, y);
  sum(y).backward();
  EXPECT_TRUE(is_near(x.grad(), {2, 4, 6}));
  Tensor z = leaf({1, 2, 3}, {3}), p = z * 1, tail = slice(p, 0, 1, 3);
  mul_(tail, slice(p, 0, 0, 2));  // p = [1, 2*1, 3*2]
  sum(p).backward();
  EXPECT_TRUE(is_near(z.grad(), {1 + 2, 1 + 3, 2}));
}
TEST(InPlace, ErrorsNameBothOperations) {
  Tensor x = leaf({1, 2, 3}, {3}), y = exp(x);
  y += 1;
  EXPECT_ERROR(InplaceError,
               "exp: expected its saved result 0 (float32 [3]) at version 0, got version 1: add_ changed it in place",
               sum(y).backward());
  Tensor b = x * 1, s = b * b, d = b.detach();
  d *= 2;
  EXPECT_ERROR(InplaceError, "mul: expected its saved operand 0 (float32 [3]) at version 0, got version 1: mul_",
               sum(s).backward());
  EXPECT_ERROR(InplaceError, "add_: expected no leaf that requires", add_(x, 1));
  Tensor xv = slice(x, 0, 0, 2);
  EXPECT_ERROR(InplaceError, "add_: expected no view of a leaf", add_(xv, 1));
  Tensor p = x * 1, u = unbind(p, 0)[0];
  EXPECT_ERROR(InplaceError, "one of several", mul_(u, 2));
  Tensor q = x * 1, v;
  {
    NoGrad off;
    v = slice(q, 0, 0, 2);
  }
  EXPECT_TRUE(!v.requires_grad());
  EXPECT_ERROR(InplaceError, "made under NoGrad", mul_(v, 2));
  {
    NoGrad off;
    add_(x, 1), mul_(v, 2);
  }
  EXPECT_TRUE(is_near(x, {2, 3, 4}) && is_near(v, {2, 4}));
  EXPECT_ERROR(AutogradError, "expected a floating or complex dtype", full({1}, 1, {.dtype = int64}).requires_grad_());
  EXPECT_ERROR(AutogradError, "backward: expected a tensor of one element or a gradient for it, got float32 [3]",
               (x * 2).backward());
  Tensor r = x.detach();  // the failed write left nothing after
  EXPECT_TRUE(is_near(r, {2, 3, 4}) && r.version() == 1);
}
TEST(InPlace, RetainGraph) {
  Tensor x = leaf({1, 2}, {2}), y = sum(x * x);
  y.backward({}, true), y.backward();
  EXPECT_TRUE(is_near(x.grad(), {4, 8}));
  EXPECT_ERROR(AutogradError, "mul: expected its saved values, but an earlier backward released them", y.backward());
  Tensor z = sum(x + 1);
  z.backward(), z.backward();  // nothing was saved, nothing is missed
}
TEST(InPlace, SavedValuesMakeNoCycle) {
  const auto before = memory::live_blocks();
  for (int i = 0; i < 10; ++i) {
    Tensor w = leaf({1, 2}, {2}), y = zeros({2}), z = y * w;
    y += z, y = tanh(y), y += z;  // torch 2.11 leaks here: 1.2 MB for 100,000 floats
    Tensor c = w * w * 1;
    mul_(c, c), tanh_(c);
    derivative(sum(c), w, true);
  }
  EXPECT_TRUE(memory::live_blocks() == before);
}
}  // namespace
}  // namespace neura
