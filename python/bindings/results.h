// What functions return, as Python's objects.
#pragma once
#include "common.h"
#include "neura/surface/function.h"

namespace neura::python {

nb::object object_of(const surface::Value&, PyObject* self);  // `self`: what surface::Self means
// A tuple whose type is neura.return_types.<type>, with these fields.
nb::object named(const char* type, const std::vector<const char*>& fields, const std::vector<Tensor>& values);

}  // namespace neura::python
