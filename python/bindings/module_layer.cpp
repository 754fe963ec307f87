// The Python class of a C++ layer.
#include "arguments.h"
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

struct Maker {
  surface::Layer layer;
  PyObject* name;
  std::vector<Overload> overloads;  // one
};
const Maker* new_maker(surface::Layer layer, const LayerWords& words) {
  layer.without(words.without);
  layer.with_exact(words.exact);
  layer.takes_anything = words.takes_anything;
  auto* maker = new Maker{std::move(layer), nullptr, {}};
  maker->name = PyUnicode_InternFromString(maker->layer.name.c_str());
  maker->overloads.emplace_back(maker->layer);
  return maker;
}
std::string init_text(const Maker* maker) { return maker->layer.signature(); }

int run_init(const Maker* maker, PyObject* self, PyObject* args, PyObject* keywords) {
  const auto run = [&] {
    const surface::Layer& layer = maker->layer;
    std::vector<PyObject*> all;
    nb::object names;
    if (!layer.takes_anything) {
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) all.push_back(PyTuple_GET_ITEM(args, i));
      PyObject *key, *value;
      if (keywords) names = nb::steal(PyTuple_New(PyDict_GET_SIZE(keywords)));
      for (Py_ssize_t at = 0, k = 0; keywords && PyDict_Next(keywords, &at, &key, &value);) {
        all.push_back(value);
        PyTuple_SET_ITEM(names.ptr(), k++, Py_NewRef(key));
      }
    }
    CallArguments given(maker->name, maker->overloads, all.data(), layer.takes_anything ? 0 : PyTuple_GET_SIZE(args),
                        names.ptr());
    given.reader.convert = true, given.reader.layer = layer.name.c_str(), given.reader.exact = layer.exact;
    if (!given.place(maker->overloads.front())) given.fail();
    const Ref<nn::Module> made = layer.make(layer, given.reader);
    if (!made) given.refuse(layer), given.fail();
    attach(self, made);
    return self;
  };
  return guarded(run) ? 0 : -1;
}

void LayerType::watch(const char* name) const { watch_function(PyDict_GetItemString(type->tp_dict, name)); }

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
