// Every row: which dtypes it takes, what comes out, and the values against the plain loops in double.
#include <cctype>
#include <cmath>
#include <cstring>

#include "neura/op/pointwise/rows.h"
#include "tests/contract/row_case.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

class RowContract : public RowTest {};

// Which dtype shows what a row should give for d: double, or the integers themselves.
DType exact(const Row& row, DType d) {
  if (is_complex(d)) return complex128;
  if (is_floating(d) || (row.types.makes_float() && is_integral(d))) return float64;
  return d == boolean ? boolean : int64;
}

std::vector<Tensor> as(DType d, const std::vector<Tensor>& in) {
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < in.size(); ++i) out.push_back(in[i].dtype() == boolean ? in[i] : converted(in[i], d));
  if (d != boolean)
    for (Tensor& t : out)
      if (t.dtype() == boolean && &t != &out[0]) t = converted(t, d);
  return out;
}
std::vector<Tensor> exact_operands(const Row& row, DType d, const std::vector<Tensor>& in) {
  std::vector<Tensor> out = as(exact(row, d), in);
  if (!row.types.mask_first) out[0] = converted(in[0], exact(row, d));
  return out;
}

// Complex numbers as a whole: a part that cancels is not held to its own size.
void expect_near(const Tensor& got, const Tensor& want, Tolerance t) {
  if (!is_complex(want.dtype())) return expect_close(got, want, t);
  ASSERT_EQ(got.dtype(), want.dtype());
  ASSERT_EQ(got.shape(), want.shape());
  int wrong = 0;
  for_each_index(want.shape(), [&](const Shape& i) {
    const Scalar g = scalar_at(got, i), w = scalar_at(want, i);
    const double size = std::hypot(w.real(), w.imag()), off = std::hypot(g.real() - w.real(), g.imag() - w.imag());
    if (off <= t.absolute + size * t.relative || !std::isfinite(size) || wrong++) return;
    ADD_FAILURE() << g.str() << " instead of " << w.str() << " at " << i.str();
  });
}

TEST_P(RowContract, IsDocumented) {
  const std::string text = row.text;
  ASSERT_FALSE(text.empty());
  EXPECT_NE(std::string(row.formula), "");
  EXPECT_EQ(text.back(), '.') << text;
  // A sentence begins with a capital, unless with code: an operand, a call, a number, the name of a row.
  const std::string word = text.substr(0, text.find(' '));
  const bool code = word == "x" || word == "a" || word == "b" || find_row(word) || !std::isalpha(text[0]) ||
                    word.find_first_of("(^") != std::string::npos;
  EXPECT_TRUE(code || std::isupper(text[0])) << text;
  count_case();
}

TEST_P(RowContract, ResultDTypeIsTheClasss) {
  for_accepted([&](DType d) {
    EXPECT_EQ(call(c, operands(c, d, equal_shapes(c, {3}))).dtype(), row.types.result(d));
    const Tensor y = call(c, operands(c, d, broadcasting_shapes(c)));
    EXPECT_EQ(y.dtype(), row.types.result(d));
    EXPECT_EQ(y.shape(), (Shape{3, 4, 5}));
  });
}

TEST_P(RowContract, OtherDTypesAreTypedErrors) {
  for (int i = 0; i < kDTypes; ++i) {
    const DType d = DType(i);
    if (row.types.accepts(d)) continue;
    if (row.types.result_type == ResultType::as_bool && comparable(d) != d) {  // computed in a dtype that holds it
      std::vector<Tensor> in, held;
      for (int k = 0; k < row.inputs; ++k)
        in.push_back(sample({3}, float64, {.low = 0, .high = 4}).to(d)), held.push_back(in[k].to(comparable(d)));
      expect_same(call(c, in), call(c, held));
      continue;
    }
    const std::string said = error_of<DTypeError>([&] {
      std::vector<Tensor> in;
      for (int k = 0; k < row.inputs; ++k) in.push_back(sample({3}, row.types.mask_first && k == 0 ? boolean : d));
      call(c, in);
    });
    EXPECT_EQ(said.find(std::string(row.name) + ": expected "), 0u) << neura::name(d) << ": " << said;
    EXPECT_NE(said.find(neura::name(d)), std::string::npos) << said;
    count_case();
  }
}

