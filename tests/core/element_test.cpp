// What counts as an element, at compile time and at run time.
#include "neura/core/element.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "neura/ops/create/create.h"

namespace neura {
namespace {

static_assert(Numeric<float> && Numeric<double>);
static_assert(!Numeric<int> && !Numeric<bool> && !Numeric<std::complex<float>> && !Numeric<std::string>);
static_assert(!Numeric<long double> && !Numeric<char*>);  // no dtype
static_assert(Integral<std::int8_t> && Integral<std::uint8_t> && Integral<std::int16_t> && Integral<std::int32_t>);
static_assert(Integral<std::int64_t> && !Integral<bool> && !Integral<float> && !Integral<std::uint64_t>);
static_assert(Boolean<bool> && !Boolean<std::uint8_t> && !Boolean<int>);
static_assert(ComplexNumber<std::complex<double>> && !ComplexNumber<double> && !ComplexNumber<bool>);

// Each element is of one kind, and each dtype that has a C++ type has one here.
template <class... T> constexpr bool each_of_one_kind() {
  return ((Numeric<T> + Integral<T> + Boolean<T> + ComplexNumber<T> == 1) && ...);
}
static_assert(each_of_one_kind<bool, std::uint8_t, std::int8_t, std::int16_t, std::int32_t, std::int64_t, float, double,
                               std::complex<float>, std::complex<double>>());

template <class T>
concept HasConstants = requires {
  Constants<T>::zero;
};
static_assert(HasConstants<float> && HasConstants<std::int32_t> && !HasConstants<bool> && !HasConstants<std::string>);

template <Numeric T> void expect_arithmetic(DType dtype) {
  using C = Constants<T>;
  EXPECT_EQ(dtype_of<T>, dtype);
  EXPECT_EQ(std::size_t(size_of(dtype)), sizeof(T));
  const T a = C::one + C::one, b = -a;
  EXPECT_EQ(a * b, T(-4));
  EXPECT_EQ(a / b, -C::one);
  EXPECT_EQ(a - a, C::zero);
  EXPECT_LT(b, a);
  EXPECT_EQ(C::lowest, -C::highest);
  EXPECT_TRUE(std::isfinite(C::highest) && std::isinf(C::highest * a));
  EXPECT_EQ(Scalar(T(2.5)).str(), "2.5");
}
TEST(Elements, FloatingOnesHaveArithmeticConstantsAndText) {
  expect_arithmetic<float>(float32);
  expect_arithmetic<double>(float64);
}
TEST(Elements, IntegersHaveTheEndsOfTheirRange) {
  EXPECT_EQ(Constants<std::int8_t>::lowest, -128);
  EXPECT_EQ(Constants<std::uint8_t>::lowest, 0);
  EXPECT_EQ(Constants<std::int64_t>::highest, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(Constants<std::int16_t>::one, 1);
}

}  // namespace
}  // namespace neura
