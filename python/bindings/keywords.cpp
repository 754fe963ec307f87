// Keywords that no overload of a function has: NumPy's names for torch's arguments are understood, and others are
// refused by name, in the place of nanobind's list of overloads. neura/_keywords.py knows the words.
#include <cstring>

#include "keywords.h"
#include "overrides.h"

namespace neura::python {
namespace {

constexpr int kMost = 12;  // nanobind has a few kinds of calls
vectorcallfunc originals[kMost];
int kinds = 0;

bool no_overload_fits() {
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) return false;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  const nb::object text = nb::steal(value ? PyObject_Str(value) : nullptr);
  const char* words = text.is_valid() && PyUnicode_Check(text.ptr()) ? PyUnicode_AsUTF8(text.ptr()) : nullptr;
  if (!words) PyErr_Clear();
  const bool fits = words && std::strstr(words, "(): incompatible function arguments.");
  PyErr_Restore(type, value, trace);
  return fits;
}

// With other keywords once more, or with an error that names the keyword.
PyObject* call_again(PyObject* self, PyObject* const* args, std::size_t flagged, PyObject* names) {
  if (!no_overload_fits()) return nullptr;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  const nb::object error = nb::steal(value);
  Py_XDECREF(type), Py_XDECREF(trace);
  return guarded([&] {
    const Py_ssize_t n = PyVectorcall_NARGS(flagged);
    nb::list positional;
    for (Py_ssize_t i = 0; i < n; ++i) positional.append(nb::handle(args[i]));
    nb::dict named;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i)
      named[nb::handle(PyTuple_GET_ITEM(names, i))] = nb::handle(args[n + i]);
    return nb::module_::import_("neura._keywords")
        .attr("call_again")(nb::handle(self), nb::tuple(positional), named, error)
        .release()
        .ptr();
  });
}

template <int kind> PyObject* call(PyObject* self, PyObject* const* args, std::size_t flagged, PyObject* names) {
  PyObject* r = nullptr;
  if (overriding && overridden(self, args, flagged, names, r)) [[unlikely]]
    return r;
  r = originals[kind](self, args, flagged, names);
  if (r) [[likely]]
    return r;
  if (PyErr_ExceptionMatches(PyExc_TypeError) && overridden_after_failure(self, args, flagged, names, r)) return r;
  return names ? call_again(self, args, flagged, names) : nullptr;
}
template <int... kind> vectorcallfunc call_of(int which, std::integer_sequence<int, kind...>) {
  constexpr vectorcallfunc all[] = {call<kind>...};
  return all[which];
}
constexpr std::make_integer_sequence<int, kMost> kAll;

vectorcallfunc watched(vectorcallfunc original) {
  for (int i = 0; i < kinds; ++i) {
    if (original == originals[i]) return call_of(i, kAll);
    if (original == call_of(i, kAll)) return original;
  }
  if (kinds == kMost) return original;
  originals[kinds] = original;
  return call_of(kinds++, kAll);
}

}  // namespace

void watch_function(PyObject* o) {
  static PyTypeObject* const made_by_nanobind = Py_TYPE(nb::cpp_function([] {}).ptr());
  PyTypeObject* type = Py_TYPE(o);
  const auto is = [&](const char* name) { return std::strcmp(type->tp_name, name) == 0; };
  if (type != made_by_nanobind && !is("neura.row_function") && !is("neura.function")) return;
  auto* place = reinterpret_cast<vectorcallfunc*>(reinterpret_cast<char*>(o) + type->tp_vectorcall_offset);
  *place = watched(*place);
}
void watch_keywords(const nb::module_& m) {
  const nb::object values = nb::object(m.attr("__dict__")).attr("values")();
  for (nb::handle value : nb::list(values)) {
    PyObject* o = value.ptr();
    if (PyModule_Check(o)) watch_keywords(nb::borrow<nb::module_>(value));
    else watch_function(PyInstanceMethod_Check(o) ? PyInstanceMethod_GET_FUNCTION(o) : o);
  }
}

const char* keyword_text(PyObject* key) {
  const char* text = PyUnicode_AsUTF8(key);
  if (!text) throw nb::python_error();
  return text;
}
void refuse_keyword(const char* op, const char* keyword, const nb::list& names) {
  const nb::object text = nb::module_::import_("neura._keywords").attr("unknown")(op, keyword, names);
  throw nb::type_error(nb::cast<std::string>(text).c_str());
}
nb::object renamed_keyword(const char* keyword, const nb::list& names) {
  return nb::module_::import_("neura._keywords").attr("renamed")(keyword, names);
}

}  // namespace neura::python
