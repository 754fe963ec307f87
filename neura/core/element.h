// The C++ types that elements have, as concepts, for templates over them. Integers and bool have concepts and no
// kernels of their own: a formula is generic over its number (backend/number), and what only integers have (&, <<, gcd)
// does not compile for others.
#pragma once
#include <complex>
#include <concepts>
#include <limits>
#include <type_traits>

#include "neura/core/tensor.h"

namespace neura {

// The C++ type of a dtype: trivially copyable, and made from a number.
template <class T>
concept Element = requires {
  dtype_of_t<T>::value;
}
&&std::is_trivially_copyable_v<T>&& std::constructible_from<Scalar, std::complex<double>>;

// + - * /, negation, order, and a text: what a numeric kernel may require of float and double. The halves are memory,
// not numbers: their arithmetic is float's.
template <class T>
concept Numeric = Element<T> && std::floating_point<T> && std::totally_ordered<T> && std::regular<T> &&
    requires(T a, T b) {
  { a + b } -> std::same_as<T>;
  { a - b } -> std::same_as<T>;
  { a* b } -> std::same_as<T>;
  { a / b } -> std::same_as<T>;
  { -a } -> std::same_as<T>;
  { Scalar(a).str() } -> std::convertible_to<std::string>;
};
template <class T>
concept Integral = Element<T> && std::integral<T> && !std::same_as<T, bool>;
template <class T>
concept Boolean = Element<T> && std::same_as<T, bool>;
template <class T>
concept ComplexNumber = Element<T> && !Numeric<T> && !std::integral<T>;

// 0, 1 and the ends of the range; lowest and highest are finite.
template <class T>
requires Numeric<T> || Integral<T>
struct Constants {
  static constexpr T zero = T(0), one = T(1), lowest = std::numeric_limits<T>::lowest(),
                     highest = std::numeric_limits<T>::max();
};

}  // namespace neura
