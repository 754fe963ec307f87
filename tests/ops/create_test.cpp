#include "neura/ops/create/create.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "neura/ops/random/random.h"
#include "neura/ops/shape/view.h"
#include "tests/support/close.h"
#include "tests/support/loop.h"

namespace neura {
using test::error_of;
using test::expect_close;

TEST(Create, LiteralsMeanWhatTheyMeanInPython) {
  EXPECT_EQ(tensor({1, 2}).dtype(), int64);
  EXPECT_EQ(tensor({1., 2.}).dtype(), float32);
  EXPECT_EQ(tensor({true}).dtype(), boolean);
  EXPECT_EQ(tensor({{1, 2}, {3, 4}, {5, 6}}).shape(), (Shape{3, 2}));
  EXPECT_EQ(tensor({{{1.}}, {{2.}}}).shape(), (Shape{2, 1, 1}));
  EXPECT_EQ(tensor(3).dim(), 0);
  EXPECT_EQ(error_of<ShapeError>([] {
              tensor({{1, 2}, {3}});
            }),
            "tensor: expected rows of equal length, got 2 and 1 values");
}

TEST(Create, VectorsKeepTheirElementType) {
  EXPECT_EQ(tensor(std::vector<double>{1, 2}).dtype(), float64);
  EXPECT_EQ(tensor(std::vector<bool>{true, false}).to_vector<bool>(), (std::vector<bool>{true, false}));
  expect_close(tensor(std::vector<float>{1, 2, 3, 4}, {2, 2}, {.dtype = float64}), {1, 2, 3, 4});
  EXPECT_EQ(error_of<ShapeError>([] {
              tensor(std::vector<float>{1, 2, 3}, {2, 2});
            }),
            "tensor: expected 4 values for shape [2, 2], got 3");
}

TEST(Create, FullTakesTheDtypeOfItsValue) {
  EXPECT_EQ(full({2}, 1).dtype(), int64);
  EXPECT_EQ(full({2}, true).dtype(), boolean);
  EXPECT_EQ(full({2}, 1.5).dtype(), float32);
  EXPECT_EQ(full({2}, std::complex<double>(0, 1)).dtype(), complex64);
  expect_close(full({33}, 2.5, {.dtype = float16}), std::vector<double>(33, 2.5));
  EXPECT_EQ(error_of<ShapeError>([] { zeros({2, -1}); }), "zeros: expected sizes of at least 0, got [2, -1]");
}

TEST(Create, FillsEveryWidthAndLength) {
  for (DType d : {uint8, int16, float32, float64, complex128})
    for (std::int64_t n : {0, 1, 7, 8, 9, 31, 33, 100000}) {
      const Tensor t = full({n}, 3, {.dtype = d});
      for (std::int64_t i = 0; i < n; i += 1 + n / 50)
        ASSERT_EQ(Scalar::load(d, static_cast<char*>(t.raw_data()) + i * size_of(d)).real(), 3);
    }
}

TEST(Create, Sequences) {
  expect_close(arange(5), {0, 1, 2, 3, 4});
  EXPECT_EQ(arange(5).dtype(), int64);
  EXPECT_EQ(arange(0, 1, 0.25).dtype(), float32);
  expect_close(arange(5, 0, -2), {5, 3, 1});
  expect_close(linspace(0, 1, 5), {0, 0.25, 0.5, 0.75, 1});
  EXPECT_EQ(linspace(0, 1, 1).numel(), 1);
  expect_close(logspace(0, 3, 4, 2), {1, 2, 4, 8});
  EXPECT_EQ(error_of<ValueError>([] { arange(0, 5, -1); }),
            "arange: expected a step that leads from start to end, got start 0, end 5, step -1");
}

TEST(Create, LinspaceEndsAtItsEndExactly) {
  for (int n : {2, 3, 7, 50, 101}) EXPECT_EQ(linspace(0, 0.1, n, {.dtype = float64}).to_vector<double>().back(), 0.1);
}

TEST(Create, LikeKeepsTheOrderInMemory) {
  const Tensor x = zeros({2, 3, 4}).permute({2, 0, 1});
  EXPECT_EQ(empty_like(x).strides(), x.strides());
  EXPECT_EQ(ones_like(x, {.dtype = int64}).dtype(), int64);
  const Tensor every_other = zeros({4, 4}).slice(1, 0, 4, 2);
  EXPECT_TRUE(empty_like(every_other).is_contiguous());
  EXPECT_EQ(new_full(x, {2}, 7).dtype(), float32);
}

constexpr DType kEvery[] = {boolean, uint8,    int8,    int16,   int32,     int64,
                            float16, bfloat16, float32, float64, complex64, complex128};

TEST(Create, OfEveryDtypeAndShape) {
  for (const DType d : kEvery) {
    SCOPED_TRACE(name(d));
    for (const Shape& s : {Shape{}, Shape{0}, Shape{3}, Shape{2, 0, 3}, Shape{2, 3, 4}}) {
      const TensorOptions o{.dtype = d};
      const std::pair<Tensor, double> all[] = {{zeros(s, o), 0},
                                               {ones(s, o), 1},
                                               {full(s, 1, o), 1},
                                               {full(s, true, o), 1},
                                               {full(s, 1.0, o), 1},
                                               {zeros_like(empty(s, o)), 0},
                                               {ones_like(empty(s, o)), 1},
                                               {full_like(empty(s, o), 1), 1},
                                               {new_full(zeros({1}), s, 1, {.dtype = d}), 1}};
      for (const auto& [t, value] : all) {
        EXPECT_TRUE(t.dtype() == d && t.shape() == s && t.device().is_cpu() && t.is_contiguous() && t.is_leaf());
        test::for_each_index(s, [&, v = value, &t = t](const Shape& i) {
          EXPECT_EQ(test::scalar_at(t, i).real(), v);
          EXPECT_EQ(test::scalar_at(t, i).imag(), 0);
        });
      }
    }
  }
  EXPECT_EQ(zeros({2}).dtype(), float32);  // by default, on the cpu
  EXPECT_EQ(linspace(0, 1, 3).dtype(), float32);
}
TEST(Create, FractionsAreCutOffAndANegativeNumberWrapsOnce) {
  EXPECT_THROW(full({1}, 300, {.dtype = uint8}), ValueError);
  EXPECT_EQ(full({1}, -1, {.dtype = uint8}).item<int>(), 255);
  EXPECT_EQ(full({1}, 2.9, {.dtype = int32}).item<int>(), 2);
  EXPECT_TRUE(full({1}, 0.5, {.dtype = boolean}).item<bool>());
  EXPECT_TRUE(std::isinf(full({1}, 1e6, {.dtype = float16}).item<double>()));
}
TEST(Create, NumbersThatADtypeDoesNotHoldAreRefusedByEveryForm) {
  const double nan = std::nan(""), inf = INFINITY;
  const std::pair<DType, std::vector<double>> cases[] = {{uint8, {256, 300, -256, nan, inf, -inf}},
                                                         {int8, {128, -129, 1e30, nan}},
                                                         {int16, {32768, -32769, inf}},
                                                         {int32, {2147483648.0, -2147483649.0, nan, inf}},
                                                         {int64, {9223372036854775808.0, -1e19, nan, -inf}}};
  const auto expect_refused = [](const auto& make, const std::string& what) {
    const std::string said = error_of<ValueError>(make);
    EXPECT_NE(said.find("expected a number that "), said.npos) << what << ": " << said;
  };
  for (const auto& [d, values] : cases)
    for (const double v : values) {
      const std::string what = std::string(name(d)) + " of " + std::to_string(v);
      expect_refused([&, d = d] { tensor(std::vector<double>{1, v}, {2}, {.dtype = d}); }, what);
      expect_refused([&, d = d] { tensor({1., v}, {.dtype = d}); }, what);
      expect_refused([&, d = d] { full({2}, v, {.dtype = d}); }, what);
      expect_refused([&, d = d] { scalar_tensor(v, {.dtype = d}); }, what);
      expect_refused([&, d = d] { full({2}, 1, {.dtype = d}).fill_(v); }, what);
    }
  const std::complex<double> c(1, 2);
  for (const DType d : {float32, float16, int64, uint8}) {
    expect_refused([&] { tensor(std::vector<std::complex<double>>{c}, {1}, {.dtype = d}); }, name(d));
    expect_refused([&] { full({1}, c, {.dtype = d}); }, name(d));
  }
  EXPECT_EQ(tensor(std::vector<std::complex<double>>{{2, 0}}, {1}, {.dtype = float32}).item<float>(), 2);
  EXPECT_EQ(tensor(std::vector<double>{-128, 127}, {2}, {.dtype = int8}).to_vector<std::int8_t>(),
            (std::vector<std::int8_t>{-128, 127}));
}
template <class T> void expect_kept(std::vector<T> values) {
  const Tensor t = tensor(values, {std::int64_t(values.size()), 1});
  EXPECT_EQ(t.dtype(), dtype_of<T>);
  EXPECT_EQ(t.strides(), (Shape{1, 1}));
  EXPECT_EQ(t.to_vector<T>(), values);
}
TEST(Create, VectorsOfEveryTypeKeepTheirExactValues) {
  expect_kept<bool>({true, false, true});
  expect_kept<std::uint8_t>({0, 255});
  expect_kept<std::int8_t>({-128, 127});
  expect_kept<std::int16_t>({-32768, 32767});
  expect_kept<std::int32_t>({INT32_MIN, 0, INT32_MAX});
  expect_kept<std::int64_t>({INT64_MIN, -1, INT64_MAX});
  expect_kept<float>({-0.1f, 3.4e38f, 1e-45f});
  expect_kept<double>({0.1, 1.7e308, 5e-324});
  expect_kept<std::complex<float>>({{1, -2}, {0.5f, 0}});
  expect_kept<std::complex<double>>({{0.1, 0.2}});
  expect_close(tensor(std::vector<int>{1, -2}, {2}, {.dtype = float64}), {1, -2});
  EXPECT_EQ(tensor(std::vector<double>{1.9, -1.9}, {2}, {.dtype = int32}).to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{1, -1}));
}
TEST(Create, SequencesOfEveryDtype) {
  for (const DType d : {int8, uint8, int16, int32, int64, float16, bfloat16, float32, float64}) {
    SCOPED_TRACE(name(d));
    const TensorOptions o{.dtype = d};
    expect_close(arange(1, 8, 3, o), {1, 4, 7});
    expect_close(arange(3, o), {0, 1, 2});
    expect_close(linspace(0, 8, 5, o), {0, 2, 4, 6, 8});
    expect_close(eye(2, o), {1, 0, 0, 1});
    expect_close(eye(2, 3, o), {1, 0, 0, 0, 1, 0});
    expect_close(eye(3, 1, o), {1, 0, 0});
    EXPECT_EQ(linspace(3, 9, 0, o).shape(), (Shape{0}));
    expect_close(linspace(3, 9, 1, o), {3});
    expect_close(linspace(3, 9, 2, o), {3, 9});
    if (d == uint8) continue;
    expect_close(arange(3, -4, -3, o), {3, 0, -3});
  }
  expect_close(arange(0, 1, 0.25), {0, 0.25, 0.5, 0.75});
  expect_close(arange(1, 0, -0.5, {.dtype = float64}), {1, 0.5});
  EXPECT_EQ(arange(3, 3).numel(), 0);
  EXPECT_THROW(arange(0, 5, 0), ValueError);
  EXPECT_THROW(arange(5, 0, 1), ValueError);
  EXPECT_THROW(arange(0, std::numeric_limits<double>::infinity()), ValueError);
  EXPECT_THROW(arange(0, std::nan("")), ValueError);
  EXPECT_THROW(linspace(0, 1, -1), ValueError);
  EXPECT_THROW(eye(-1), Error);
}
TEST(Create, LikeTakesWhatIsNotGiven) {
  const Tensor model = zeros({2, 3}, {.dtype = float16});
  for (const Tensor& t : {zeros_like(model), full_like(model, 2), rand_like(model), randn_like(model)})
    EXPECT_TRUE(t.dtype() == float16 && t.shape() == model.shape());
  EXPECT_EQ(randn_like(model, {.dtype = float64}).dtype(), float64);
  EXPECT_TRUE(rand_like(model, {.requires_grad = true}).requires_grad());
  EXPECT_FALSE(zeros_like(ones({1}).requires_grad_()).requires_grad());
}

TEST(Create, RequiresGradMakesALeaf) {
  EXPECT_TRUE(zeros({2}, {.requires_grad = true}).requires_grad());
  EXPECT_EQ(error_of<AutogradError>([] { zeros({2}, {.dtype = int64, .requires_grad = true}); }).substr(0, 13),
            "requires_grad");
}

TEST(Create, Triangles) {
  expect_close(tril_indices(2, 3), {0, 1, 1, 0, 0, 1});
  expect_close(triu_indices(2, 3, 1), {0, 0, 1, 1, 2, 2});
  expect_close(eye(2, 3), {1, 0, 0, 0, 1, 0});
}

}  // namespace neura
