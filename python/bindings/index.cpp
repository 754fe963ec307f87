// x[…] and x[…] = …, and the functions that read and write by index.
#include "overrides.h"

namespace neura::python {
namespace {

std::optional<std::int64_t> bound(PyObject* o) {
  if (o == Py_None) return {};
  Scalar s;
  if (!to_scalar(o, s) || s.is_floating() || s.is_complex())
    throw nb::type_error("index: expected integers or None in a slice");
  return s.integer();
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
  if (PyFloat_Check(o) || PyComplex_Check(o) || PyUnicode_Check(o)) return false;
  if (!PySequence_Check(o) && !PyObject_CheckBuffer(o)) return false;
  Tensor t = tensor_from(o);
  if (t.numel() == 0 && is_floating(t.dtype())) t = t.to(DType::int64);  // x[[]]
  return out.emplace_back(t), true;
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
  if (!PyTuple_Check(key)) add(key);
  else
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) add(PyTuple_GET_ITEM(key, i));
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
