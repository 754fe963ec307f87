#include <cmath>

#include "neura/op/pointwise/pointwise.h"
#include "neura/op/pointwise/promotion.h"
#include "neura/ops/shape/strided.h"
#include "tests/support/engine.h"

namespace neura {
namespace {

TEST(Apply, PromotionIsTorchs) {
  // (torch) result_type of {bool, int64, float32, float64} x {1-d, 0-d} with the same eight and with True, 2, 2.5
  const char* want[] = {"bbiiffddbif", "bbiiffddbif", "iiiiffddiif", "iiiiffddiif",
                        "ffffffdffff", "ffffffddfff", "ddddddddddd", "ddddfdddddd"};
  const DType kinds_of[] = {boolean, int64, float32, float64};
  Tensor kinds[8];
  for (int i = 0; i < 8; ++i) kinds[i] = full(i % 2 ? Shape{} : Shape{2}, 1, {.dtype = kinds_of[i / 2]});
  const Operand scalars[] = {true, 2, 2.5};
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 11; ++j) {
      Operand in[] = {kinds[i], j < 8 ? Operand(kinds[j]) : scalars[j - 8]};
      const Call call{&rows::mul, nullptr, in, 2, nullptr};
      const DType d = promoted(call);
      EXPECT_EQ(d == boolean ? 'b' : d == int64 ? 'i' : d == float32 ? 'f' : 'd', want[i][j]) << i << ' ' << j;
    }
}
TEST(Apply, PromotionOfEveryPairOfDtypes) {
  const DType d[] = {boolean, uint8,    int8,    int16,   int32,     int64,
                     float16, bfloat16, float32, float64, complex64, complex128};
  // (torch) promote_types, by position in d
  const int want[12][12] = {
      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},           {1, 1, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11},
      {2, 3, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},           {3, 3, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11},
      {4, 4, 4, 4, 4, 5, 6, 7, 8, 9, 10, 11},           {5, 5, 5, 5, 5, 5, 6, 7, 8, 9, 10, 11},
      {6, 6, 6, 6, 6, 6, 6, 8, 8, 9, 10, 11},           {7, 7, 7, 7, 7, 7, 8, 7, 8, 9, 10, 11},
      {8, 8, 8, 8, 8, 8, 8, 8, 8, 9, 10, 11},           {9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 11, 11},
      {10, 10, 10, 10, 10, 10, 10, 10, 10, 11, 10, 11}, {11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11}};
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j < 12; ++j) EXPECT_EQ(promote(d[i], d[j]), d[want[i][j]]) << name(d[i]) << ' ' << name(d[j]);
}
TEST(Promotion, OfNumbersAndTensors) {
  const Tensor i = arange(3), f = ones({2}), h = ones({2}, {.dtype = float16}), d = full({}, 2.0, {.dtype = float64});
  EXPECT_EQ(result_type(i, 1.0), float32);
  EXPECT_EQ(result_type(f, d), float32);
  EXPECT_EQ(result_type(i, d), float64);
  EXPECT_EQ(result_type(h, 2.5), float16);
  EXPECT_EQ(result_type(1, 1.5), float32);
  EXPECT_EQ(result_type(true, 2), int64);
  EXPECT_EQ(promote_types(int32, bfloat16), bfloat16);
  EXPECT_EQ(promote_types(float8_e4m3, float8_e4m3), float8_e4m3);
  EXPECT_ERROR(DTypeError, "promote_types: expected dtypes with arithmetic, got float8_e5m2; convert it with .to()",
               promote_types(float8_e5m2, float32));
  EXPECT_ERROR(DTypeError, "result_type: expected dtypes with arithmetic, got float8_e4m3fn",
               result_type(zeros({2}).to(float8_e4m3), 1));
}
TEST(Promotion, ResultsAreWrittenIntoNoLowerCategory) {
  EXPECT_TRUE(can_cast(float64, float16) && can_cast(int64, uint8) && can_cast(boolean, int8));
  EXPECT_TRUE(can_cast(int64, float16) && can_cast(float64, complex64) && can_cast(float64, float8_e5m2));
  EXPECT_FALSE(can_cast(float32, int64) || can_cast(complex64, float64) || can_cast(uint8, boolean));
  EXPECT_FALSE(can_cast(float8_e5m2, int64));
}
TEST(Apply, LargeResultsEqualTheirParts) {  // 16 MiB and more are written past the caches, from any address
  const std::int64_t n = (std::int64_t{17} << 20) / 4 + 11, half = n / 2;
  const Tensor a = neg(arange(0, n, 1, {.dtype = float32})), b = arange(0, n, 1, {.dtype = float32});
  const Tensor memory = empty({n + 3}), out = narrow(memory, 0, 3, n);
  Tensor unaligned = out;
  add_out(unaligned, b, b);
  const auto same = [](const Tensor& x, const Tensor& y) { return all(x == y).item<bool>(); };
  for (const std::int64_t begin : {std::int64_t{0}, half}) {
    const std::int64_t size = begin ? n - half : half;
    const auto part = [&](const Tensor& t) { return narrow(t, 0, begin, size); };
    EXPECT_TRUE(same(part(a), neg(part(b))));
    EXPECT_TRUE(same(part(a + b), full({size}, 0)));
    EXPECT_TRUE(same(part(b * 2.0), part(b) * 2.0));
    EXPECT_TRUE(same(part(out), part(b) + part(b)));
  }
  const Tensor matrix = reshape(narrow(b, 0, 1, 2100 * 2111), {2100, 2111});
  EXPECT_TRUE(same(transpose(transpose(matrix, 0, 1).contiguous(), 0, 1), matrix));
  EXPECT_TRUE(same(narrow(b, 0, 1, n - 1).clone(), narrow(b, 0, 1, n - 1)));
}
TEST(Apply, BroadcastingEqualsThePlainLoop) {
  const Tensor a = range({2, 1, 3}), b = transpose(range({5, 4}), 0, 1), c = view(range({4}), {4, 1});
  const Tensor ab = add(view(a, {2, 1, 3}), c);
  for (std::int64_t i = 0; i < 24; ++i) EXPECT_TRUE(at(ab, i) == at(a, i / 12 * 3 + i % 3) + at(c, i / 3 % 4));
  const Tensor bc = mul(b, c);
  EXPECT_TRUE(bc.spec().strides[0] == 1);  // follows b's order of dimensions
  for (std::int64_t i = 0; i < 20; ++i) EXPECT_TRUE(at(bc, i) == at(b, i) * at(c, i / 5));
  for (std::int64_t n : {1, 7, 8, 9, 31, 33, 40000, 100001}) {
    const Tensor x = expand(full({1}, 2.0), {n}), y = mul(add(x, 1), x);
    EXPECT_TRUE(y.numel() == n && at(y, 0) == 6 && at(y, n - 1) == 6);
  }
  EXPECT_TRUE(mul(full({0, 3}, 1.0), full({3}, 1.0)).numel() == 0);
  EXPECT_ERROR(
      ShapeError,
      "mul: expected shapes that broadcast, got [2] and [3]; sizes counted from the last dimension must be equal or 1",
      mul(full({2}, 1.0), full({3}, 1.0)));
  EXPECT_ERROR(DTypeError, "sub: expected one of", sub(full({2}, true), full({2}, true)));
}
TEST(Apply, DestinationsAreOnePath) {
  Tensor x = from({1, 2, 3, 4}, {4}), y = x.detach();
  const auto v = x.version();
  EXPECT_TRUE(is_near(add_(x, 1), {2, 3, 4, 5}) && x.version() == v + 1 && y.version() == v + 1 &&
              is_near(y, {2, 3, 4, 5}));
  EXPECT_ERROR(ShapeError, "add: expected a destination of [2, 4], got float32 [4]", add_(x, full({2, 4}, 1.0)));
  Tensor n = full({4}, 1, {.dtype = int64});
  EXPECT_ERROR(DTypeError, "mul: expected a destination that holds float32, got int64 [4]", mul_(n, 2.5));
  EXPECT_TRUE(is_near(add_(x, full({4}, 0.5, {.dtype = float64})), {2.5, 3.5, 4.5, 5.5}) &&
              x.dtype() == DType::float32);
  Tensor buffer = full({8}, 0.0);
  Tensor sliding = as_strided(buffer, {3, 3}, {2, 1}), e = expand(full({1}, 1.0), {4});
  EXPECT_ERROR(ShapeError, "share memory", add_(sliding, 1));
  EXPECT_ERROR(ShapeError, "share memory", add_(e, 1));
  Tensor out = full({0}, 0.0);
  EXPECT_TRUE(is_near(add_out(out, x, 1), {3.5, 4.5, 5.5, 6.5}));
  Tensor p = from({1, 2, 3, 4}, {4}), tail = slice(p, 0, 1, 4);
  EXPECT_TRUE(is_near(add_(tail, slice(p, 0, 0, 3)), {3, 5, 7}));  // partial overlap: as if copied first
  Tensor q = from({1, 2, 3, 4}, {2, 2}), qt = transpose(q, 0, 1);
  EXPECT_TRUE(is_near(add_(q, qt), {2, 5, 5, 8}));
  Tensor a = from({1, 2, 3, 4}, {2, 2});
  EXPECT_TRUE(is_near(sub_(a, select(a, 0, 0)), {0, 0, 2, 2}));
  Tensor w = leaf({1}, {1}), o = full({1}, 0.0);
  EXPECT_ERROR(AutogradError, "expected no gradient to be needed with out=", add_out(o, w, 1));
}

