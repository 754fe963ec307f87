// bool(t), int(t), float(t), and t as an index: of a tensor of one element. Slots of the Python type.
#pragma once
#include "common.h"

namespace neura::python {

int truth(PyObject* self);
PyObject* to_int(PyObject* self);
PyObject* to_float(PyObject* self);
PyObject* to_index(PyObject* self);

}  // namespace neura::python
