// Indexing against plain loops, where the stored answers (tests/golden) do not look.
#include "neura/ops/index/index.h"
#include "neura/ops/pointwise/composed.h"

#include <gtest/gtest.h>

#include "neura/core/parallel.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/random/random.h"
#include "neura/ops/shape/view.h"
#include "tests/support/close.h"
#include "tests/support/gradients.h"

namespace neura {
namespace {
using test::error_of;
using test::expect_close;
using test::expect_gradients;
using test::expect_same;

Tensor numbers(const Shape& s, DType d = float64) { return reshape(arange(s.numel(), {.dtype = d}), s); }
Tensor uniform(const Shape& s) { return rand(s, {.dtype = float64}) + 0.5; }
double at(const Tensor& t, std::initializer_list<std::int64_t> i) {
  Tensor e = t;
  for (std::int64_t k : i) e = e.select(0, k);
  return e.to(float64).item<double>();
}
}  // namespace

TEST(Index, SelectOfEveryLayoutEqualsALoop) {
  const Tensor x = numbers({5, 6, 7});
  const Tensor i = tensor({3, 0, 3, 2});
  for (const Tensor& v :
       {x, x.transpose(0, 2), x.transpose(1, 2), x.slice(2, 0, 7, 2), x.select(1, 2).expand({5, 5, 7})})
    for (int d = 0; d < 3; ++d) {
      const Tensor y = index_select(v, d, i);
      for (std::int64_t k = 0; k < 4; ++k) expect_same(contiguous(y.select(d, k)), contiguous(v.select(d, at(i, {k}))));
    }
}

TEST(Index, EveryDtypeIsSelectedAndSummed) {
  for (DType d :
       {boolean, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64, complex64, complex128}) {
    const Tensor x = tensor({1, 0, 1}).to(d), i = tensor({2, 2, 0}, {.dtype = int32});
    EXPECT_EQ(index_select(x, 0, i).dtype(), d);
    const Tensor y = index_add(x, 0, i, tensor({1, 1, 1}).to(d));
    EXPECT_EQ(at(y.to(float32), {0}), d == boolean ? 1 : 2) << name(d);
    EXPECT_EQ(at(y.to(float32), {2}), d == boolean ? 1 : 3) << name(d);
  }
}

TEST(Index, AnIndexOutsideIsNamedAndNothingIsWritten) {
  Tensor x = zeros({3, 2});
  const Tensor i = tensor({0, 7}), g = tensor({{0, 1}, {5, 0}});
  EXPECT_EQ(error_of<IndexError>([&] { index_select(x, 0, i); }).substr(0, 56),
            "index_select: expected indices from 0 to 2, got 7 (float");
  EXPECT_EQ(error_of<IndexError>([&] {
              index_add_(x, 0, i, ones({2, 2}));
            }).substr(0, 49),
            "index_add: expected indices from 0 to 2, got 7 (f");
  EXPECT_EQ(error_of<IndexError>([&] { scatter_(x, 0, g, 1.); }).substr(0, 47),
            "scatter: expected indices from 0 to 2, got 5 (f");
  EXPECT_EQ(error_of<IndexError>([&] { index(x, {tensor({0, -4})}); }), "index: expected indices from 0 to 2, got -4");
  EXPECT_EQ(error_of<IndexError>([&] { gather(x, 1, tensor({{-1}})); }).substr(0, 46),
            "gather: expected indices from 0 to 1, got -1 (");
  expect_close(x, {0, 0, 0, 0, 0, 0});
}

TEST(Index, InPlaceWritesReachEveryView) {
  Tensor x = zeros({4, 6});
  Tensor columns = x.slice(1, 1, 6, 2);  // 1, 3, 5
  index_add_(columns, 1, tensor({2, 0, 2}), ones({4, 3}));
  for (std::int64_t r = 0; r < 4; ++r)
    for (std::int64_t c = 0; c < 6; ++c) EXPECT_EQ(at(x, {r, c}), c == 5 ? 2 : c == 1 ? 1 : 0);
  Tensor turned = x.t();
  scatter_(turned, 0, tensor({{0, 1, 2, 3}}), 9.);
  for (std::int64_t r = 0; r < 4; ++r) EXPECT_EQ(at(x, {r, r}), 9);
}

TEST(Index, SourceMayBeTheDestination) {
  Tensor x = tensor({1., 2., 3.});
  index_add_(x, 0, tensor({2, 1, 0}), x);
  expect_close(x, {4, 4, 4});
  Tensor y = tensor({1., 2., 3.});
  index_copy_(y, 0, tensor({1, 2, 0}), y);
  expect_close(y, {3, 1, 2});
}

TEST(Index, TheLastOfSeveralWritesWins) {
  expect_close(index_copy(zeros({3}), 0, tensor({1, 1, 0, 1}), tensor({1., 2., 3., 4.})), {3, 4, 0});
  expect_close(scatter(zeros({3}), 0, tensor({1, 1, 0, 1}), tensor({1., 2., 3., 4.})), {3, 4, 0});
}

TEST(Index, SumsDoNotDependOnThreads) {
  manual_seed(1);
  const Tensor x = randn({300, 700}), i = randint(50, {300}), g = randint(50, {300, 700});
  const int before = get_num_threads();
  set_num_threads(1);
  const Tensor a = index_add(zeros({50, 700}), 0, i, x), b = scatter_add(zeros({50, 700}), 0, g, x);
  const Tensor c = scatter_add(zeros({300, 50}), 1, g, x);
  set_num_threads(3);
  expect_same(index_add(zeros({50, 700}), 0, i, x), a);
  expect_same(scatter_add(zeros({50, 700}), 0, g, x), b);
  expect_same(scatter_add(zeros({300, 50}), 1, g, x), c);
  set_num_threads(before);
}

// So long that parts of the list are summed apart.
TEST(Index, ALongListIntoFewPlaces) {
  manual_seed(3);
  const std::int64_t n = 300001, m = 1000;
  for (const DType d : {float32, int64}) {
    const Tensor x = randint(100, {n}).to(d), g = randint(m - 1, {n});  // nothing goes to the last place
    std::vector<double> want(std::size_t(m), 1);
    for (std::int64_t i = 0; i < n; ++i) want[std::size_t(at(g, {i}))] += at(x, {i});
    expect_close(scatter_add(ones({m}, {.dtype = d}), 0, g, x), want);
  }
  Tensor y = full({m}, -0.0);
  const Tensor x = randn({2 * n}), every_second = slice(x, 0, 0, 2 * n, 2), g = randint(m - 1, {n});
  const int before = get_num_threads();
  set_num_threads(1);
  const Tensor one = scatter_add(y, 0, g, every_second);
  set_num_threads(3);
  expect_same(scatter_add(y, 0, g, every_second), one);
  set_num_threads(before);
  EXPECT_TRUE(std::signbit(at(one, {m - 1})));
  g.select(0, n - 1).fill_(m);
  EXPECT_THROW(scatter_add_(y, 0, g, every_second), IndexError);
  expect_same(y, full({m}, -0.0));
}

// So large that the result goes past the caches.
TEST(Index, ALargeGatherEqualsALoopAndRefusesOneBadIndex) {
  manual_seed(4);
  const Tensor x = randn({5, 1000003}), g = randint(1000003, {5, 1000003}), rows = randint(5, {5, 1000003});
  const Tensor y = gather(x, 1, g), z = gather(x, 0, rows), only = gather(x.select(0, 2), 0, g.select(0, 3));
  for (std::int64_t r = 0; r < 5; ++r)
    for (std::int64_t i = 0; i < 1000003; i += r < 4 ? 997 : 1) {
      ASSERT_EQ(at(y, {r, i}), at(x, {r, std::int64_t(at(g, {r, i}))}));
      ASSERT_EQ(at(z, {r, i}), at(x, {std::int64_t(at(rows, {r, i})), i}));
      ASSERT_EQ(at(only, {i}), at(x, {2, std::int64_t(at(g, {3, i}))}));
    }
  g.select(0, 4).select(0, 1000002).fill_(-1);
  EXPECT_THROW(gather(x, 1, g), IndexError);
}

TEST(Index, ScatterAddEqualsALoop) {
  manual_seed(2);
  const Tensor x = rand({5, 6, 7}, {.dtype = float64}), g = randint(4, {5, 6, 7});
  for (int d = 0; d < 3; ++d) {
    Shape size{5, 6, 7};
    size[d] = 4;
    const Tensor y = scatter_add(zeros(size, {.dtype = float64}), d, g, x.transpose(0, 1).contiguous().transpose(0, 1));
    std::vector<double> want(std::size_t(size.numel()), 0);
    for (std::int64_t a = 0; a < 5; ++a)
      for (std::int64_t b = 0; b < 6; ++b)
        for (std::int64_t c = 0; c < 7; ++c) {
          std::int64_t p[3] = {a, b, c};
          p[d] = std::int64_t(at(g, {a, b, c}));
          want[std::size_t((p[0] * size[1] + p[1]) * size[2] + p[2])] += at(x, {a, b, c});
        }
    expect_close(y, want);
  }
}

TEST(Index, BracketsOfViewsShareMemory) {
  Tensor x = numbers({4, 5, 6});
  const Tensor v = index(x, {Slice(1, 4, 2), Ellipsis, None, 3});
  EXPECT_EQ(v.shape(), (Shape{2, 5, 1}));
  EXPECT_EQ(at(v, {1, 2, 0}), at(x, {3, 2, 3}));
  Tensor w = index(x, {0});
  fill_(w, -1);
  EXPECT_EQ(at(x, {0, 4, 5}), -1);
  EXPECT_EQ(index(x, {Ellipsis}).shape(), x.shape());
  EXPECT_EQ(error_of<IndexError>([&] {
              index(x, {0, 0, 0, 0});
            }),
            "index: expected at most 3 indices for float64 [4, 5, 6], got 4");
  EXPECT_EQ(error_of<ValueError>([&] { index(x, {Slice(3, 0, -1)}); }),
            "index: expected a slice with a step above 0, got -1; use flip");
}

TEST(Index, DimensionsOfTensorsStandWhereNumPyPutsThem) {
  const Tensor x = numbers({3, 4, 5, 6});
  const Tensor i = tensor({{0, 2}, {1, 1}}), j = tensor({3, 0});
  EXPECT_EQ(index(x, {Slice(), i, j}).shape(), (Shape{3, 2, 2, 6}));
  EXPECT_EQ(index(x, {i, Slice(), j}).shape(), (Shape{2, 2, 4, 6}));
  const Tensor y = index(x, {Slice(), i, Slice(), j});
  EXPECT_EQ(y.shape(), (Shape{2, 2, 3, 5}));
  EXPECT_EQ(at(y, {0, 1, 2, 4}), at(x, {2, 2, 4, 0}));
  EXPECT_EQ(at(index(x, {i, j, Slice(), -1}), {1, 0, 2}), at(x, {1, 3, 2, 5}));
  EXPECT_EQ(index(x, {tensor({-1, 0})}).shape(), (Shape{2, 4, 5, 6}));
}

TEST(Index, MasksAndNumbersMix) {
  const Tensor x = numbers({3, 4});
  const Tensor rows = tensor({true, false, true});
  expect_close(index(x, {rows}), {0, 1, 2, 3, 8, 9, 10, 11});
  expect_close(index(x, {rows, tensor({1, 2})}), {1, 10});
  expect_close(index(x, {x > 8.5}), {9, 10, 11});
  EXPECT_EQ(index(x, {true}).shape(), (Shape{1, 3, 4}));
  EXPECT_EQ(index(x, {false}).shape(), (Shape{0, 3, 4}));
  EXPECT_EQ(error_of<IndexError>([&] { index(x, {tensor({true})}); }).substr(0, 52),
            "index: expected a mask of the shape of the dimension");
}

TEST(Index, PutWritesWhatBracketsShow) {
  Tensor x = zeros({3, 4});
  index_put_(x, {Slice(), 1}, 5);
  index_put_(x, {tensor({0, 2}), tensor({3, 0})}, tensor({7., 8.}));
  index_put_(x, {tensor({false, true, false})}, tensor({1., 2., 3., 4.}));
  expect_close(x, {0, 5, 0, 7, 1, 2, 3, 4, 8, 5, 0, 0});
  index_put_(x, {tensor({1, 1})}, ones({2, 4}), true);
  expect_close(x.select(0, 1), {3, 4, 5, 6});
  Tensor turned = zeros({4, 3, 2}).permute({2, 0, 1});  // [2, 4, 3]: the indexed dimensions cannot be one
  index_put_(turned, {tensor({1, 0}), Slice(), tensor({2, 1})}, tensor(6.));
  EXPECT_EQ(at(turned, {1, 3, 2}), 6);
  EXPECT_EQ(at(turned, {0, 0, 1}), 6);
  EXPECT_EQ(at(turned, {0, 0, 2}), 0);
}

TEST(Index, NonzeroIsInOrderAndMinusZeroIsZero) {
  expect_close(nonzero(tensor({{0., 1.}, {-0., 2.}, {3., 0.}})), {0, 1, 1, 1, 2, 0});
  EXPECT_EQ(nonzero(tensor(1)).shape(), (Shape{1, 0}));
  EXPECT_EQ(nonzero(zeros({3, 4})).shape(), (Shape{0, 2}));
  const Tensor x = remainder(arange(200000), 3);  // several blocks
  const std::vector<std::int64_t> found = nonzero(x).to_vector<std::int64_t>();
  std::size_t n = 0;
  for (std::int64_t i = 0; i < 200000; ++i)
    if (i % 3) ASSERT_EQ(found[n++], i);
  EXPECT_EQ(n, found.size());
}

TEST(Index, GradientsOfBothOrders) {
  manual_seed(3);
  const Tensor x = uniform({4, 5}), s = uniform({3, 5}), i = tensor({2, 0, 2}), g = randint(4, {3, 5});
  expect_gradients([&](const Tensor& a) { return square(index_select(a, 0, i)); }, x);
  expect_gradients([&](const Tensor& a) { return square(gather(a, 0, g)); }, x);
  expect_gradients([&](const Tensor& a, const Tensor& b) { return square(index_add(a, 0, i, b, 2)); }, x, s);
  expect_gradients(
      [&](const Tensor& a, const Tensor& b) {
        return square(index_copy(a, 0, tensor({2, 0, 3}), b));
      },
      x, s);
  expect_gradients([&](const Tensor& a, const Tensor& b) { return square(scatter_add(a, 0, g, b)); }, x, s);
  for (const char* reduce : {"prod", "mean", "amax", "amin"})
    for (bool self : {true, false}) {
      expect_gradients([&](const Tensor& a, const Tensor& b) { return square(index_reduce(a, 0, i, b, reduce, self)); },
                       x, s);
      expect_gradients(
          [&](const Tensor& a, const Tensor& b) { return square(scatter_reduce(a, 0, g, b, reduce, self)); }, x, s);
    }
  expect_gradients([&](const Tensor& a, const Tensor& b) { return square(masked_scatter(a, x > 1, b)); }, x,
                   uniform({20}));
  expect_gradients([&](const Tensor& a) { return square(masked_select(a, x > 1)); }, x);
  expect_gradients([&](const Tensor& a) { return square(index(a, {i, tensor({1, 4, 1})})); }, x);
  expect_gradients([&](const Tensor& a, const Tensor& b) { return square(index_put(a, {i}, b, true)); }, x, s);
  expect_gradients([&](const Tensor& a, const Tensor& b) { return square(index_put(a, {Slice(1, 4)}, b)); }, x, s);
  expect_gradients(
      [&](const Tensor& a, const Tensor& b) {
        return square(put(a, tensor({3, -1, 7}), b));
      },
      x, uniform({3}));
}

}  // namespace neura