TEST_P(RowContract, ValuesEqualThePlainLoopInDouble) {
  for_accepted([&](DType d) {
    for (const bool anywhere : {false, true}) {
      for (const auto& shapes : {broadcasting_shapes(c), equal_shapes(c, {67})}) {
        const std::vector<Tensor> in = operands(c, d, shapes, 7, anywhere);
        const Tensor y = call(c, in), want = oracle(c, exact_operands(row, d, in));
        expect_near(y, converted(want, row.types.result(d)), tolerance(y.dtype()));
      }
    }
  });
}

// Large integers, for rows that mean the same modulo a power of two.
class WrappingRows : public RowContract {};
TEST_P(WrappingRows, IntegersWrapAround) {
  for (const DType d : {uint8, int8, int16, int32, int64}) {
    if (!row.types.accepts(d)) continue;
    std::vector<Tensor> in;
    Dice dice{99};
    for (int k = 0; k < row.inputs; ++k)
      in.push_back(from_loop({67}, d, [&](const Shape&) { return Scalar(std::int64_t(dice.bits())); }));
    expect_same(call(c, in), converted(oracle(c, as(int64, in)), d));
    count_case();
  }
}

TEST_P(RowContract, SizesAroundTheVectorWidth) {
  for_accepted([&](DType d) {
    for (const std::int64_t n : {0, 1, 7, 8, 9, 31, 33}) {
      const std::vector<Tensor> in = operands(c, d, equal_shapes(c, {n}), 3);
      const Tensor y = call(c, in);
      ASSERT_EQ(y.shape(), Shape{n});
      ASSERT_EQ(y.dtype(), row.types.result(d));
      for (std::int64_t i = 0; i < n; ++i) {  // each element by itself, 0-d
        std::vector<Tensor> one;
        for (const Tensor& t : in)
          one.push_back(from_loop({}, t.dtype(), [&](const Shape&) { return scalar_at(t, {i}); }));
        const Tensor alone = call(c, one);
        ASSERT_EQ(alone.shape(), Shape{});
        expect_same(alone, from_loop({}, y.dtype(), [&](const Shape&) { return scalar_at(y, {i}); }));
        if (HasFailure()) return;
      }
    }
    EXPECT_EQ(call(c, operands(c, d, equal_shapes(c, {0, 3}))).shape(), (Shape{0, 3}));
    EXPECT_EQ(call(c, operands(c, d, equal_shapes(c, {3, 0, 2}))).shape(), (Shape{3, 0, 2}));
  });
}

TEST_P(RowContract, EveryLayoutEqualsTheContiguousAnswer) {
  for_accepted([&](DType d) {
    const std::vector<Tensor> in = operands(c, d, equal_shapes(c, {5, 7}), 4);
    const Tensor want = call(c, in);
    for (std::size_t k = 0; k < in.size(); ++k)
      for (const Tensor& laid : layouts(in[k])) {
        std::vector<Tensor> moved = in;
        moved[k] = laid;
        expect_same(call(c, moved), want);
      }
    std::vector<Tensor> all;  // all of them transposed: the result may be too
    for (const Tensor& t : in) all.push_back(layouts(t)[2]);
    expect_same(call(c, all), want);
  });
}

TEST_P(RowContract, ExpandedOperandsEqualCopies) {
  for_accepted([&](DType d) {
    const std::vector<Tensor> in = operands(c, d, broadcasting_shapes(c), 5);
    const Tensor want = call(c, in);
    std::vector<Tensor> expanded, copied;
    for (const Tensor& t : in) {
      expanded.push_back(t.expand({3, 4, 5}));
      copied.push_back(from_loop({3, 4, 5}, t.dtype(), [&](const Shape& i) { return scalar_at(t, i); }));
    }
    expect_same(call(c, expanded), want);
    expect_same(call(c, copied), want);
  });
}

class ManyOperands : public RowContract {};
TEST_P(ManyOperands, NumbersEqualFullTensors) {
  for_accepted([&](DType d) {
    const Scalar number = d == boolean     ? Scalar(true)
                          : is_integral(d) ? Scalar(2)
                          : is_complex(d)  ? Scalar(std::complex<double>(1.5, 0.5))
                                           : Scalar(2.0);
    const std::vector<Tensor> in = operands(c, d, equal_shapes(c, {9}), 6);
    for (int k = row.types.mask_first ? 1 : 0; k < row.inputs; ++k) {
      std::vector<Operand> mixed(in.begin(), in.end());
      mixed[std::size_t(k)] = number;
      std::vector<Tensor> full = in;
      full[std::size_t(k)] = from_loop({9}, d, [&](const Shape&) { return number; });
      expect_same(call(c, mixed), call(c, full));
    }
  });
}

