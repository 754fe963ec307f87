// Finds the arguments that override a function; neura/overrides.py calls their __torch_function__.
#include "overrides.h"

#include "module_parts.h"

#include <cstring>

namespace neura::python {

int overriding = 0;

namespace {

PyObject* disabled = nullptr;  // lives as long as the process
thread_local int modes = 0, switched_off = 0, subclasses_off = 0;

// Types that never override are sorted out before anything is looked up.
bool is_plain(PyTypeObject* type) {
  return type == tensor_type || type == parameter_type || type == &PyLong_Type || type == &PyFloat_Type ||
         type == &PyBool_Type || type == Py_TYPE(Py_None) || type == &PyUnicode_Type;
}
bool any_overrides(PyObject* o, bool inside) {
  PyTypeObject* type = Py_TYPE(o);
  if (type != &PyTuple_Type && type != &PyList_Type) return overrides_calls(type);
  if (inside) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
    if (any_overrides(PySequence_Fast_GET_ITEM(o, i), true)) return true;
  return false;
}
bool any_overrides(PyObject* const* args, std::size_t flagged, PyObject* names) {
  const Py_ssize_t n = PyVectorcall_NARGS(flagged) + (names ? PyTuple_GET_SIZE(names) : 0);
  for (Py_ssize_t i = 0; i < n; ++i)
    if (any_overrides(args[i], false)) return true;
  return false;
}

PyObject* dispatch(PyObject* function, PyObject* const* args, std::size_t flagged, PyObject* names) {
  return guarded([&] {
    const Py_ssize_t n = PyVectorcall_NARGS(flagged);
    nb::list positional;
    for (Py_ssize_t i = 0; i < n; ++i) positional.append(nb::handle(args[i]));
    nb::dict named;
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i)
      named[nb::handle(PyTuple_GET_ITEM(names, i))] = nb::handle(args[n + i]);
    return nb::module_::import_("neura.overrides")
        .attr("_dispatch")(nb::handle(function), nb::tuple(positional), named)
        .release()
        .ptr();
  });
}
// What says of which class an object is to be does so for every class.
bool never_overridden(PyObject* function) {
  static const nb::handle as_subclass =
      nb::object(nb::handle(reinterpret_cast<PyObject*>(tensor_type)).attr("as_subclass")).release();
  return function == disabled || function == as_subclass.ptr();
}
bool is_internal(PyObject* function) {  // modes see what a program calls
  const nb::object name = nb::getattr(nb::handle(function), "__name__", nb::str("_"));
  return PyUnicode_Check(name.ptr()) && nb::cast<std::string>(name).starts_with('_');
}

}  // namespace

bool overrides_calls(PyTypeObject* type) {
  static PyObject* const key = PyUnicode_InternFromString("__torch_function__");
  if (is_plain(type) || (subclasses_off && PyType_IsSubtype(type, tensor_type))) return false;
  PyObject* found = PyObject_GetAttr(reinterpret_cast<PyObject*>(type), key);
  if (!found) return PyErr_Clear(), false;
  const bool overrides = found != disabled && found != Py_None;
  Py_DECREF(found);
  return overrides;
}

std::string under_name_of(PyObject* self, const std::string& text) {
  const auto name = nb::cast<std::string>(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(self))).attr("__name__"));
  std::string out = name;
  for (std::size_t i = std::strlen("tensor"); i < text.size(); ++i) {
    out += text[i];
    if (text[i] != '\n' || text[i + 1] != ' ') continue;
    out.append(name.size() > 6 ? name.size() - 6 : 0, ' ');
    i += name.size() < 6 ? 6 - name.size() : 0;
  }
  return out;
}

bool overridden(PyObject* function, PyObject* const* args, std::size_t flagged, PyObject* names, PyObject*& result) {
  if (switched_off || never_overridden(function)) return false;
  if (!(modes && !is_internal(function)) && !any_overrides(args, flagged, names)) return false;
  result = dispatch(function, args, flagged, names);
  return true;
}

bool overridden_after_failure(PyObject* function, PyObject* const* args, std::size_t flagged, PyObject* names,
                              PyObject*& result) {
  if (switched_off) return false;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  if (never_overridden(function) || !any_overrides(args, flagged, names))
    return PyErr_Restore(type, value, trace), false;
  Py_XDECREF(type), Py_XDECREF(value), Py_XDECREF(trace);
  result = dispatch(function, args, flagged, names);
  return true;
}

bool operator_overridden(const char* method, PyObject* a, PyObject* b, PyObject*& result, PyObject* c) {
  PyObject* args[] = {a, b, c};
  const std::size_t n = c ? 3 : b ? 2 : 1;
  if (switched_off || !(modes || any_overrides(args, n, nullptr))) return false;
  const std::string_view name = method;
  const char* called = method;
  if (n == 2 && !is_tensor(a)) {  // number - tensor: the reflected method, whose self comes first
    constexpr std::pair<std::string_view, const char*> reflected[] = {{"add", "add"},
                                                                      {"mul", "mul"},
                                                                      {"sub", "__rsub__"},
                                                                      {"div", "__rtruediv__"},
                                                                      {"pow", "__rpow__"},
                                                                      {"floor_divide", "__rfloordiv__"},
                                                                      {"matmul", "__rmatmul__"},
                                                                      {"remainder", "__rmod__"},
                                                                      {"bitwise_and", "__rand__"},
                                                                      {"bitwise_or", "__ror__"},
                                                                      {"bitwise_xor", "__rxor__"},
                                                                      {"bitwise_left_shift", "__rlshift__"},
                                                                      {"bitwise_right_shift", "__rrshift__"}};
    for (const auto& pair : reflected)
      if (pair.first == name) called = pair.second, std::swap(args[0], args[1]);
  }
  const nb::object f = nb::handle(reinterpret_cast<PyObject*>(tensor_type)).attr(called);
  result = dispatch(f.ptr(), args, n, nullptr);
  return true;
}

bool overridden_attribute(const char* name, PyObject* self, PyObject*& result) {
  if (switched_off || !(modes || any_overrides(self, false))) return false;
  const nb::object get = nb::handle(reinterpret_cast<PyObject*>(tensor_type)).attr(name).attr("__get__");
  result = dispatch(get.ptr(), &self, 1, nullptr);
  return true;
}

void bind_overrides(nb::module_& m) {
  // The __torch_function__ of classes whose objects are to be treated as tensors.
  m.def(
      "_disabled_torch_function_impl",
      [](nb::handle f, nb::handle, const nb::tuple& args, const nb::object& kwargs) {
        return f(*args, **(kwargs.is_none() ? nb::dict() : nb::cast<nb::dict>(kwargs)));
      },
      "func"_a, "types"_a, "args"_a = nb::tuple(), "kwargs"_a = nb::none());
  disabled = nb::object(m.attr("_disabled_torch_function_impl")).release().ptr();
  m.def("_count_overriding", [](int more) { overriding += more; });
  m.def("_count_modes", [](int more) { modes += more, overriding += more; });
  m.def("_switch_overrides_off", [](int more, bool all) { (all ? switched_off : subclasses_off) += more; });
  m.def("_overrides_off", [] { return nb::make_tuple(switched_off > 0, subclasses_off > 0); });
}

}  // namespace neura::python
