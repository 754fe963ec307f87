// What neura.Size says about an argument.
#pragma once
#include "common.h"

namespace neura::python {

// Does the only argument of Tensor(…) stand for sizes, and not for data? A Size and one integer do. An array of any
// rank passes PyIndex_Check, but only an integer of rank 0 is an index.
bool means_sizes(PyObject*);

}  // namespace neura::python
