// A number without a dtype of its own: it takes the dtype it meets and only raises the category (2 * int tensor stays
// int).
#pragma once
#include <complex>
#include <concepts>
#include <cstdint>
#include <string>

#include "neura/core/dtype.h"

namespace neura {

class Scalar {
 public:
  constexpr Scalar() : Scalar(std::int64_t{0}) {}
  template <class T> Scalar(T*) = delete;  // it would be true: a text is no number
  constexpr Scalar(bool v) : category_(Category::boolean), integer_(v) {}
  template <std::integral T> constexpr Scalar(T v) : category_(Category::integer), integer_(std::int64_t(v)) {}
  template <std::floating_point T> constexpr Scalar(T v) : category_(Category::floating), real_(double(v)) {}
  constexpr Scalar(std::complex<double> v) : category_(Category::complex), real_(v.real()), imag_(v.imag()) {}

  constexpr Category category() const { return category_; }
  constexpr bool is_floating() const { return category_ == Category::floating; }
  constexpr bool is_complex() const { return category_ == Category::complex; }
  constexpr double real() const {
    return category_ > Category::integer ? real_ : beyond_int64() ? double(std::uint64_t(integer_)) : double(integer_);
  }
  constexpr double imag() const { return category_ == Category::complex ? imag_ : 0; }
  // A whole number of uint64 from 2^63 on; integer() has its bits.
  constexpr bool beyond_int64() const { return category_ == Category::integer && beyond_; }
  constexpr std::int64_t integer() const { return category_ <= Category::integer ? integer_ : std::int64_t(real_); }
  // The dtype it has where nothing else gives one: bool, int64, the default float and its complex.
  DType dtype() const;
  void store(DType, void* to) const;  // as one element of that dtype
  static Scalar load(DType, const void* from);
  static constexpr Scalar of_uint64(std::uint64_t v) {
    Scalar s(v);
    s.beyond_ = s.integer_ < 0;
    return s;
  }
  std::string str() const;

 private:
  Category category_;
  bool beyond_ = false;
  union {
    std::int64_t integer_;
    double real_;
  };
  double imag_ = 0;
};

DType default_dtype();          // of floating numbers where none is said: float32 at first
void set_default_dtype(DType);  // float16, bfloat16, float32 or float64; DTypeError otherwise

}  // namespace neura
