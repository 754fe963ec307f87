// Type promotion: the dtype of a result from those of its operands, without computing anything.
#pragma once
#include "neura/op/operand.h"

namespace neura {

DType promote_types(DType type1, DType type2);  // of two tensors with dimensions; DTypeError for 8-bit floats
// The dtype of what two tensors or numbers make. A tensor without dimensions counts against one with dimensions only by
// a higher category (bool, integer, floating, complex), and a number against a tensor likewise.
DType result_type(const Operand& a, const Operand& b);
// True if a result of dtype `from` may be written into a tensor of dtype `to`: never to a lower category.
bool can_cast(DType from, DType to);

}  // namespace neura
