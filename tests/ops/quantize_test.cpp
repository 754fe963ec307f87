// Quantising, dequantising, fake quantisation with its gradient, and products of 8-bit integers.
#include "neura/ops/quant/quantize.h"

#include <cmath>

#include "neura/autograd/autograd.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/quant/int8_product.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

Tensor number(float scale) { return tensor({scale}); }
Tensor whole(std::int64_t zero) { return full({1}, zero, {.dtype = int32}); }
const Tensor kPoints = tensor({-9.F, -4.5F, -4.F, -0.75F, -0.25F, 0.F, 0.25F, 0.75F, 1.25F, 3.25F, 3.75F, 4.F});

TEST(FakeQuantize, LiesOnTheGridAndRoundsHalvesToEven) {
  const Tensor y = fake_quantize_per_tensor_affine(kPoints, 0.5, 0, -8, 7);
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{-4, -4, -4, -1, 0, 0, 0, 1, 1, 3, 3.5F, 3.5F}));
  const Tensor moved = fake_quantize_per_tensor_affine(kPoints, 0.5, 10, 0, 15);
  EXPECT_EQ(moved.to_vector<float>(), (std::vector<float>{-5, -4.5F, -4, -1, 0, 0, 0, 1, 1, 2.5F, 2.5F, 2.5F}));
}
TEST(FakeQuantize, PassesTheGradientInsideOfTheRangeAlone) {
  for (const DType dtype : {float32, float64, float16, bfloat16}) {
    Tensor x = kPoints.clone().to(dtype).requires_grad_();
    const Tensor g = arange(1, 13, 1, {.dtype = dtype});
    fake_quantize_per_tensor_affine(x, 0.5, 0, -8, 7).backward(g);
    EXPECT_EQ(x.grad().to(float64).to_vector<double>(), (std::vector<double>{0, 0, 3, 4, 5, 6, 7, 8, 9, 10, 0, 0}))
        << name(dtype);
  }
}
TEST(FakeQuantize, OfChannelsIsThatOfEachChannel) {
  const Tensor scale = tensor({0.5F, 0.125F, 2.F}), zero = tensor<std::int32_t>({0, 3, -4});
  for (const int axis : {0, 1, -1}) {
    for (const DType dtype : {float32, float64}) {
      Tensor x = sample({3, 3, 3}, dtype, {.low = -4, .high = 4}).requires_grad_();
      const Tensor y = fake_quantize_per_channel_affine(x, scale, zero, axis, -8, 7);
      y.backward(ones_like(y));
      for (int i = 0; i < 3; ++i) {
        Tensor part = x.detach().select(axis, i).clone().requires_grad_();
        const Tensor want =
            fake_quantize_per_tensor_affine(part, scale[i].item<float>(), zero[i].item<std::int64_t>(), -8, 7);
        want.backward(ones_like(want));
        expect_same(y.detach().select(axis, i), want.detach());
        expect_same(x.grad().select(axis, i), part.grad());
      }
    }
  }
}
TEST(FakeQuantize, HasASecondDerivativeOfZero) {
  Tensor x = kPoints.clone().requires_grad_();
  const Tensor y = fake_quantize_per_tensor_affine(x, 0.5, 0, -8, 7);
  const Tensor first = grad(sum(y * y), x, {}, {.create_graph = true});
  const Tensor second = grad(sum(first), x);  // of 2 y dy/dx: 2 where nothing was cut off
  EXPECT_EQ(second.to_vector<float>(), (std::vector<float>{0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 0, 0}));
}
TEST(FakeQuantize, RefusesWhatDoesNotFit) {
  const Tensor x = zeros({2, 3});
  EXPECT_EQ(error_of<ValueError>([&] { fake_quantize_per_tensor_affine(x, 1., 0, 5, 4); }),
            "fake_quantize_per_tensor_affine: expected quant_min to be at most quant_max, got 5 and 4");
  EXPECT_EQ(
      error_of<ShapeError>(
          [&] { fake_quantize_per_channel_affine(x, ones({2}), zeros({2}, {.dtype = int32}), 1, 0, 1); }),
      "fake_quantize: expected scale and zero_point to have 3 elements, one for each place along axis 1, got float32 "
      "[2] and int32 [2]");
  EXPECT_EQ(error_of<DTypeError>([&] { fake_quantize_per_tensor_affine(x.to(int32), 1., 0, 0, 1); }),
            "fake_quantize: expected a floating dtype, got int32 [2, 3]; convert it with .to()");
  EXPECT_EQ(error_of<NotImplementedError>(
                [&] { fake_quantize_per_tensor_affine(x, ones({1}).requires_grad_(), whole(0), 0, 1); }),
            "fake_quantize_per_tensor_affine: expected a scale without gradient, got one that requires it; detach it");
}

