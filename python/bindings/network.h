// What the functions and the layers over windows share.
#pragma once
#include "common.h"

namespace neura::python {

Padding padding_of(nb::handle);   // numbers, 'same' or 'valid'; TypeError
PerDim result_sizes(nb::handle);  // output_size: None keeps all sizes of the input; TypeError, ValueError if empty

std::vector<double> factors_of(nb::handle);  // a number, a sequence of them, or None: empty; TypeError

}  // namespace neura::python
