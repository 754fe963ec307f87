// Lists of numbers from any Python iterable.
#pragma once
#include "common.h"

namespace neura::python {

// TypeError `<op>: expected <what> to be numbers` where it is anything else.
std::vector<double> numbers_of(nb::handle, const char* op, const char* what);

}  // namespace neura::python
