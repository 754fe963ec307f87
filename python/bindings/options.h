// Options and attributes of optimizers and schedulers, between Python's objects and fields of C++.
#pragma once
#include <array>
#include <functional>

#include "common.h"
#include "neura/optim/optimizers.h"
#include "neura/optim/schedules.h"

namespace neura::python {

// What `name` has is something else: TypeError, "<owner>: expected <expected> for "<name>", got <type>".
struct OptionName {
  const char *owner, *name;
};
[[noreturn]] void wrong_option(OptionName, const char* expected, PyObject* got);
double number_of(PyObject*, OptionName, const char* expected = "a number");
void from_python(PyObject*, OptionName, double&);
void from_python(PyObject*, OptionName, bool&);
void from_python(PyObject*, OptionName, std::int64_t&);
void from_python(PyObject*, OptionName, std::string&);
void from_python(PyObject*, OptionName, nn::Number&);
void from_python(PyObject*, OptionName, std::vector<double>&);
void from_python(PyObject*, OptionName, std::vector<std::int64_t>&);  // a list, or how often each number occurs
void from_python(PyObject*, OptionName, std::vector<optim::lr_scheduler::Phase>&);
void from_python(PyObject*, OptionName, optim::Epsilons&);
void numbers_from(PyObject*, OptionName, std::size_t n, double* to);  // a sequence of n numbers
template <std::size_t N> void from_python(PyObject* o, OptionName name, std::array<double, N>& x) {
  numbers_from(o, name, N, x.data());
}
template <class T> void from_python(PyObject* o, OptionName name, std::optional<T>& x) {
  if (o == Py_None) x.reset();
  else from_python(o, name, x.emplace());
}

nb::object as_python(double);
nb::object as_python(bool);
nb::object as_python(std::int64_t);
nb::object as_python(const std::string&);
nb::object as_python(const nn::Number&);
nb::object as_python(const optim::lr_scheduler::Phase&);
inline nb::object as_python(const std::function<double(double)>&) { return nb::none(); }
template <class T> nb::object as_python(const std::optional<T>& x) { return x ? as_python(*x) : nb::none(); }
template <std::size_t N> nb::object as_python(const std::array<double, N>& x) {
  nb::list l;
  for (const double e : x) l.append(e);
  return nb::tuple(l);
}
template <class A, class B> nb::object as_python(const std::pair<A, B>& x) {
  return nb::make_tuple(as_python(x.first), as_python(x.second));
}
template <class T> nb::object as_python(const std::vector<T>& x) {
  nb::list l;
  for (const T& e : x) l.append(as_python(e));
  return l;
}
// A default, from how the list writes it: a whole number is Python's int. A list of one number is the number.
inline nb::object number_as_written(double x, std::string_view text) {
  return text.find_first_of(".e") == text.npos ? as_python(std::int64_t(x)) : as_python(x);
}
template <class T> nb::object default_of(const T& x, std::string_view) { return as_python(x); }
inline nb::object default_of(double x, std::string_view text) { return number_as_written(x, text); }
inline nb::object default_of(const std::vector<double>& x, std::string_view text) {
  return x.size() == 1 ? number_as_written(x[0], text) : as_python(x);
}
template <std::size_t N> nb::object default_of(const std::array<double, N>& x, std::string_view text) {
  nb::list l;
  for (const double e : x) {
    const std::size_t end = text.find(',');
    l.append(number_as_written(e, text.substr(0, end)));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return nb::tuple(l);
}

}  // namespace neura::python
