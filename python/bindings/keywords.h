// Keywords that a function does not have.
#pragma once
#include "common.h"

namespace neura::python {

// The functions that C++ defined in this module and those within take NumPy's keywords, and name a keyword that they do
// not have.
void watch_keywords(const nb::module_&);
void watch_function(PyObject*);  // does nothing to what nanobind has not made

// A keyword as UTF-8. UnicodeEncodeError where it has none: Python's texts may hold half of a surrogate pair.
const char* keyword_text(PyObject* key);

// The TypeError for an unknown keyword; the name that NumPy's keyword stands for, or nothing.
[[noreturn]] void refuse_keyword(const char* op, const char* keyword, const nb::list& names);
nb::object renamed_keyword(const char* keyword, const nb::list& names);

}  // namespace neura::python
