// The Python class of a C++ layer.
#include "keywords.h"
#include "module_parts.h"
#include "new_type.h"

namespace neura::python {

PyTypeObject* make_module_type(const char* name, PyTypeObject* base, PyType_Slot* slots, unsigned flags) {
  auto* full = new std::string(std::string("neura.nn.") + name);  // the type keeps the pointer
  PyType_Spec spec = {full->c_str(), sizeof(PyModule), 0, unsigned(Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE) | flags,
                      slots};
  return new_type(spec, base);
}

int run_init(PyObject* maker, PyObject* self, PyObject* args, PyObject* keywords) {
  std::vector<PyObject*> all{self};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) all.push_back(PyTuple_GET_ITEM(args, i));
  watch_function(maker);
  nb::dict changed;  // bias=None is no bias, as in torch
  if (keywords && PyDict_GetItemString(keywords, "bias") == Py_None) {
    changed.update(nb::handle(keywords));
    changed["bias"] = false, keywords = changed.ptr();
  }
  PyObject* r = PyObject_VectorcallDict(maker, all.data(), all.size(), keywords);
  Py_XDECREF(r);
  return r ? 0 : -1;
}

std::string detail::argument_text(const char* name, nb::handle value) {
  return std::string(name) + '=' + (value.is_valid() ? nb::repr(value).c_str() : "None");
}

LayerType new_layer_type(nb::module_& nn, const LayerSpec& spec) {
  const std::string doc = std::string(spec.name) + spec.init_text + "\n--\n\n" + spec.doc;
  PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>(doc.c_str())},
                         {Py_tp_init, reinterpret_cast<void*>(spec.init ? spec.init : initialize_module)},
                         {0, nullptr}};
  PyTypeObject* type = make_module_type(spec.name, native_of(spec.base).type, slots, Py_TPFLAGS_HAVE_VECTORCALL);
  type->tp_getattro = get_attribute;
  const nb::handle cls(reinterpret_cast<PyObject*>(type));
  if (!spec.forward_text.empty()) {
    auto* text =
        new std::string("forward($self, /, " + spec.forward_text.substr(1) + "\n--\n\nWhat the layer computes.");
    auto* def = new PyMethodDef{"forward", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(native_forward)),
                                METH_FASTCALL | METH_KEYWORDS, text->c_str()};
    cls.attr("forward") = nb::steal(PyDescr_NewMethod(type, def));
  }
  bind_native(spec.cpp, type, spec.blank);
  nn.attr(spec.name) = cls;
  return {type};
}

}  // namespace neura::python
