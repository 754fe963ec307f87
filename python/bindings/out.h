// out=, for functions that compute a new tensor first.
#pragma once
#include "common.h"

namespace neura::python {

// `value` itself where there is no `out`; else `out` after it took the value: resized if it must be, converted if its
// dtype can hold it; strict: of the value's dtype alone. AutogradError where a gradient is needed.
nb::object into(nb::handle out, const Tensor& value, const char* op, bool strict);

// The same for one result or a tuple of them, each into its own.
nb::object into_each(nb::handle out, nb::handle result, const char* op, bool strict);

}  // namespace neura::python
