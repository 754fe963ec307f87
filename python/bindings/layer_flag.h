// Flags of layers as arguments of Python: True, False, and NumPy's booleans and integers.
#pragma once
#include "common.h"

namespace neura::python {

// A flag of a layer: True, False, or a boolean or an integer of NumPy's. (Functions of tensors take True and False
// alone.)
struct LayerFlag {
  bool value = false;
};

namespace detail {

// How an argument crosses to a layer's `make`: a flag as LayerFlag, anything else as it is.
template <class A> struct LayerArgument {
  using type = A;
  static A&& made(A&& a) { return std::forward<A>(a); }
};
template <> struct LayerArgument<bool> {
  using type = LayerFlag;
  static bool made(LayerFlag t) { return t.value; }
};
template <> struct LayerArgument<std::optional<bool>> {
  using type = std::optional<LayerFlag>;
  static std::optional<bool> made(std::optional<LayerFlag> t) {
    return t ? std::optional<bool>(t->value) : std::nullopt;
  }
};

}  // namespace detail
}  // namespace neura::python

namespace nanobind::detail {

template <> struct type_caster<neura::python::LayerFlag> {
  NEURA_CASTER(neura::python::LayerFlag, "bool")
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
