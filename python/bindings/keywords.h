// Arguments that a function of nanobind's does not have.
#pragma once
#include "common.h"

namespace neura::python {

// The functions that C++ defined in this module or class and those within take NumPy's keywords, and say in our words
// what does not fit.
void watch_keywords(nb::handle);
// Neither does anything to what nanobind has not made. An accessor reads or sets an attribute.
void watch_function(PyObject*);
void watch_accessor(PyObject*);

// A keyword as UTF-8. UnicodeEncodeError where it has none: Python's texts may hold half of a surrogate pair.
const char* keyword_text(PyObject* key);

// The TypeError for an unknown keyword; the name that NumPy's keyword stands for, or nothing.
[[noreturn]] void refuse_keyword(const char* op, const char* keyword, const nb::list& names);
nb::object renamed_keyword(const char* keyword, const nb::list& names);

}  // namespace neura::python
