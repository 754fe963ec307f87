#include "neura/ops/create.h"

#include <gtest/gtest.h>

#include "neura/ops/view.h"
#include "tests/support/close.h"

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
