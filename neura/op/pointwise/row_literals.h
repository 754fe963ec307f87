// What declare_table.h needs: operands, and the literals of attribute defaults.
#pragma once
#include <limits>

#include "neura/op/operand.h"

namespace neura {
struct Row;
}

namespace neura::row_words {

struct Literal {
  double value;
  constexpr Literal operator-() const { return {-value}; }
};
constexpr Literal operator""_c(unsigned long long v) { return {double(v)}; }
constexpr Literal operator""_c(long double v) { return {double(v)}; }
inline constexpr Literal infinity{std::numeric_limits<double>::infinity()};
template <class T>
concept Number = std::is_arithmetic_v<T>;

}  // namespace neura::row_words
