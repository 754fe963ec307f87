// The pointwise operations: from every row of tables/ the function, its in-place and out= forms, and the row object.
// Operands broadcast; dtypes meet as in torch's table; a number takes the dtype of the tensor it meets. Errors:
// DTypeError for a dtype the row does not take, ShapeError where shapes do not broadcast, DeviceError, InplaceError.
//
//   add(x, 2)   add_(x, y)   add_out(out, x, y)   leaky_relu(x, 0.1)   leaky_relu(x, {.negative_slope = 0.1})
//
// Rows whose name begins with an underscore are called by the functions of ops/pointwise/composed.h.
#pragma once
#include <span>
#include <string_view>

#include "neura/op/pointwise/row_literals.h"

namespace neura {

#define NEURA_TABLES "neura/tables/families.def"
#include "neura/op/pointwise/declare_table.h"
#undef NEURA_TABLES

std::span<const Row* const> all_rows();      // all of them, in the order of the tables
const Row* find_row(std::string_view name);  // by its name, without the underscore; null if there is none

#define NEURA_OPERATOR(sign, name)                                                     \
  inline Tensor operator sign(const Tensor& a, const Tensor& b) { return name(a, b); } \
  inline Tensor operator sign(const Tensor& a, Scalar b) { return name(a, b); }        \
  inline Tensor operator sign(Scalar a, const Tensor& b) { return name(a, b); }
#define NEURA_ASSIGNMENT(sign, name) \
  inline Tensor& operator sign(Tensor& a, const Operand& b) { return name##_(a, b); }
NEURA_OPERATOR(+, add)
NEURA_OPERATOR(-, sub)
NEURA_OPERATOR(*, mul)
NEURA_OPERATOR(/, div)
NEURA_OPERATOR(%, remainder)
NEURA_OPERATOR(&, bitwise_and)
NEURA_OPERATOR(|, bitwise_or)
NEURA_OPERATOR(^, bitwise_xor)
NEURA_OPERATOR(==, eq)  // element by element, as in torch; is_same() tells whether two are one
NEURA_OPERATOR(!=, ne)
NEURA_OPERATOR(<, lt)
NEURA_OPERATOR(>, gt)
NEURA_OPERATOR(<=, le)
NEURA_OPERATOR(>=, ge)
NEURA_ASSIGNMENT(+=, add)
NEURA_ASSIGNMENT(-=, sub)
NEURA_ASSIGNMENT(*=, mul)
NEURA_ASSIGNMENT(/=, div)
#undef NEURA_OPERATOR
#undef NEURA_ASSIGNMENT
inline Tensor operator-(const Tensor& a) { return neg(a); }
inline Tensor operator~(const Tensor& a) { return bitwise_not(a); }

}  // namespace neura
