// An operand of a call: a tensor (borrowed), a number that takes the dtype it meets, or nothing.
#pragma once
#include <type_traits>

#include "neura/core/tensor.h"

namespace neura {

struct Operand {
  TensorImpl* tensor = nullptr;
  union {
    Scalar scalar;  // unwritten for a tensor: operands are made on every call
  };
  enum Kind : std::uint8_t { absent, is_a_tensor, is_a_scalar } kind = absent;

  Operand() {}
  Operand(const Tensor& t) : tensor(t.impl()), kind(t ? is_a_tensor : absent) {}
  Operand(TensorImpl* t) : tensor(t), kind(is_a_tensor) {}
  Operand(Scalar s) : scalar(s), kind(is_a_scalar) {}
  template <class T>
  requires std::is_arithmetic_v<T> Operand(T v) : Operand(Scalar(v)) {}
  Operand(std::complex<double> v) : Operand(Scalar(v)) {}
  bool is_tensor() const { return kind == is_a_tensor; }
  bool is_scalar() const { return kind == is_a_scalar; }
};

}  // namespace neura