TEST(Quantize, RefusesAZeroPointOutsideOfTheRange) {
  const Tensor x = tensor({1.F, 2.F}), one = ones({1});
  EXPECT_EQ(error_of<ValueError>([&] { quantize_affine(x, one, whole(16777217)); }),
            "quantize_affine: expected zero_point within quant_min and quant_max, -128 and 127, got 16777217");
  EXPECT_EQ(error_of<ValueError>([&] { requantize_affine(x.to(int32), one, whole(-1), {.dtype = uint8}); }),
            "requantize_affine: expected zero_point within quant_min and quant_max, 0 and 255, got -1");
  EXPECT_EQ(error_of<ValueError>([&] { fake_quantize_per_tensor_affine(x, 1., 300, 0, 255); }),
            "fake_quantize_per_tensor_affine: expected zero_point within quant_min and quant_max, 0 and 255, got 300");
  EXPECT_EQ(error_of<ValueError>([&] {
              fake_quantize_per_channel_affine(x, ones({2}), tensor<std::int32_t>({3, 300}), 0, 0, 255);
            }),
            "fake_quantize_per_channel_affine: expected zero_point within quant_min and quant_max, 0 and 255, got 300");
  expect_same(fake_quantize_per_tensor_affine(x, one, whole(300), 0, 255), tensor({-45.F, -45.F}));  // as PyTorch's
}
TEST(Quantize, RefusesAnAxisThatIsNotThere) {
  const Tensor zero = zeros({1}, {.dtype = int32});
  EXPECT_EQ(error_of<IndexError>([&] { fake_quantize_per_channel_affine(ones({}), ones({1}), zero, 0, 0, 255); }),
            "fake_quantize_per_channel_affine: expected an input with an axis 0, got float32 []; leave the axis out");
  EXPECT_EQ(error_of<IndexError>(
                [&] { fake_quantize_per_channel_affine(ones({1}), ones({1}), zero, std::int64_t{1} << 32, 0, 255); }),
            "fake_quantize_per_channel_affine: expected a dimension from -1 to 0, got 4294967296");
}

TEST(Quantize, ErrsByHalfAStepAtMostForEveryWidth) {
  for (const int bits : {4, 5, 6, 7, 8})
    for (const bool is_signed : {true, false}) {
      const std::int64_t low = is_signed ? -(1 << (bits - 1)) : 0, high = low + (1 << bits) - 1;
      const Tensor x = sample({40, 7}, float32, {.low = -3, .high = 3, .seed = std::uint64_t(bits)});
      const float scale = 6.F / float(high - low);
      const std::int64_t zero = low + (high - low + 1) / 2;
      const QuantizeOptions options{{}, low, high, is_signed ? int8 : uint8};
      const Tensor q = quantize_affine(x, number(scale), whole(zero), options);
      const Tensor y = dequantize_affine(q, number(scale), whole(zero));
      EXPECT_GE(amin(q.to(int32)).item<int>(), low);
      EXPECT_LE(amax(q.to(int32)).item<int>(), high);
      const Tensor inside = le(neura::abs(x), 2.9F - scale);  // the rest may have been cut off
      EXPECT_LE(amax(where(inside, neura::abs(y - x), zeros({}))).item<float>(), 0.5F * scale * 1.0001F) << bits;
      expect_same(y, fake_quantize_per_tensor_affine(x, scale, zero, low, high));
    }
}
TEST(Quantize, TakesEveryFloatingDtypeAndLayout) {
  const Tensor x = kPoints.view({3, 4}), scale = number(0.5F), zero = whole(2);
  const Tensor want = quantize_affine(x, scale, zero);
  for (const DType dtype : {float64, float16, bfloat16}) expect_same(quantize_affine(x.to(dtype), scale, zero), want);
  expect_same(quantize_affine(x.t(), scale, zero), want.t().contiguous());
  expect_same(dequantize_affine(want.t(), scale, zero), dequantize_affine(want, scale, zero).t().contiguous());
  EXPECT_EQ(quantize_affine(zeros({0, 3}), scale, zero).numel(), 0);
  EXPECT_EQ(quantize_affine(zeros({}), scale, zero).item<int>(), 2);
}
TEST(Quantize, DequantisesSumsOfChannelsWithoutZeroPoints) {
  const Tensor sums = arange(0, 40, 1, {.dtype = int32}).view({2, 20}), scale = arange(1, 21, 1, {.dtype = float32});
  expect_same(dequantize_affine(sums, scale, {}, 1), sums.to(float32) * scale);
  expect_same(requantize_affine(sums, scale, zeros({20}, {.dtype = int32}), {.axis = 1, .dtype = uint8}),
              clamp(sums * scale.to(int32), {0, 255}).to(uint8));
}
TEST(Quantize, RefusesARangeThatTheDtypeDoesNotHold) {
  const Tensor x = zeros({2});
  EXPECT_EQ(error_of<ValueError>([&] {
              quantize_affine(x, number(1), whole(0), {{}, 0, 255, int8});
            }),
            "quantize_affine: expected quant_min and quant_max to be within what int8 holds, got 0 and 255");
  EXPECT_EQ(error_of<DTypeError>([&] { quantize_affine(x, number(1), whole(0), {.dtype = int16}); }),
            "quantize_affine: expected dtype to be int8 or uint8, got int16");
  EXPECT_EQ(error_of<DTypeError>([&] { requantize_affine(x, number(1), whole(0)); }),
            "requantize_affine: expected int32, the sums of a product, got float32 [2]");
  EXPECT_EQ(error_of<DTypeError>([&] { dequantize_affine(x, number(1), whole(0)); }),
            "dequantize_affine: expected int8, uint8 or int32, got float32 [2]");
}

