// Results with names, of any number.
#pragma once
#include "common.h"

namespace neura::python {

// A tuple whose type is neura.return_types.<type>, with these fields.
nb::object named(const char* type, const std::vector<const char*>& fields, const std::vector<Tensor>& values);

}  // namespace neura::python
