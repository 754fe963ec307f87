// How each type of Neura crosses the border. Only common.h includes this, and every binding file includes that.
#pragma once

namespace nanobind::detail {

#define NEURA_CASTER(T, NAME)                                          \
  static constexpr bool IsClass = false;                               \
  using Value = T;                                                     \
  static constexpr auto Name = const_name(NAME);                       \
  template <class U> using Cast = movable_cast_t<U>;                   \
  template <class U> static constexpr bool can_cast() { return true; } \
  T value{};                                                           \
  explicit operator T*() { return &value; }                            \
  explicit operator T&() { return value; }                             \
  explicit operator T&&() { return std::move(value); }

template <> struct type_caster<neura::Tensor> {
  NEURA_CASTER(neura::Tensor, "neura.Tensor")
  bool from_python(handle h, uint32_t, cleanup_list*) noexcept {
    if (h.is_none()) return true;  // only where the argument may be None
    if (!neura::python::is_tensor(h.ptr())) return false;
    value = neura::python::tensor_in(h.ptr());
    return true;
  }
  static handle from_cpp(const neura::Tensor& t, rv_policy, cleanup_list*) noexcept { return neura::python::wrap(t); }
  static handle from_cpp(const neura::Tensor* t, rv_policy, cleanup_list*) noexcept { return neura::python::wrap(*t); }
};
#define NEURA_FROM_PYTHON(T, NAME, convert)                        \
  template <> struct type_caster<T> {                              \
    NEURA_CASTER(T, NAME)                                          \
    bool from_python(handle h, uint32_t, cleanup_list*) noexcept { \
      try {                                                        \
        return neura::python::convert;                             \
      } catch (...) {                                              \
        PyErr_Clear();                                             \
        return false;                                              \
      }                                                            \
    }
#define NEURA_END \
  }               \
  ;
NEURA_FROM_PYTHON(neura::Operand, "neura.Tensor | number", to_operand(h.ptr(), value))
NEURA_END NEURA_FROM_PYTHON(neura::Dims, "int | tuple[int, ...]", to_shape(h.ptr(), value)) NEURA_END
    NEURA_FROM_PYTHON(neura::PerDim, "int | tuple[int, ...]", to_shape(h.ptr(), value, true)) NEURA_END
    NEURA_FROM_PYTHON(std::vector<std::int64_t>, "Sequence[int]", to_integers(h.ptr(), value)) NEURA_END
    NEURA_FROM_PYTHON(neura::Scalar, "number", to_scalar(h.ptr(), value)) static handle
    from_cpp(neura::Scalar s, rv_policy, cleanup_list*) noexcept {
  return neura::python::from_scalar(s);
}
NEURA_END
NEURA_FROM_PYTHON(neura::Shape, "tuple[int, ...]", to_shape(h.ptr(), value))
static handle from_cpp(const neura::Shape& s, rv_policy, cleanup_list*) noexcept {
  PyObject* t = PyTuple_New(s.size());
  for (int i = 0; t && i < s.size(); ++i) PyTuple_SET_ITEM(t, i, PyLong_FromLongLong(s[i]));
  return t;
}
NEURA_END
NEURA_FROM_PYTHON(std::vector<neura::Tensor>, "Sequence[neura.Tensor]", to_tensors(h.ptr(), value))
static handle from_cpp(const std::vector<neura::Tensor>& v, rv_policy, cleanup_list*) noexcept {
  return neura::python::tuple_of(v).release();
}
NEURA_END
NEURA_FROM_PYTHON(neura::DType, "neura.dtype", to_dtype(h.ptr(), value))
static handle from_cpp(neura::DType d, rv_policy, cleanup_list*) noexcept { return neura::python::from_dtype(d); }
NEURA_END
#undef NEURA_END
#undef NEURA_FROM_PYTHON

// A text or a number that means no device is an error of its own. It waits here until the function takes its argument:
// thrown before, it would be one more overload that does not fit.
template <class T> struct device_caster {  // of a device that may be absent, too
  static constexpr bool IsClass = false;
  using Value = T;
  template <class U> using Cast = movable_cast_t<U>;
  template <class U> static constexpr bool can_cast() { return true; }
  T value{};
  std::exception_ptr error;
  bool from_device(handle h) noexcept {
    try {
      neura::Device d;
      return neura::python::to_device(h.ptr(), d) && (value = d, true);
    } catch (...) {
      PyErr_Clear();
      error = std::current_exception();
      return true;
    }
  }
  T& taken() {
    if (error) std::rethrow_exception(error);
    return value;
  }
  explicit operator T*() { return &taken(); }
  explicit operator T&() { return taken(); }
  explicit operator T&&() { return std::move(taken()); }
};
template <> struct type_caster<neura::Device> : device_caster<neura::Device> {
  static constexpr auto Name = const_name("neura.device | str");
  bool from_python(handle h, uint32_t, cleanup_list*) noexcept { return from_device(h); }
  static handle from_cpp(neura::Device d, rv_policy, cleanup_list*) noexcept { return neura::python::from_device(d); }
};
template <> struct type_caster<std::optional<neura::Device>> : device_caster<std::optional<neura::Device>> {
  static constexpr auto Name = optional_name(type_caster<neura::Device>::Name);
  bool from_python(handle h, uint32_t, cleanup_list*) noexcept { return h.is_none() || from_device(h); }
  static handle from_cpp(std::optional<neura::Device> d, rv_policy, cleanup_list*) noexcept {
    return d ? handle(neura::python::from_device(*d)) : none().release();
  }
};

}  // namespace nanobind::detail
