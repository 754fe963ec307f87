// Type promotion: the dtype of a result from those of its operands, without computing anything.
#pragma once
#include "neura/op/operand.h"

namespace neura {

DType promote_types(DType type1, DType type2);  // of two tensors with dimensions; DTypeError for 8-bit floats
// Of two tensors or numbers: tensors without dimensions, then numbers, count only by a higher category.
DType result_type(const Operand& a, const Operand& b);
// True if a result of dtype `from` may be written into a tensor of dtype `to`: never to a lower category.
bool can_cast(DType from, DType to);

}  // namespace neura
