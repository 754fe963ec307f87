// Comparisons and logic: truth tables, every pair of dtypes against C++'s own comparison, numbers, operators, and that
// they have no gradient.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "neura/autograd/autograd.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/shape/view.h"
#include "tests/support/close.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
constexpr DType kReal[] = {boolean, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64};

struct Comparison {
  const char* name;
  Tensor (*call)(const Operand&, const Operand&);
  bool (*want)(double, double);
};
#define COMPARISON(name, op)                                                                                     \
  Comparison {                                                                                                   \
#name, [](const Operand& a, const Operand& b) { return neura::name(a, b); }, [](double a,                    \
                                                                                    double b) { return a op b; } \
  }
const Comparison kComparisons[] = {COMPARISON(eq, ==), COMPARISON(ne, !=), COMPARISON(lt, <),
                                   COMPARISON(gt, >),  COMPARISON(le, <=), COMPARISON(ge, >=)};
const Comparison kLogic[] = {
    {"logical_and", [](const Operand& a, const Operand& b) { return logical_and(a, b); },
     [](double a, double b) { return a != 0 && b != 0; }},
    {"logical_or", [](const Operand& a, const Operand& b) { return logical_or(a, b); },
     [](double a, double b) { return a != 0 || b != 0; }},
    {"logical_xor", [](const Operand& a, const Operand& b) { return logical_xor(a, b); },
     [](double a, double b) { return (a != 0) != (b != 0); }},
};
template <class F> void for_all(F&& f) {
  for (const auto* list : {std::begin(kComparisons), std::begin(kLogic)})
    for (int i = 0; i < (list == kLogic ? 3 : 6); ++i) {
      SCOPED_TRACE(list[i].name);
      f(list[i]);
    }
}
void expect_pairs(const Tensor& got, const Tensor& a, const Tensor& b, bool (*want)(double, double)) {
  EXPECT_EQ(got.dtype(), boolean);
  EXPECT_EQ(got.shape(), broadcast_shapes("test", a.shape(), b.shape()));
  for_each_index(got.shape(), [&](const Shape& i) {
    EXPECT_EQ(scalar_at(got, i).integer() != 0, want(at(a, i), at(b, i)))
        << i.str() << ": " << at(a, i) << ' ' << at(b, i);
  });
}
Tensor column(const Tensor& t) { return t.reshape({t.numel(), 1}); }

TEST(Compare, NanInfinityAndZeros) {
  const std::vector<double> values = {-kInf, -1, -0.0, 0, 1, kInf, kNan};
  for (const DType d : {float16, bfloat16, float32, float64}) {
    const Tensor b = tensor(values, {7}, {.dtype = d}), a = column(b);
    for_all([&](const Comparison& c) { expect_pairs(c.call(a, b), a, b, c.want); });
  }
  const Tensor n = tensor(kNan);
  EXPECT_TRUE(ne(n, n).item<bool>());
  for (const Comparison& c : kComparisons)
    if (std::string(c.name) != "ne") EXPECT_FALSE(c.call(n, n).item<bool>()) << c.name;
}

TEST(Compare, EveryPairOfDtypes) {
  for (const DType da : kReal)
    for (const DType db : kReal) {
      SCOPED_TRACE(std::string(name(da)) + " " + name(db));
      const Tensor a = sample({3, 1}, da, {.low = 0, .high = 4}),
                   b = sample({1, 4}, db, {.low = 0, .high = 4, .seed = 3});
      // Both meet in one dtype first, which may round: compare what they became.
      const DType both = promote(da, db);
      for_all([&](const Comparison& c) { expect_pairs(c.call(a, b), a.to(both), b.to(both), c.want); });
    }
  EXPECT_TRUE(lt(tensor(std::int64_t{INT64_MAX - 1}), tensor(std::int64_t{INT64_MAX})).item<bool>());
}

