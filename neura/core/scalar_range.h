// Whether a dtype can represent a number, and the nearest one that it can.
#pragma once
#include "neura/core/scalar.h"

namespace neura {

bool holds(DType integers, std::int64_t value);
// False for a whole number that an integer dtype does not hold; true for every other number and dtype.
inline bool in_range(const Scalar& value, DType dtype) {
  if (category(dtype) != Category::integer || value.category() != Category::integer) return true;
  return holds(dtype, value.integer());
}
// The same, or the nearest end of the integers of `dtype`.
Scalar saturated(const Scalar& value, DType dtype);

// True if a tensor of that dtype can hold the value. PyTorch's rule: fractions are cut off, a negative number wraps
// once in uint8, bool takes everything; a number out of range, or NaN, fits no integer dtype, and a real dtype takes no
// imaginary part.
bool storable(const Scalar& value, DType dtype);
void check_storable(const char* op, const Scalar& value, DType dtype);  // ValueError

}  // namespace neura
