// The methods of Tensor: callables that get the tensor first, as Python's instancemethod, but a call x.f(...) makes no
// object that binds the two.
#include "new_type.h"

#include <structmember.h>

namespace neura::python {
namespace {

struct PyBound {
  PyObject_HEAD vectorcallfunc call;
  PyObject* function;
  Py_ssize_t offset;  // of the function's own vectorcall
};
PyObject* function_of(PyObject* self) { return reinterpret_cast<PyBound*>(self)->function; }

PyObject* call(PyObject* self, PyObject* const* args, std::size_t flagged, PyObject* keywords) {
  PyObject* f = function_of(self);
  const auto* its = reinterpret_cast<char*>(f) + reinterpret_cast<PyBound*>(self)->offset;
  return (*reinterpret_cast<const vectorcallfunc*>(its))(f, args, flagged, keywords);
}
PyObject* get(PyObject* self, PyObject* object, PyObject*) {
  return object ? PyMethod_New(function_of(self), object) : Py_NewRef(function_of(self));
}
// What it does not have itself its function has.
PyObject* attribute(PyObject* self, PyObject* name) {
  if (PyObject* own = PyObject_GenericGetAttr(self, name)) return own;
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
  PyErr_Clear();
  return PyObject_GetAttr(function_of(self), name);
}
PyObject* doc(PyObject* self, void*) { return PyObject_GetAttrString(function_of(self), "__doc__"); }
PyObject* module_of(PyObject* self, void*) { return PyObject_GetAttrString(function_of(self), "__module__"); }
PyObject* show(PyObject* self) { return PyUnicode_FromFormat("<instancemethod %R>", function_of(self)); }
void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_DECREF(function_of(self));
  type->tp_free(self);
  Py_DECREF(type);
}

PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(PyBound, call), READONLY, ""},
                         {"__func__", T_OBJECT, offsetof(PyBound, function), READONLY, ""},
                         {}};
PyGetSetDef properties[] = {
    {"__doc__", doc, nullptr, "", nullptr}, {"__module__", module_of, nullptr, "", nullptr}, {}};
PyType_Slot slots[] = {{Py_tp_call, (void*)PyVectorcall_Call},
                       {Py_tp_descr_get, (void*)get},
                       {Py_tp_getattro, (void*)attribute},
                       {Py_tp_repr, (void*)show},
                       {Py_tp_dealloc, (void*)dealloc},
                       {Py_tp_members, members},
                       {Py_tp_getset, properties},
                       {0, nullptr}};
PyType_Spec spec = {"neura.instancemethod", sizeof(PyBound), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR, slots};

}  // namespace

void add_method(const char* name, nb::handle callable) {
  static PyTypeObject* const type = sealed_type(spec);
  PyBound* method = PyObject_New(PyBound, type);
  if (!method) throw nb::python_error();
  NEURA_ASSERT(PyType_HasFeature(Py_TYPE(callable.ptr()), Py_TPFLAGS_HAVE_VECTORCALL));
  method->call = call, method->function = callable.inc_ref().ptr();
  method->offset = Py_TYPE(callable.ptr())->tp_vectorcall_offset;
  const nb::object held = nb::steal(reinterpret_cast<PyObject*>(method));
  if (PyObject_SetAttrString(reinterpret_cast<PyObject*>(tensor_type), name, held.ptr())) throw nb::python_error();
}

}  // namespace neura::python
