// Shared by the index kernels: indices as checked int64 numbers, numbers of every dtype.
#pragma once
#include <complex>
#include <limits>

#include "neura/backend/cpu/visit_width.h"
#include "neura/backend/kernels/index.h"
#include "neura/backend/kernels/create.h"

namespace neura {

// Elements of an int32 or int64 view in logical order.
const std::int64_t* dense_index(Context&, const View& index);
// Whether all are inside [0, bound); the first that is not is reported.
bool all_inside(Context&, const std::int64_t* index, std::int64_t n, std::int64_t bound);
const std::int64_t* checked_index(Context&, const View& index, std::int64_t bound);  // both; null if one is outside

// Below 0 or not below the bound: the sign of one of two differences, which a vector unit of any age can take.
inline bool any_outside(const std::int64_t* index, std::int64_t n, std::int64_t bound) {
  std::uint64_t sign = 0;
  for (std::int64_t i = 0; i < n; ++i)
    sign |= std::uint64_t(index[i]) | (std::uint64_t(bound - 1) - std::uint64_t(index[i]));
  return sign >> 63;
}

inline Spec at_least_1d(const Spec& s) {
  Spec r = s;
  if (!r.rank) r.rank = 1, r.shape[0] = 1, r.strides[0] = 1;
  return r;
}

// The 16-bit floats as numbers: every operation rounds.
template <bool brain> struct Small {
  std::uint16_t bits;
  Small() = default;
  Small(float x);
  operator float() const;
};

// f(T()) with the number type of the dtype; bool is one whose sum is or.
struct Truth {
  bool value;
  Truth() = default;
  Truth(int v) : value(v) {}
};
inline Truth operator+(Truth a, Truth b) { return Truth(a.value || b.value); }
inline Truth operator*(Truth a, Truth b) { return Truth(a.value && b.value); }
inline Truth operator/(Truth a, std::int64_t) { return a; }
inline bool operator<(Truth a, Truth b) { return a.value < b.value; }

template <class F> void visit_number(DType d, const F& f) {
  switch (d) {
    case DType::boolean:
      return f(Truth());
    case DType::uint8:
      return f(std::uint8_t());
    case DType::int8:
      return f(std::int8_t());
    case DType::int16:
      return f(std::int16_t());
    case DType::int32:
      return f(std::int32_t());
    case DType::int64:
      return f(std::int64_t());
    case DType::float16:
      return f(Small<false>());
    case DType::bfloat16:
      return f(Small<true>());
    case DType::float32:
      return f(float());
    case DType::float64:
      return f(double());
    case DType::complex64:
      return f(std::complex<float>());
    case DType::complex128:
      return f(std::complex<double>());
    default:
      return;  // the 8-bit floats take part in no arithmetic
  }
}

template <class T> inline constexpr bool is_complex_number = false;
template <class T> inline constexpr bool is_complex_number<std::complex<T>> = true;

template <ScatterReduce::Mode mode, class T> void put(T& to, T value) {
  if constexpr (mode == ScatterReduce::copy) to = value;
  else if constexpr (mode == ScatterReduce::add) to = T(to + value);
  else if constexpr (mode == ScatterReduce::prod) to = T(to * value);
  else if constexpr (is_complex_number<T>) to = value;  // refused above
  else if constexpr (std::is_integral_v<T> || std::is_same_v<T, Truth>)
    to = (mode == ScatterReduce::amax ? to < value : value < to) ? value : to;
  else if (value != value || (mode == ScatterReduce::amax ? to < value : value < to)) to = value;  // NaN wins
}

// The start value of each mode where the old value does not count (include_self is false).
template <ScatterReduce::Mode mode, class T> T identity() {
  if constexpr (mode == ScatterReduce::prod) return T(1);
  else if constexpr (mode == ScatterReduce::add || mode == ScatterReduce::mean || is_complex_number<T>) return T(0);
  else if constexpr (std::is_same_v<T, Truth>) return Truth(mode == ScatterReduce::amin);
  else if constexpr (std::is_integral_v<T>)
    return mode == ScatterReduce::amax ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
  else
    return T(mode == ScatterReduce::amax ? -std::numeric_limits<float>::infinity()
                                         : std::numeric_limits<float>::infinity());
}

template <class F> void visit_mode(ScatterReduce::Mode m, const F& f) {
  switch (m) {
    case ScatterReduce::prod:
      return f(std::integral_constant<ScatterReduce::Mode, ScatterReduce::prod>());
    case ScatterReduce::amax:
      return f(std::integral_constant<ScatterReduce::Mode, ScatterReduce::amax>());
    case ScatterReduce::amin:
      return f(std::integral_constant<ScatterReduce::Mode, ScatterReduce::amin>());
    default:
      return f(
          std::integral_constant<ScatterReduce::Mode, ScatterReduce::add>());  // and of a mean, before the division
  }
}

// A mean is a sum divided by the number of its terms (integers are rounded down); counts has out's geometry.
void divide(const View& out, const std::int64_t* counts);

}  // namespace neura
