// out=, for functions that compute a new tensor first.
#pragma once
#include "common.h"

namespace neura::python {

// `value` itself where there is no `out`; else `out` after it took the value: resized if it must be, converted if its
// dtype can hold it. AutogradError where a gradient is needed.
nb::object into(nb::handle out, const Tensor& value, const char* op);

// The same for one result or a tuple of them, each into its own.
nb::object into_each(nb::handle out, nb::handle result, const char* op);

// The functions of these names, between spaces, take out= from now on.
void give_out(nb::handle scope, std::string_view names);

void bind_out(nb::module_&);

}  // namespace neura::python
