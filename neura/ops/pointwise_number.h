// Numbers among integers: a row meets one that the tensors' dtype does not hold.
#pragma once
#include "neura/ops/pointwise.h"

namespace neura {

// Comparisons and divisions are computed in a dtype that holds every operand; bounds keep the dtype, `store_number`
// takes the nearest one of it. ValueError for a value that would be in the result (where), for a negative exponent.
void meet_numbers(const Call&, Dtypes&);
// Operand i, a number, as one element.
void store_number(const Call&, int i, DType, char* to);

}  // namespace neura
