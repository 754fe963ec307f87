// Operands as programs have them: expanded, transposed, sliced, after an offset, and at the end of the memory that may
// be read.
#pragma once
#include <string>

#include "neura/core/tensor.h"
#include "tests/support/sample.h"

namespace neura::test {

// An undefined-content tensor of this geometry whose last element ends where memory may no longer be read: whoever
// reads after it ends the process. (Where pages cannot be protected, plain memory.)
Tensor guarded(const Spec&);

struct Layout {
  Tensor laid, plain;  // the same elements, the second contiguous
  std::string text;    // shape and strides, for the message of a failure
};
// The elements of t in a drawn memory order, with drawn gaps and offset. Each dimension of `expanded` (a bit set) has a
// stride of 0: its elements are those at index 0. Guarded, both of them.
Layout drawn_layout(const Tensor& t, unsigned expanded, Dice&);

}  // namespace neura::test
