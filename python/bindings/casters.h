// How each type of Neura crosses the border. Only common.h includes this, and every binding file includes that.
#pragma once

namespace neura::python {

inline bool to_sizes(PyObject* o, Shape& s) { return to_shape(o, s); }
inline bool to_dims(PyObject* o, Dims& d) { return to_shape(o, d); }
inline bool to_per_dim(PyObject* o, PerDim& d) { return to_shape(o, d, true); }

}  // namespace neura::python

namespace nanobind::detail {

#define NEURA_CASTER_OF(T)                                             \
  static constexpr bool IsClass = false;                               \
  using Value = T;                                                     \
  template <class U> using Cast = movable_cast_t<U>;                   \
  template <class U> static constexpr bool can_cast() { return true; } \
  T value{};                                                           \
  explicit operator T*() { return &value; }                            \
  explicit operator T&() { return value; }                             \
  explicit operator T&&() { return std::move(value); }
#define NEURA_CASTER(T, NAME) \
  NEURA_CASTER_OF(T)          \
  static constexpr auto Name = const_name(NAME);

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
// T as `convert` reads it, which answers false, or throws, for what is no T: then another overload is tried.
template <class T, bool (*convert)(PyObject*, T&)> struct from_python_caster {
  NEURA_CASTER_OF(T)
  bool from_python(handle h, uint32_t, cleanup_list*) noexcept {
    try {
      return convert(h.ptr(), value);
    } catch (...) {
      PyErr_Clear();
      return false;
    }
  }
};
template <> struct type_caster<neura::Operand> : from_python_caster<neura::Operand, neura::python::to_operand> {
  static constexpr auto Name = const_name("neura.Tensor | number");
};
template <> struct type_caster<neura::Dims> : from_python_caster<neura::Dims, neura::python::to_dims> {
  static constexpr auto Name = const_name("int | tuple[int, ...]");
};
template <> struct type_caster<neura::PerDim> : from_python_caster<neura::PerDim, neura::python::to_per_dim> {
  static constexpr auto Name = const_name("int | tuple[int, ...]");
};
using Integers = std::vector<std::int64_t>;
template <> struct type_caster<Integers> : from_python_caster<Integers, neura::python::to_integers> {
  static constexpr auto Name = const_name("Sequence[int]");
};
template <> struct type_caster<neura::Scalar> : from_python_caster<neura::Scalar, neura::python::to_scalar> {
  static constexpr auto Name = const_name("number");
  static handle from_cpp(neura::Scalar s, rv_policy, cleanup_list*) noexcept { return neura::python::from_scalar(s); }
};
template <> struct type_caster<neura::Shape> : from_python_caster<neura::Shape, neura::python::to_sizes> {
  static constexpr auto Name = const_name("tuple[int, ...]");
  static handle from_cpp(const neura::Shape& s, rv_policy, cleanup_list*) noexcept {
    PyObject* t = PyTuple_New(s.size());
    for (int i = 0; t && i < s.size(); ++i) PyTuple_SET_ITEM(t, i, PyLong_FromLongLong(s[i]));
    return t;
  }
};
using Tensors = std::vector<neura::Tensor>;
template <> struct type_caster<Tensors> : from_python_caster<Tensors, neura::python::to_tensors> {
  static constexpr auto Name = const_name("Sequence[neura.Tensor]");
  static handle from_cpp(const Tensors& v, rv_policy, cleanup_list*) noexcept {
    return neura::python::tuple_of(v).release();
  }
};
template <> struct type_caster<neura::DType> : from_python_caster<neura::DType, neura::python::to_dtype> {
  static constexpr auto Name = const_name("neura.dtype");
  static handle from_cpp(neura::DType d, rv_policy, cleanup_list*) noexcept { return neura::python::from_dtype(d); }
};

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
