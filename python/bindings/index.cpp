// x[…] and x[…] = …, and the functions that read and write by index.
#include "overrides.h"

namespace neura::python {
namespace {

constexpr Py_ssize_t kShort = 32;  // elements: NumPy's most dimensions once

std::optional<std::int64_t> bound(PyObject* o) {
  if (o == Py_None) return {};
  Scalar s;
  if (!to_scalar(o, s) || s.is_floating() || s.is_complex())
    throw nb::type_error("index: expected integers or None in a slice");
  return s.integer();
}
// Text is an IndexError to NumPy and a TypeError to PyTorch: here it is both.
[[noreturn]] void refuse_text(PyObject* o) {
  static const nb::handle both = [] {
    const nb::object base = nb::module_::import_("neura._neura").attr("errors").attr("IndexError");
    const nb::tuple bases = nb::make_tuple(base, nb::handle(PyExc_TypeError));
    return nb::handle(PyErr_NewException("neura.errors.IndexError", bases.ptr(), nullptr));
  }();
  PyErr_Format(both.ptr(), "index: expected integers, slices, None, Ellipsis, masks or integer arrays, got %s",
               Py_TYPE(o)->tp_name);
  throw nb::python_error();
}
bool add_index(std::vector<Index>& out, PyObject* o) {
  if (o == Py_None) return out.emplace_back(None), true;
  if (o == Py_Ellipsis) return out.emplace_back(Ellipsis), true;
  if (PyBool_Check(o)) return out.emplace_back(o == Py_True), true;
  if (is_tensor(o)) return out.emplace_back(tensor_in(o)), true;
  if (PySlice_Check(o)) {
    auto* s = reinterpret_cast<PySliceObject*>(o);
    return out.emplace_back(Slice(bound(s->start), bound(s->stop), bound(s->step).value_or(1))), true;
  }
  Scalar s;
  if (!PyFloat_Check(o) && PyIndex_Check(o) && to_scalar(o, s)) return out.emplace_back(s.integer()), true;
  if (PyUnicode_Check(o) || PyBytes_Check(o)) refuse_text(o);
  if (PyFloat_Check(o) || PyComplex_Check(o)) return false;
  if (!PySequence_Check(o) && !PyObject_CheckBuffer(o)) return false;
  Tensor t = tensor_from(o);
  if (t.numel() == 0 && is_floating(t.dtype())) t = t.to(DType::int64);  // x[[]]
  return out.emplace_back(t), true;
}

// A sequence that is no tuple counts as one where NumPy of old had it so: it is short, and an element of it is an index
// other than a number.
bool counts_as_tuple(PyObject* key) {
  if (is_tensor(key) || PyObject_CheckBuffer(key) || PyUnicode_Check(key) || !PySequence_Check(key)) return false;
  const Py_ssize_t n = PySequence_Size(key);
  if (n < 0) PyErr_Clear();
  for (Py_ssize_t i = 0; n < kShort && i < n; ++i) {
    const nb::object o = nb::steal(PySequence_GetItem(key, i));
    if (!o.is_valid()) return PyErr_Clear(), false;
    if (o.is_none() || o.ptr() == Py_Ellipsis || PySlice_Check(o.ptr()) || is_tensor(o.ptr())) return true;
    if (PySequence_Check(o.ptr())) return true;
  }
  return false;
}
nb::object tuple_of_sequence(PyObject* key) {  // invalid for a key that counts as one index
  if (!counts_as_tuple(key)) return {};
  if (PyErr_WarnEx(PyExc_UserWarning,
                   "index: a sequence of indices counts as a tuple of them for now; write x[tuple(indices)], or "
                   "x[neura.tensor(indices)] for one index",
                   1))
    throw nb::python_error();
  nb::object all = nb::steal(PySequence_Tuple(key));
  if (!all.is_valid()) throw nb::python_error();
  return all;
}

}  // namespace

std::vector<Index> to_indices(PyObject* key) {
  std::vector<Index> out;
  const auto add = [&](PyObject* o) {
    if (!add_index(out, o)) {
      const std::string type = Py_TYPE(o)->tp_name;
      throw IndexError("index: expected integers, slices, None, Ellipsis, masks or integer arrays, got " + type);
    }
  };
  const nb::object all = PyTuple_Check(key) ? nb::borrow(key) : tuple_of_sequence(key);
  if (!all.is_valid()) return add(key), out;
  const auto at = [&](Py_ssize_t i) { return PyTuple_GET_ITEM(all.ptr(), i); };
  Py_ssize_t n = PyTuple_GET_SIZE(all.ptr());
  for (Py_ssize_t i = 0; i < n; ++i) {
    add(at(i));
    if (at(i) != Py_Ellipsis) continue;
    while (n > i + 1 && at(n - 1) == Py_Ellipsis) --n;  // a second Ellipsis at the end selects nothing more
  }
  return out;
}
PyObject* subscript(PyObject* self, PyObject* key) {
  return guarded([&] {
    PyObject* r = nullptr;
    if (overriding && operator_overridden("__getitem__", self, key, r)) [[unlikely]]
      return r;
    return wrap(index(tensor_in(self), to_indices(key)));
  });
}
int assign_subscript(PyObject* self, PyObject* key, PyObject* value) {
  nb::object done = nb::steal(guarded([&]() -> PyObject* {
    if (!value) throw nb::type_error("index: elements of a tensor cannot be deleted");
    PyObject* r = nullptr;
    if (overriding && operator_overridden("__setitem__", self, key, r, value)) [[unlikely]]
      return r;
    Tensor t = tensor_in(self);
    Scalar s;
    if (is_tensor(value)) index_put_(t, to_indices(key), tensor_in(value));
    else if (to_scalar(value, s)) index_put_(t, to_indices(key), s);
    else index_put_(t, to_indices(key), tensor_from(value));
    return Py_NewRef(Py_None);
  }));
  return done.is_valid() ? 0 : -1;
}

}  // namespace neura::python
