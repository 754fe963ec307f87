// neura.nn.Parameter: a tensor that a module registers when it is assigned, and that requires a gradient.
#include "module_parts.h"
#include "new_type.h"

namespace neura::python {

PyTypeObject* parameter_type;

namespace {

PyObject* create(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"data", "requires_grad", nullptr};
  PyObject* data = Py_None;
  int requires_grad = 1;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|Op:Parameter", const_cast<char**>(names), &data, &requires_grad))
    return nullptr;
  return guarded([&]() -> PyObject* {
    if (data != Py_None && !is_tensor(data))
      return PyErr_Format(PyExc_TypeError, "Parameter: expected a tensor, got %s; make one with neura.tensor(...)",
                          Py_TYPE(data)->tp_name);
    const nn::Parameter checked(data == Py_None ? empty({0}) : tensor_in(data), requires_grad != 0);
    nb::object source = nb::steal(wrap(checked));
    nb::object self = nb::steal(tensor_type->tp_new(type, nb::make_tuple(source).ptr(), nullptr));
    if (!self.is_valid()) throw nb::python_error();
    if (requires_grad) tensor_in(self.ptr()).requires_grad_();
    return self.release().ptr();
  });
}

PyObject* show(PyObject* self) {
  nb::object text = nb::steal(tensor_type->tp_repr(self));
  return text.is_valid() ? PyUnicode_FromFormat("Parameter containing:\n%U", text.ptr()) : nullptr;
}

const char kDoc[] =
    "Parameter(data=None, requires_grad=True)\n--\n\n"
    "A tensor that belongs to a module: assigned as an attribute, it is one of module.parameters(). Shares the memory "
    "of\n"
    "`data`, without its history. TypeError if data is no tensor or cannot require a gradient.";

}  // namespace

PyObject* wrap_parameter(const Tensor& t) {
  PyObject* o = wrap(t);
  if (Py_TYPE(o) == tensor_type) {  // of the same layout, made before anybody knew
    Py_INCREF(parameter_type);
    Py_SET_TYPE(o, parameter_type);
    Py_DECREF(tensor_type);
  }
  return o;
}

void bind_parameter(nb::module_& nn) {
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(create)},
                         {Py_tp_repr, reinterpret_cast<void*>(show)},
                         {Py_tp_doc, const_cast<char*>(kDoc)},
                         {0, nullptr}};
  PyType_Spec spec = {"neura.nn.Parameter", sizeof(PyTensor), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  parameter_type = new_type(spec, tensor_type);
  nn.attr("Parameter") = nb::handle(reinterpret_cast<PyObject*>(parameter_type));
}

}  // namespace neura::python