struct SinCos {  // a custom operation: its row is made here, outside the library
  static constexpr Operation op = operation("sin_cos").saves(0, out(0, 1));
  NEURA_FIELDS()
  void infer(const Spec& x, Spec& s, Spec& c) const { s = c = Spec::dense(x.dtype, x.sizes()); }
  void run(Context&, View x, View s, View c) const {
    for (std::int64_t i = 0; i < x.numel(); ++i)
      s.as<double>()[i] = std::sin(x.as<double>()[i]), c.as<double>()[i] = std::cos(x.as<double>()[i]);
  }
  void gradient(Gradient& g) const {
    if (g.g[0]) g.result[0] = g.g[0] * g.output(1);
    if (g.g[1]) g.result[0] = g.result[0] ? g.result[0] - g.g[1] * g.output(0) : -g.g[1] * g.output(0);
  }
};
TEST(Apply, CustomOperationWithTwoResults) {
  const auto before = memory::live_blocks();
  {
    Tensor x = leaf({0.5, 1.5}, {2}, DType::float64);
    auto [s, c] = apply(SinCos{}, x);
    const Tensor d = derivative(sum(s * c * c), x, true), dd = derivative(sum(d), x);
    for (int i : {0, 1}) {
      const double v = at(x, i), S = std::sin(v), C = std::cos(v);
      EXPECT_TRUE(std::abs(at(d, i) - (C * C * C - 2 * S * S * C)) < 1e-12 &&
                  std::abs(at(dd, i) - (-7 * S * C * C + 2 * S * S * S)) < 1e-12);
    }
  }
  EXPECT_TRUE(memory::live_blocks() == before);
}

struct Names : Interceptor {
  std::string seen;
  void call(Call& c) override {
    seen += std::string(seen.empty() ? "" : " ") + c.row->name;
    apply(c);
  }
};
TEST(Apply, InterceptorsNest) {
  const Tensor a = range({2, 2});
  Names outer;
  {
    Names inner;
    tanh(matmul(a, a)) + 1;
    EXPECT_EQ(inner.seen, "matmul tanh add");
    EXPECT_ERROR(ShapeError, "mul", mul(full({2}, 1.0), full({3}, 1.0)));  // an exception restores the stack
  }
  EXPECT_EQ(outer.seen, "matmul tanh add full full mul");
  neg(a);
  EXPECT_EQ(outer.seen, "matmul tanh add full full mul neg");
}

}  // namespace
}  // namespace neura
