// The type rule of a row: which dtypes it takes, in which it computes, what its result has. Plain data for all targets.
#pragma once
#include "neura/core/dtype.h"

namespace neura {

enum class ResultType : unsigned char { same, as_float, as_bool, as_real, as_real_float, as_sum };

struct TypeRule {
  ResultType result_type = ResultType::same;
  DTypeSet accepted = 0;
  bool own_conjugate = false;  // not holomorphic: the row's slope is already the complex gradient
  bool mask_first = false;     // the first operand is a condition (where)

  bool divides = false;  // integer division: zeros in the second operand are refused before the kernel

  constexpr TypeRule not_holomorphic() const { return {result_type, accepted, true, mask_first, divides}; }
  constexpr TypeRule with_condition() const { return {result_type, accepted, own_conjugate, true, divides}; }
  constexpr TypeRule dividing() const { return {result_type, accepted, own_conjugate, mask_first, true}; }
  constexpr bool makes_float() const {
    return result_type == ResultType::as_float || result_type == ResultType::as_real_float;
  }
  constexpr bool makes_real() const {
    return result_type == ResultType::as_real || result_type == ResultType::as_real_float;
  }
  constexpr bool accepts(DType d) const { return accepted & bit(d); }

  // Halves are computed as float; to_float makes integers the default float first, to_sum makes them int64.
  constexpr DType computed_in(DType d, DType default_float = DType::float32) const {
    if (bit(d) & dtypes::halves) return DType::float32;
    if (makes_float() && is_integral(d)) return accumulation(default_float);
    if (result_type == ResultType::as_sum && is_integral(d)) return DType::int64;
    return d;
  }
  constexpr DType result(DType d, DType default_float = DType::float32) const {
    if (result_type == ResultType::as_bool) return DType::boolean;
    if (makes_real() && is_complex(d)) return to_real(d);
    if (makes_float() && is_integral(d)) return default_float;
    return bit(d) & dtypes::halves ? d : computed_in(d, default_float);
  }
  // True if some accepted dtype is computed in d.
  constexpr bool has_kernel(DType d) const {
    if (!(dtypes::compiled & bit(d))) return false;
    for (int i = 0; i < kDTypes; ++i)
      if (accepts(DType(i)) && (computed_in(DType(i)) == d || computed_in(DType(i), DType::float64) == d)) return true;
    return false;
  }
};

// What the rows' column `types` is written with, in a namespace of its own, since `all` and `same` are operations too.
namespace type_rules {
using dtypes::all;
using dtypes::booleans;
using dtypes::complexes;
using dtypes::floating;
using dtypes::halves;
using dtypes::integers;
using dtypes::numbers;
using dtypes::ordered;
inline constexpr DTypeSet singles = bit(DType::float32) | bit(DType::float64);  // floats computed as what they are
// By what the result is: the operands' dtype, a float, bool, the real part's dtype, int64 for integers.
constexpr TypeRule same(DTypeSet s) { return {ResultType::same, s}; }
constexpr TypeRule to_float(DTypeSet s) { return {ResultType::as_float, s}; }
constexpr TypeRule to_bool(DTypeSet s) { return {ResultType::as_bool, s}; }
constexpr TypeRule to_real(DTypeSet s) { return {ResultType::as_real, s}; }
// As to_real, and integers become floats as well.
constexpr TypeRule to_real_float(DTypeSet s) { return {ResultType::as_real_float, s}; }
constexpr TypeRule to_sum(DTypeSet s) { return {ResultType::as_sum, s}; }
}  // namespace type_rules

}  // namespace neura