TEST(Compare, BroadcastInAnyLayout) {
  const Tensor a = sample({3, 1}), b = sample({1, 4}, float32, {.seed = 2}), m = sample({2, 3}), v = sample({3});
  for_all([&](const Comparison& c) {
    expect_pairs(c.call(a, b), a, b, c.want);
    expect_pairs(c.call(m, v), m, v, c.want);
    expect_pairs(c.call(m, m.t().contiguous().t()), m, m, c.want);
    expect_pairs(c.call(m, v.select(0, 1)), m, v.select(0, 1), c.want);
    EXPECT_EQ(c.call(zeros({0, 3}), v).shape(), (Shape{0, 3}));
    EXPECT_THROW(c.call(m, sample({4})), ShapeError);
  });
}

TEST(Compare, NumbersEqualFullTensors) {
  for (const DType d : kReal) {
    const Tensor x = sample({5}, d, {.low = 0, .high = 3});
    for_all([&](const Comparison& c) {
      for (const Scalar s : {Scalar(1), Scalar(1.5), Scalar(true), Scalar(0)}) {
        if (s.is_floating() && is_integral(d)) expect_same(c.call(x, s), c.call(x.to(float32), full({5}, s)));
        else
          expect_same(
              c.call(x, s),
              c.call(x, full({5}, s,
                             {.dtype = promote(d, s.category() > Category::boolean && d == boolean ? int64 : d)})));
      }
    });
  }
}

TEST(Compare, OperatorsAreTheNamedOnes) {
  const Tensor a = sample({6}), b = a * sample({6}, float32, {.seed = 4});
  expect_same(a == b, eq(a, b)), expect_same(a != b, ne(a, b));
  expect_same(a < b, lt(a, b)), expect_same(a > b, gt(a, b));
  expect_same(a <= b, le(a, b)), expect_same(a >= b, ge(a, b));
  expect_same(a < 0.5, lt(a, 0.5)), expect_same(0.5 < a, gt(a, 0.5));
}

TEST(Compare, LogicalNotOfEveryDtype) {
  for (const DType d : kReal) {
    const Tensor x = sample({9}, d, {.low = 0, .high = 2}), y = logical_not(x);
    EXPECT_EQ(y.dtype(), boolean);
    for (std::int64_t i = 0; i < 9; ++i) EXPECT_EQ(scalar_at(y, {i}).integer() != 0, at(x, {i}) == 0);
  }
}

TEST(Compare, InPlaceLogicKeepsBool) {
  Tensor x = tensor({true, true, false, false});
  const Tensor y = tensor({true, false, true, false});
  EXPECT_EQ(logical_and_(x, y).to_vector<bool>(), (std::vector<bool>{true, false, false, false}));
  EXPECT_EQ(logical_or_(x, tensor({false, true, false, true})).to_vector<bool>(),
            (std::vector<bool>{true, true, false, true}));
  EXPECT_EQ(logical_xor_(x, tensor({true})).to_vector<bool>(), (std::vector<bool>{false, false, true, false}));
  EXPECT_EQ(logical_not_(x).to_vector<bool>(), (std::vector<bool>{true, true, false, true}));
  EXPECT_EQ(x.dtype(), boolean);
  EXPECT_THROW(logical_and_(x, ones({2, 4}) > 0), ShapeError);
}

TEST(Compare, HasNoGradient) {
  const Tensor a = sample({3}).requires_grad_(), b = sample({3}, float32, {.seed = 5}).requires_grad_();
  for_all([&](const Comparison& c) {
    Tensor y = c.call(a, b);
    EXPECT_TRUE(y.dtype() == boolean && !y.requires_grad() && !y.grad_fn() && y.is_leaf());
    EXPECT_THROW(y.requires_grad_(), AutogradError);
  });
}

TEST(Compare, OrderOfComplexNumbersIsRefused) {
  const Tensor z = sample({3}, complex64);
  for (const Comparison& c : kComparisons)
    if (std::string(c.name) != "eq" && std::string(c.name) != "ne") EXPECT_THROW(c.call(z, z), DTypeError) << c.name;
  expect_same(eq(z, z), full({3}, true));
}

}  // namespace
}  // namespace neura::test
