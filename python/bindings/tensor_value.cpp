#include "tensor_value.h"

#include "neura/core/wrapped.h"

namespace neura::python {
namespace {

Scalar only_value(PyObject* self, const char* what) {
  const Tensor& t = tensor_in(self);
  check<ValueError>(t.numel() == 1, [&] {
    return std::string(what) + ": expected a tensor of one element, got shape " + t.shape().str() +
           "; reduce it first, for example with any() or all()";
  });
  check_one_value(what, t);
  return t.item();
}

}  // namespace

int truth(PyObject* self) {
  try {
    const Scalar s = only_value(self, "bool");
    return s.real() != 0 || s.imag() != 0;
  } catch (...) {
    set_python_error(std::current_exception());
    return -1;
  }
}
PyObject* to_int(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const Scalar s = only_value(self, "int");
    if (s.beyond_int64()) return from_scalar(s);
    return s.is_floating() ? PyLong_FromDouble(s.real()) : PyLong_FromLongLong(s.integer());
  });
}
PyObject* to_float(PyObject* self) {
  return guarded([&] {
    const Scalar s = only_value(self, "float");
    check<DTypeError>(s.imag() == 0, [] { return std::string("float: expected a real number; use complex()"); });
    return PyFloat_FromDouble(s.real());
  });
}
PyObject* to_index(PyObject* self) {
  return guarded([&] {
    const Tensor& t = tensor_in(self);
    check<DTypeError>((is_integral(t.dtype()) || is_unsigned_storage(t.dtype())) && t.numel() == 1,
                      [&] {  // a TypeError, by which Python knows no index
                        return "index: expected an integer tensor of one element, got " + t.spec().str();
                      });
    return from_scalar(only_value(self, "index"));
  });
}

}  // namespace neura::python
