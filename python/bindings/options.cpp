#include "options.h"

#include <cmath>

namespace neura::python {

using optim::lr_scheduler::Phase;

void wrong_option(OptionName name, const char* expected, PyObject* got) {
  PyErr_Format(PyExc_TypeError, "%s: expected %s for \"%s\", got %s", name.owner, expected, name.name,
               Py_TYPE(got)->tp_name);
  throw nb::python_error();
}

double number_of(PyObject* o, OptionName name, const char* expected) {
  if (PyFloat_Check(o)) return PyFloat_AS_DOUBLE(o);
  if (is_tensor(o) && tensor_in(o).numel() == 1) return tensor_in(o).detach().item().real();
  Scalar s;
  if (!to_scalar(o, s)) wrong_option(name, expected, o);
  return s.real();
}
void from_python(PyObject* o, OptionName name, double& x) { x = number_of(o, name); }
void from_python(PyObject* o, OptionName name, bool& x) {
  const int truth = PyObject_IsTrue(o);
  if (truth < 0) wrong_option(name, "a truth value", o);
  x = truth != 0;
}
void from_python(PyObject* o, OptionName name, nn::Number& x) {
  x = number_of(o, name);
  x.whole = PyIndex_Check(o) && !is_tensor(o);
}
void from_python(PyObject* o, OptionName name, std::int64_t& x) {
  const double number = number_of(o, name, "an integer");
  const bool fits = std::abs(number) < 9.2e18;
  if (!fits || std::floor(number) != number) wrong_option(name, "an integer", o);
  x = std::int64_t(number);
}
void from_python(PyObject* o, OptionName name, std::string& x) {
  if (!PyUnicode_Check(o)) wrong_option(name, "a string", o);
  x = nb::cast<std::string>(nb::handle(o));
}

// The elements, as a tuple of its own: reading a number may change a list.
static nb::object elements_of(PyObject* o, OptionName name, const char* expected) {
  if (PyUnicode_Check(o) || !PySequence_Check(o) || is_tensor(o)) wrong_option(name, expected, o);
  nb::object t = nb::steal(PySequence_Tuple(o));
  if (!t.is_valid()) throw nb::python_error();
  return t;
}
void numbers_from(PyObject* o, OptionName name, std::size_t n, double* to) {
  const char* expected = n == 2 ? "two numbers" : n == 3 ? "three numbers" : "numbers";
  const nb::object t = elements_of(o, name, expected);
  if (std::size_t(PyTuple_GET_SIZE(t.ptr())) != n) wrong_option(name, expected, o);
  for (std::size_t i = 0; i < n; ++i) to[i] = number_of(PyTuple_GET_ITEM(t.ptr(), Py_ssize_t(i)), name, expected);
}
void from_python(PyObject* o, OptionName name, optim::Epsilons& x) {
  const nb::object t = elements_of(o, name, "two numbers");
  if (PyTuple_GET_SIZE(t.ptr()) != 2) wrong_option(name, "two numbers", o);
  from_python(PyTuple_GET_ITEM(t.ptr(), 0), name, x.first);
  from_python(PyTuple_GET_ITEM(t.ptr(), 1), name, x.second);
}
void from_python(PyObject* o, OptionName name, std::vector<double>& x) {
  const nb::object t = elements_of(o, name, "a list of numbers");
  x.resize(std::size_t(PyTuple_GET_SIZE(t.ptr())));
  numbers_from(t.ptr(), name, x.size(), x.data());
}
void from_python(PyObject* o, OptionName name, std::vector<std::int64_t>& x) {
  x.clear();
  if (!PyDict_Check(o)) {
    for (nb::handle e : elements_of(o, name, "a list of integers")) from_python(e.ptr(), name, x.emplace_back());
    return;
  }
  for (auto [number, times] : nb::borrow<nb::dict>(o)) {
    std::int64_t n = 0, k = 0;
    from_python(number.ptr(), name, n), from_python(times.ptr(), name, k);
    x.insert(x.end(), std::size_t(std::max<std::int64_t>(k, 0)), n);
  }
}
void from_python(PyObject* o, OptionName name, std::vector<Phase>& x) {
  x.clear();
  for (nb::handle e : elements_of(o, name, "a list of phases")) {
    if (!PyDict_Check(e.ptr())) wrong_option(name, "a list of dicts", e.ptr());
    const nb::dict d = nb::borrow<nb::dict>(e);
    each_option(x.emplace_back(), [&](const char* field, auto& value) {
      from_python(nb::object(d[field]).ptr(), {name.owner, field}, value);
    });
  }
}

nb::object as_python(double x) { return nb::cast(x); }
nb::object as_python(bool x) { return nb::cast(x); }
nb::object as_python(std::int64_t x) { return nb::cast(x); }
nb::object as_python(const std::string& x) { return nb::cast(x); }
nb::object as_python(const nn::Number& x) {
  return nb::steal(x.whole ? PyLong_FromDouble(x.value) : PyFloat_FromDouble(x.value));  // of any size
}
nb::object as_python(const Phase& phase) {
  nb::dict d;
  Phase copy = phase;
  each_option(copy, [&](const char* name, const auto& x) { d[name] = as_python(x); });
  return d;
}

}  // namespace neura::python
