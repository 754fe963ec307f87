// Values that cross between Python and C++ modules. What is no tensor, number, string, list or dictionary passes
// through untouched.
#include "module_parts.h"

namespace neura::python {
namespace {

struct PyOpaque : nn::Opaque {
  PyObject* object;
  explicit PyOpaque(PyObject* o) : object(Py_NewRef(o)) {}
  ~PyOpaque() override {
    if (!Py_IsInitialized()) return;
    const nb::gil_scoped_acquire gil;
    Py_DECREF(object);
  }
};

nn::Value opaque(PyObject* o) { return nn::Value(std::shared_ptr<nn::Opaque>(new PyOpaque(o))); }

nn::Value box_dict(PyObject* o) {
  nn::Dict d;
  PyObject *key, *value;
  for (Py_ssize_t i = 0; PyDict_Next(o, &i, &key, &value);) {
    if (!PyUnicode_CheckExact(key)) return opaque(o);
    d.items.emplace_back(nb::cast<std::string>(nb::handle(key)), to_value(value));
  }
  return d;
}

}  // namespace

nn::Value to_value(PyObject* o) {
  if (o == Py_None) return {};
  if (is_tensor(o)) return tensor_in(o);
  if (PyBool_Check(o)) return o == Py_True;
  if (PyLong_CheckExact(o)) {
    int overflow;
    const long long x = PyLong_AsLongLongAndOverflow(o, &overflow);
    return overflow ? opaque(o) : nn::Value(x);
  }
  if (PyFloat_CheckExact(o)) return PyFloat_AS_DOUBLE(o);
  if (PyUnicode_CheckExact(o)) {
    Py_ssize_t size;
    const char* text = PyUnicode_AsUTF8AndSize(o, &size);
    if (!text) return PyErr_Clear(), opaque(o);  // lone surrogates
    return std::string(text, std::size_t(size));
  }
  if (PyDict_CheckExact(o)) return box_dict(o);
  if (!PyTuple_CheckExact(o) && !PyList_CheckExact(o)) return opaque(o);
  if (Py_EnterRecursiveCall(" while passing a nested list to a module")) throw nb::python_error();
  nn::List l;
  l.tuple = PyTuple_CheckExact(o);
  try {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
      l.items.push_back(to_value(PySequence_Fast_GET_ITEM(o, i)));
  } catch (...) {
    Py_LeaveRecursiveCall();
    throw;
  }
  Py_LeaveRecursiveCall();
  return l;
}

nb::object from_value(const nn::Value& v) {
  return std::visit(
      []<class T>(const T& x) -> nb::object {
        if constexpr (std::same_as<T, std::monostate>) return nb::none();
        else if constexpr (std::same_as<T, Tensor>) return nb::steal(wrap(x));
        else if constexpr (std::same_as<T, nn::List>) {
          nb::list l;
          for (const nn::Value& e : x.items) l.append(from_value(e));
          return x.tuple ? nb::object(nb::tuple(l)) : l;
        } else if constexpr (std::same_as<T, nn::Dict>) {
          nb::dict d;
          for (const auto& [key, e] : x.items) d[nb::str(key.data(), key.size())] = from_value(e);
          return d;
        } else if constexpr (std::same_as<T, std::shared_ptr<nn::Opaque>>) {
          auto* o = dynamic_cast<PyOpaque*>(x.get());
          if (!o) throw nb::type_error("the result has no form in Python");
          return nb::borrow(o->object);
        } else return nb::cast(x);
      },
      v.v);
}

}  // namespace neura::python
