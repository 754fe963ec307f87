// Containers: their methods are Python's (python/neura/nn/container.py), over those of C++.
#include "modules.h"
#include "neura/nn/container.h"

namespace neura::python {
namespace {

Ref<nn::Module> module_ref(nb::handle h) {
  if (!is_module(h.ptr())) {
    PyErr_Format(PyExc_TypeError, "%s is not a Module subclass", Py_TYPE(h.ptr())->tp_name);
    throw nb::python_error();
  }
  return Ref<nn::Module>::share(&module_in(h.ptr()));
}

std::vector<std::pair<std::string, Ref<nn::Module>>> named_of(nb::handle mapping) {
  std::vector<std::pair<std::string, Ref<nn::Module>>> out;
  for (nb::handle item : mapping.attr("items")()) {
    nb::object name = item[0];
    if (!PyUnicode_Check(name.ptr())) throw nb::type_error("module name should be a string");
    out.emplace_back(nb::cast<std::string>(name), module_ref(nb::object(item[1])));
  }
  return out;
}

nb::handle object(surface::AnyObject given) { return static_cast<PyObject*>(const_cast<void*>(given.object)); }

std::vector<Ref<nn::Module>> list_of(nb::handle modules) {
  std::vector<Ref<nn::Module>> out;
  if (modules.ptr() && !modules.is_none())
    for (nb::handle h : nb::borrow(modules)) out.push_back(module_ref(h));
  return out;
}

const char kSequential[] =
    "Runs its modules one after the other: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), or by name "
    "with\n"
    "an OrderedDict. What one returns is what the next gets. Indexed, sliced, appended to and added like a list.";

}  // namespace

void bind_containers(nb::module_& m) {
  bind_layer<nn::ModuleList>(
      m, "A list of modules, whose parameters are those of the module it is assigned to. It has no forward.",
      "modules=None", [](surface::AnyObject modules) { return nn::make<nn::ModuleList>(list_of(object(modules))); })
      .def("__len__", &nn::ModuleList::size)
      .def("_at", [](nn::ModuleList& l, std::int64_t i) { return l[i]; })
      .def(
          "_insert", [](nn::ModuleList& l, std::int64_t i, nb::handle x) { l.insert(i, module_ref(x)); }, nb::arg(),
          nb::arg().none())
      .def(
          "_set", [](nn::ModuleList& l, std::int64_t i, nb::handle x) { l.set(i, module_ref(x)); }, nb::arg(),
          nb::arg().none())
      .def("_erase", &nn::ModuleList::erase);
  bind_layer<nn::Sequential>(
      m, kSequential, "*args",
      [](surface::AnyObject args) {
        const nb::handle modules = object(args);
        if (modules.ptr() && nb::len(modules) == 1 && PyDict_Check(PyTuple_GET_ITEM(modules.ptr(), 0)))
          return nn::make<nn::Sequential>(named_of(PyTuple_GET_ITEM(modules.ptr(), 0)));
        return nn::make<nn::Sequential>(list_of(modules));
      })
      .def("__len__", &nn::Sequential::size)
      .def("_at", [](nn::Sequential& l, std::int64_t i) { return l[i]; })
      .def(
          "_insert", [](nn::Sequential& l, std::int64_t i, nb::handle x) { l.insert(i, module_ref(x)); }, nb::arg(),
          nb::arg().none())
      .def(
          "_set", [](nn::Sequential& l, std::int64_t i, nb::handle x) { l.set(i, module_ref(x)); }, nb::arg(),
          nb::arg().none())
      .def("_erase", &nn::Sequential::erase);
  bind_layer<nn::ModuleDict>(m, "Modules by name, in order of insertion; used like a dictionary. It has no forward.",
                             "modules=None", [](surface::AnyObject) { return nn::make<nn::ModuleDict>(); });
  bind_layer<nn::ParameterList>(
      m, "A list of parameters (tensors become parameters), which belong to the module it is assigned to.",
      "values=None", [](surface::AnyObject) { return nn::make<nn::ParameterList>(); });
}

}  // namespace neura::python
