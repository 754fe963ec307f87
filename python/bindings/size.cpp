// neura.Size: the tuple of integers that a shape is in Python.
#include "size.h"

#include "new_type.h"

namespace neura::python {
namespace {

PyTypeObject* size_type;

PyObject* of_tuple(PyObject* t) {  // takes the tuple over
  if (!t || !PyTuple_Check(t)) return t;
  const Py_ssize_t n = PyTuple_GET_SIZE(t);
  PyObject* s = size_type->tp_alloc(size_type, n);
  for (Py_ssize_t i = 0; s && i < n; ++i) PyTuple_SET_ITEM(s, i, Py_NewRef(PyTuple_GET_ITEM(t, i)));
  Py_DECREF(t);
  return s;
}
PyObject* of_indices(PyObject* t) {  // the same of any objects with __index__
  if (!t) return nullptr;
  const Py_ssize_t n = PyTuple_GET_SIZE(t);
  PyObject* s = size_type->tp_alloc(size_type, n);
  for (Py_ssize_t i = 0; s && i < n; ++i) {
    PyObject* e = PyTuple_GET_ITEM(t, i);
    PyObject* number = PyIndex_Check(e) ? PyNumber_Index(e) : nullptr;
    if (number) {
      PyTuple_SET_ITEM(s, i, number);
    } else {
      PyErr_Format(PyExc_TypeError, "Size: expected integers, got %s at %zd", Py_TYPE(e)->tp_name, i);
      Py_CLEAR(s);
    }
  }
  Py_DECREF(t);
  return s;
}
PyObject* create(PyTypeObject*, PyObject* args, PyObject* keywords) {
  if (keywords && PyDict_GET_SIZE(keywords)) return PyErr_Format(PyExc_TypeError, "Size: there are no keywords");
  return of_indices(PyObject_Call(reinterpret_cast<PyObject*>(&PyTuple_Type), args, nullptr));
}
PyObject* show(PyObject* self) {
  PyObject* t = PySequence_List(self);
  PyObject* text = t ? PyUnicode_FromFormat("neura.Size(%R)", t) : nullptr;
  Py_XDECREF(t);
  return text;
}
PyObject* add(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(a) || !PyTuple_Check(b)) Py_RETURN_NOTIMPLEMENTED;
  return of_indices(PyTuple_Type.tp_as_sequence->sq_concat(a, b));
}
// Python asks here once `add` has declined, and takes what comes for the sum.
PyObject* join(PyObject* a, PyObject* b) {
  if (PyTuple_Check(b)) return add(a, b);
  return PyErr_Format(PyExc_TypeError, "Size: expected a tuple to join, got %s; use tuple(x)", Py_TYPE(b)->tp_name);
}
PyObject* repeat(PyObject* self, Py_ssize_t n) { return of_tuple(PyTuple_Type.tp_as_sequence->sq_repeat(self, n)); }
PyObject* subscript(PyObject* self, PyObject* key) {
  return of_tuple(PyTuple_Type.tp_as_mapping->mp_subscript(self, key));
}
PyObject* numel(PyObject* self, PyObject*) {
  PyObject* n = PyLong_FromLong(1);
  for (Py_ssize_t i = 0; n && i < PyTuple_GET_SIZE(self); ++i) {
    PyObject* product = PyNumber_Multiply(n, PyTuple_GET_ITEM(self, i));
    Py_DECREF(n);
    n = product;
  }
  return n;
}
PyObject* reduce(PyObject* self, PyObject*) {
  PyObject* t = PyTuple_GetSlice(self, 0, PyTuple_GET_SIZE(self));
  if (t && Py_TYPE(t) == size_type) {  // the whole of a tuple is itself
    Py_DECREF(t);
    t = PySequence_List(self);
  }
  return t ? Py_BuildValue("O(N)", size_type, t) : nullptr;
}

PyMethodDef methods[] = {
    {"numel", numel, METH_NOARGS, "numel($self, /)\n--\n\nThe product of the sizes: the number of elements."},
    {"__reduce__", reduce, METH_NOARGS, ""},
    {}};
PyType_Slot slots[] = {{Py_tp_new, (void*)create},
                       {Py_tp_repr, (void*)show},
                       {Py_nb_add, (void*)add},
                       {Py_sq_concat, (void*)join},
                       {Py_sq_repeat, (void*)repeat},
                       {Py_mp_subscript, (void*)subscript},
                       {Py_tp_methods, methods},
                       {Py_tp_doc, (void*)"Size(iterable)\n--\n\nThe sizes of a tensor: a tuple."},
                       {0, nullptr}};
PyType_Spec spec = {"neura.Size", 0, 0, Py_TPFLAGS_DEFAULT, slots};

}  // namespace

bool means_sizes(PyObject* o) {
  if (Py_TYPE(o) == size_type) return true;
  if (!PyIndex_Check(o)) return false;
  if (!is_array(o)) return true;
  const nb::object number = nb::steal(PyNumber_Index(o));
  if (!number.is_valid()) PyErr_Clear();
  return number.is_valid();
}

PyObject* size_of_shape(const Shape& shape) {
  PyObject* s = size_type->tp_alloc(size_type, shape.size());
  for (int i = 0; s && i < shape.size(); ++i) PyTuple_SET_ITEM(s, i, PyLong_FromLongLong(shape[i]));
  return s;
}

void bind_size(nb::module_& m) {
  size_type = new_type(spec, &PyTuple_Type);
  m.attr("Size") = nb::handle(reinterpret_cast<PyObject*>(size_type));
}

}  // namespace neura::python
