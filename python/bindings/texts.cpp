// What help() says of functions that are bound by hand: one sentence or two, by name.
#include <string_view>
#include <unordered_map>

#include "common.h"

namespace neura::python {
namespace {

struct Text {
  const char *name, *text;
};
constexpr Text kTexts[] = {
#define TEXT(name, text) {#name, text},
#include "texts.def"
#undef TEXT
};

}  // namespace

std::string text_of(const std::string& name) {
  static const auto* all = [] {  // outlives the interpreter
    auto* map = new std::unordered_map<std::string_view, const char*>;
    for (const Text& t : kTexts) map->emplace(t.name, t.text);
    return map;
  }();
  const auto it = all->find(name);
  return it == all->end() ? "" : it->second;
}

void bind_texts(const Names& n) {
  for (const char* type : {"Tensor", "dtype", "device"}) {
    const nb::object o = n.functions.attr(type);
    if (nb::object(o.attr("__doc__")).is_none()) o.attr("__doc__") = text_of(type);
  }
  // inspect and pydoc ask a function's type, which Python code may not change.
  n.function("_describe_functions", [](nb::handle function, const nb::dict& attributes) {
    PyTypeObject* type = Py_TYPE(function.ptr());
    for (auto [name, value] : attributes)
      if (PyDict_SetItem(type->tp_dict, name.ptr(), value.ptr())) throw nb::python_error();
    if (!type->tp_descr_get) type->tp_descr_get = [](PyObject* self, PyObject*, PyObject*) { return Py_NewRef(self); };
    PyType_Modified(type);
  });
}

}  // namespace neura::python