TEST_P(ManyOperands, MixedDTypesMeetInThePromotedOne) {
  const int second = row.types.mask_first ? 2 : 1;
  for_accepted([&](DType a) {
    for (int i = 0; i < kDTypes; ++i) {
      const DType b = DType(i);
      if (!row.types.accepts(b) || !row.types.accepts(promote(a, b))) continue;
      std::vector<Tensor> in = operands(c, a, equal_shapes(c, {9}), 8), same;
      in[std::size_t(second)] = operands(c, b, equal_shapes(c, {9}), 8)[std::size_t(second)];
      for (const Tensor& t : in)
        same.push_back(converted(t, row.types.mask_first && same.empty() ? boolean : promote(a, b)));
      expect_same(call(c, in), call(c, same));
    }
  });
}

// Above the size at which threads share the work, contiguous and not.
TEST_P(RowContract, LargeOperandsEqualTheirPieces) {
  constexpr std::int64_t kSize = 70003, kPiece = 1009;
  const DType d = row.types.accepts(float32) ? float32 : int32;
  std::vector<Tensor> in = operands(c, d, equal_shapes(c, {kPiece}), 9), large, wide;
  for (const Tensor& t : in) {
    const Tensor spread = t.expand({70, kPiece});
    large.push_back(converted(spread, t.dtype()).view({70 * kPiece}).slice(0, 0, kSize));
    wide.push_back(spread.transpose(0, 1));  // [piece, 70], nothing contiguous
  }
  const Tensor want = call(c, in), whole = call(c, large), across = call(c, wide);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < kSize && wrong < 3; ++i) {
    const auto same = [](const Scalar& x, const Scalar& y) {
      return x.str() == y.str() || (x.real() == y.real() && x.imag() == y.imag());
    };
    const Scalar w = scalar_at(want, {i % kPiece});
    if (!same(scalar_at(whole, {i}), w) || !same(scalar_at(across, {i % kPiece, i / kPiece}), w))
      ++wrong, ADD_FAILURE() << w.str() << " differs at " << i;
  }
  count_case();
}

TEST(Integers, DivisionByZeroIsAnErrorAndByMinusOneIsNone) {
  for (const char* name : {"div_trunc", "div_floor", "floor_divide", "fmod", "remainder", "gcd", "lcm", "pow"})
    for (const DType d : {uint8, int8, int16, int32, int64}) {
      const RowCase c{find_row(name), {}, name};
      const auto of = [&](std::int64_t v) { return from_loop({1}, d, [&](const Shape&) { return v; }); };
      const Tensor least = of(std::int64_t(std::uint64_t(1) << (8 * size_of(d) - 1)));
      EXPECT_NO_THROW(call(c, std::vector{least, of(-1)}));
      if (!c.row->types.divides) EXPECT_NO_THROW(call(c, std::vector{least, of(0)}));
      else EXPECT_EQ(error_of<ValueError>([&] { call(c, std::vector{least, of(0)}); }).find(name), 0u);
    }
}

std::vector<RowCase> with_several_operands() {
  std::vector<RowCase> some;
  for (const RowCase& c : row_cases())
    if (c.row->inputs > 1) some.push_back(c);
  return some;
}
std::vector<RowCase> wrapping() {
  std::vector<RowCase> some;
  for (const char* name : {"add", "sub", "mul", "neg", "square", "addcmul", "cube", "bitwise_and", "bitwise_or",
                           "bitwise_xor", "bitwise_not"})
    for (const RowCase& c : row_cases())
      if (!std::strcmp(name, c.row->name)) some.push_back(c);
  return some;
}
INSTANTIATE_TEST_SUITE_P(Tables, ManyOperands, ::testing::ValuesIn(with_several_operands()),
                         [](const auto& i) { return i.param.name; });
INSTANTIATE_TEST_SUITE_P(Tables, WrappingRows, ::testing::ValuesIn(wrapping()),
                         [](const auto& i) { return i.param.name; });
INSTANTIATE_TEST_SUITE_P(Tables, RowContract, ::testing::ValuesIn(row_cases()),
                         [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace neura::test
