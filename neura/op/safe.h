// What is_safe() of operations asks (op/struct_row.h).
#pragma once
#include <cstdint>

#include "neura/op/row.h"

namespace neura::safe {

inline constexpr std::int64_t kMost = std::int64_t{1} << 31;  // of windows, strides and paddings

inline bool is_between(std::int64_t x, std::int64_t least, std::int64_t most) { return least <= x && x <= most; }
inline bool is_given(const Spec& operand) { return operand.rank != kAbsent; }
inline bool is_vector(const Spec& s, std::int64_t n) { return s.rank == 1 && s.shape[0] == n; }
inline bool absent_or_vector(const Spec& s, std::int64_t n) { return !is_given(s) || is_vector(s, n); }

// Those of the operands that are given.
template <class... S> bool contiguous(const S&... operands) {
  return ((!is_given(operands) || operands.contiguous) && ...);
}
template <class... S> bool one_dtype(const Spec& first, const S&... others) {
  return ((!is_given(others) || others.dtype == first.dtype) && ...);
}

// A dimension of x; a number has one, too.
inline bool has_dim(const Spec& x, std::int64_t dim) { return is_between(dim, 0, x.rank ? x.rank - 1 : 0); }
inline bool has_mask(const Spec& x, std::int64_t dims) { return is_between(dims, 0, (std::int64_t{1} << x.rank) - 1); }
inline bool has_dims(const Spec& x, const Shape& dims) {  // different ones
  unsigned seen = 0;
  for (const std::int64_t d : dims) {
    if (!is_between(d, 0, x.rank - 1) || seen >> d & 1) return false;
    seen |= 1u << d;
  }
  return true;
}
// Does a reduction over the dimensions have something to choose from?
inline bool is_not_empty(const Spec& x, std::int64_t dims) {
  for (int d = 0; d < x.rank; ++d)
    if (dims >> d & 1 && !x.shape[d]) return false;
  return true;
}

}  // namespace neura::safe
