// The flags of layers.
#pragma once
#include "common.h"

namespace neura::python {

// A flag of a layer: True and False, or an integer or truth of NumPy's that stands for them. (Functions of tensors take
// True and False alone.)
struct Truth {
  bool value = false;
};

namespace detail {

// How an argument crosses to a layer's `make`: a flag as Truth, anything else as it is.
template <class A> struct Crossing {
  using type = A;
  static A&& made(A&& a) { return std::forward<A>(a); }
};
template <> struct Crossing<bool> {
  using type = Truth;
  static bool made(Truth t) { return t.value; }
};
template <> struct Crossing<std::optional<bool>> {
  using type = std::optional<Truth>;
  static std::optional<bool> made(std::optional<Truth> t) { return t ? std::optional<bool>(t->value) : std::nullopt; }
};

}  // namespace detail
}  // namespace neura::python

namespace nanobind::detail {

template <> struct type_caster<neura::python::Truth> {
  NEURA_CASTER(neura::python::Truth, "bool")
  bool from_python(handle h, uint32_t, cleanup_list*) noexcept {
    neura::Scalar s;
    try {
      if (neura::python::is_tensor(h.ptr()) || !neura::python::to_scalar(h.ptr(), s)) return false;
    } catch (...) {
      PyErr_Clear();
      return false;
    }
    value.value = s.integer() != 0;
    return !s.is_floating() && !s.is_complex();
  }
};

}  // namespace nanobind::detail
