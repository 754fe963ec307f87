// What nanobind's functions say of arguments that no overload takes: NumPy's names for torch's arguments are
// understood, and the rest is refused in a sentence of ours, in the place of nanobind's list. neura/_keywords.py knows
// the words.
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

// With other keywords once more, or with an error that names the argument.
PyObject* call_again(PyObject* self, PyObject* const* args, std::size_t flagged, PyObject* names) {
  if (!no_overload_fits()) return nullptr;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  const nb::object error = nb::steal(value);
  Py_XDECREF(type), Py_XDECREF(trace);
  return guarded([&] {
    const Py_ssize_t n = PyVectorcall_NARGS(flagged);
    // An object that is not constructed yet stays away from Python.
    const nb::object name = nb::handle(self).attr("__name__");
    const bool constructs = n && PyUnicode_CompareWithASCIIString(name.ptr(), "__init__") == 0;
    nb::list positional;
    if (constructs) positional.append(nb::none());
    for (Py_ssize_t i = constructs; i < n; ++i) positional.append(nb::handle(args[i]));
    nb::dict named;
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i)
      named[nb::handle(PyTuple_GET_ITEM(names, i))] = nb::handle(args[n + i]);
    return nb::module_::import_("neura._keywords")
        .attr("call_again")(nb::handle(self), nb::tuple(positional), named, error)
        .release()
        .ptr();
  });
}

// Of the number of arguments: nanobind's word to its constructors that the object is its own.
constexpr std::size_t kTrusted = std::size_t(1) << (8 * sizeof(std::size_t) - 2);

// Accessors of attributes are overridden elsewhere.
template <int kind, bool accessor>
PyObject* call(PyObject* self, PyObject* const* args, std::size_t with_trust, PyObject* names) {
  const std::size_t flagged = with_trust & ~kTrusted;
  PyObject* r = nullptr;
  if (!accessor && overriding && overridden(self, args, flagged, names, r)) [[unlikely]]
    return r;
  r = originals[kind](self, args, with_trust, names);
  if (r) [[likely]]
    return r;
  const bool misfit = !accessor && PyErr_ExceptionMatches(PyExc_TypeError);
  if (misfit && overridden_after_failure(self, args, flagged, names, r)) return r;
  return call_again(self, args, flagged, names);
}
template <int... kind> vectorcallfunc call_of(int which, bool accessor, std::integer_sequence<int, kind...>) {
  constexpr vectorcallfunc functions[] = {call<kind, false>...}, accessors[] = {call<kind, true>...};
  return accessor ? accessors[which] : functions[which];
}
constexpr std::make_integer_sequence<int, kMost> kAll;

vectorcallfunc watched(vectorcallfunc original, bool accessor) {
  for (int i = 0; i < kinds; ++i) {
    if (original == originals[i]) return call_of(i, accessor, kAll);
    if (original == call_of(i, false, kAll) || original == call_of(i, true, kAll)) return original;
  }
  if (kinds == kMost) return original;
  originals[kinds] = original;
  return call_of(kinds++, accessor, kAll);
}

}  // namespace

static void watch(PyObject* o, bool accessor) {
  static PyTypeObject* const functions = Py_TYPE(nb::cpp_function([] {}).ptr());
  static PyTypeObject* const methods = Py_TYPE(nb::cpp_function([](nb::handle) {}, nb::is_method()).ptr());
  PyTypeObject* type = Py_TYPE(o);
  const auto is = [&](const char* name) { return std::strcmp(type->tp_name, name) == 0; };
  if (type != functions && type != methods && !is("neura.row_function") && !is("neura.function")) return;
  auto* place = reinterpret_cast<vectorcallfunc*>(reinterpret_cast<char*>(o) + type->tp_vectorcall_offset);
  *place = watched(*place, accessor);
}
void watch_function(PyObject* o) { watch(o, false); }
void watch_accessor(PyObject* o) { watch(o, true); }
void watch_keywords(nb::handle m) {
  const nb::object values = nb::object(m.attr("__dict__")).attr("values")();
  for (nb::handle value : nb::list(values)) {
    PyObject* o = value.ptr();
    if (PyModule_Check(o) || (PyType_Check(o) && !PyType_Check(m.ptr()))) watch_keywords(value);
    else if (Py_TYPE(o) == &PyStaticMethod_Type) watch_function(nb::object(value.attr("__func__")).ptr());
    else if (Py_TYPE(o) == &PyProperty_Type)
      for (const char* name : {"fget", "fset"}) watch_accessor(nb::object(value.attr(name)).ptr());
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