TEST(IntegerProduct, EqualsTheProductOfWideIntegers) {
  for (const DType left : {int8, uint8})
    for (const DType right : {int8, uint8}) {
      const Tensor a = randint(left == int8 ? -128 : 0, left == int8 ? 128 : 256, {9, 37}, {.dtype = left});
      const Tensor b = randint(right == int8 ? -128 : 0, right == int8 ? 128 : 256, {37, 21}, {.dtype = right});
      const Tensor want = matmul(a.to(int32), b.to(int32));
      expect_same(_int_mm(a, b), want);
      expect_same(_int_mm(b.t(), a.t()), want.t().contiguous());
      if (right == int8) expect_same(integer_matmul(a, b, integer_pack(b)), want);
    }
}
TEST(IntegerProduct, TakesBatchesAndNothing) {
  const Tensor a = randint(-128, 128, {2, 1, 3, 5}, {.dtype = int8});
  const Tensor b = randint(0, 256, {4, 5, 6}, {.dtype = uint8});
  expect_same(integer_matmul(a, b), matmul(a.to(int32), b.to(int32)));
  const Tensor none = zeros({3, 0}, {.dtype = int8});
  expect_same(integer_matmul(none, none.t()), zeros({3, 3}, {.dtype = int32}));
  EXPECT_EQ(integer_matmul(none.t(), none).numel(), 0);
  for (const Shape& sizes : {Shape{0, 5}, Shape{5, 0}, Shape{0, 0}}) {  // [k, n]
    const Tensor right = zeros(sizes, {.dtype = int8}), left = zeros({2, sizes[0]}, {.dtype = uint8});
    expect_same(integer_matmul(left, right, integer_pack(right)), zeros({2, sizes[1]}, {.dtype = int32}));
  }
}
TEST(IntegerProduct, RefusesWhatDoesNotFit) {
  const Tensor a = zeros({2, 3}, {.dtype = int8});
  EXPECT_EQ(error_of<ShapeError>([&] { integer_matmul(a, a); }),
            "integer_matmul: expected as many columns as rows, got int8 [2, 3] and int8 [2, 3]");
  EXPECT_EQ(error_of<DTypeError>([&] { integer_matmul(a.to(int32), a.t()); }),
            "integer_matmul: expected int8 or uint8, got int32 [2, 3]; see neura.quantize_affine");
  EXPECT_EQ(error_of<ShapeError>([&] { _int_mm(a[0], a.t()); }),
            "_int_mm: expected matrices, got int8 [3] and int8 [3, 2]; see neura.integer_matmul");
  EXPECT_EQ(error_of<ShapeError>([&] { integer_matmul(a, a.t(), zeros({4}, {.dtype = uint8})); }),
            "integer_matmul: expected packed to be integer_pack of an int8 matrix, got uint8 [4] for int8 "
            "[3, 2]");
  EXPECT_EQ(error_of<DTypeError>([&] { integer_pack(a.to(uint8)); }),
            "integer_pack: expected int8, got uint8 [2, 3]; see neura.quantize_affine");
}

}  // namespace
}  // namespace neura::test
