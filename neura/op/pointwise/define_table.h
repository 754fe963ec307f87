// clang-format off: macros
// Defines the rows of NEURA_TABLE, their functors' objects and functions. `places` says where their kernels are in
// the back ends' tables (rows.cpp), or NEURA_OWN is a function of kernels that are none of the back ends'. Included at
// file scope, once per table. No guard.
#include "neura/op/pointwise/make_row.h"

namespace neura {
namespace plain {
#include "neura/backend/number/row_kinds.h"
#include NEURA_TABLE
#include "neura/tables/end_kinds.h"
}  // namespace plain

// (What ATTR expands to must have no comma outside of parentheses: it passes through UNARY_WITH into ROW1.)
namespace {
using row_words::operator""_c;
using row_words::infinity;
#define ATTR(name, fallback) .with(#name, (fallback).value)
#define ROW1(name, types, attributes, ...)                     \
  constexpr AttributeList name##_attributes = AttributeList {} \
  attributes;
#define ROW2 ROW1
#define ROW3 ROW1
#include "neura/tables/kinds.h"
#include NEURA_TABLE
#include "neura/tables/end_kinds.h"

#define ATTR(name, fallback) .with(nullptr, nullptr)
#define ROW1(name, types, attributes, ...)                     \
  constexpr AttributeLimits name##_limits = AttributeLimits {} \
  attributes;
#define ROW2 ROW1
#define ROW3 ROW1
#include "neura/tables/kinds.h"
#undef LIMITED
#define LIMITED(name, fallback, condition) .with(#condition, [](double name) { return condition; })
#include NEURA_TABLE
#include "neura/tables/end_kinds.h"
}  // namespace

#ifdef NEURA_OWN
#define NEURA_PLACE(name) Family::count, own_slots::name, &NEURA_OWN
#define ROW1(name, ...) name,
#define ROW2 ROW1
#define ROW3 ROW1
#include "neura/tables/kinds.h"
namespace own_slots {
enum : unsigned short {
#include NEURA_TABLE
};
}  // namespace own_slots
#include "neura/tables/end_kinds.h"
#else
#define NEURA_PLACE(name) places::name.family, places::name.slot, nullptr
#endif
namespace slope_rows {
#define ROW1(name, ...) extern constinit const Row name[1];
#define ROW2(name, ...) extern constinit const Row name[2];
#define ROW3(name, ...) extern constinit const Row name[3];
#include "neura/tables/kinds.h"
#include NEURA_TABLE
#include "neura/tables/end_kinds.h"
}  // namespace slope_rows
namespace rows {
#define NEURA_OBJECT(name, formula, text)                                      \
  constinit const Row name = plain::make_row<plain::name##_row>(               \
      #name, NEURA_ROW_TEXT(formula), NEURA_ROW_TEXT(text), name##_attributes, \
      name##_limits.any() ? &name##_limits : nullptr, NEURA_PLACE(name), kOnlyPrograms ? nullptr : slope_rows::name);
#define ROW1(name, types, attributes, formula, d, text) NEURA_OBJECT(name, #formula, text)
#define ROW2(name, types, attributes, formula, d0, d1, text) NEURA_OBJECT(name, #formula, text)
#define ROW3(name, types, attributes, formula, d0, d1, d2, text) NEURA_OBJECT(name, #formula, text)
#include "neura/tables/kinds.h"
#include NEURA_TABLE
#include "neura/tables/end_kinds.h"
}  // namespace rows
namespace slope_rows {
#define NEURA_SLOPE(name, k, ending) \
  plain::make_slope_row<plain::name##_row>(&rows::name, k, #name "_backward" ending, name##_attributes)
#define ROW1(name, ...) constinit const Row name[] = {NEURA_SLOPE(name, 0, "")};
#define ROW2(name, ...) constinit const Row name[] = {NEURA_SLOPE(name, 0, "_0"), NEURA_SLOPE(name, 1, "_1")};
#define ROW3(name, ...) \
  constinit const Row name[] = {NEURA_SLOPE(name, 0, "_0"), NEURA_SLOPE(name, 1, "_1"), NEURA_SLOPE(name, 2, "_2")};
#include "neura/tables/kinds.h"
#include NEURA_TABLE
#include "neura/tables/end_kinds.h"
}  // namespace slope_rows

#define ROW1(name, ...)                                                               \
  Tensor name(const Tensor& x) { return apply_row(rows::name, nullptr, x); }          \
  Tensor& name##_(Tensor& self) { return apply_in_place(rows::name, nullptr, self); } \
  Tensor& name##_out(Tensor& out, const Tensor& x) { return apply_out(rows::name, nullptr, out, x); }
#define ROW2(name, ...)                                                                                            \
  Tensor name(const Operand& a, const Operand& b) { return apply_row(rows::name, nullptr, a, b); }                 \
  Tensor& name##_(Tensor& self, const Operand& other) { return apply_in_place(rows::name, nullptr, self, other); } \
  Tensor& name##_out(Tensor& out, const Operand& a, const Operand& b) {                                            \
    return apply_out(rows::name, nullptr, out, a, b);                                                              \
  }
#define ROW3(name, ...)                                                                   \
  Tensor name(const Operand& a, const Operand& b, const Operand& c) {                     \
    return apply_row(rows::name, nullptr, a, b, c);                                       \
  }                                                                                       \
  Tensor& name##_(Tensor& self, const Operand& b, const Operand& c) {                     \
    return apply_in_place(rows::name, nullptr, self, b, c);                               \
  }                                                                                       \
  Tensor& name##_out(Tensor& out, const Operand& a, const Operand& b, const Operand& c) { \
    return apply_out(rows::name, nullptr, out, a, b, c);                                  \
  }
#include "neura/tables/kinds.h"
#undef UNARY_WITH
#undef BINARY_WITH
#undef TERNARY_WITH
#define NEURA_DOUBLES(o) reinterpret_cast<const double*>(&o)
#define UNARY_WITH(name, ...)                                                                                    \
  Tensor name(const Tensor& x, name##_options o) { return apply_row(rows::name, NEURA_DOUBLES(o), x); }          \
  Tensor& name##_(Tensor& self, name##_options o) { return apply_in_place(rows::name, NEURA_DOUBLES(o), self); } \
  Tensor& name##_out(Tensor& out, const Tensor& x, name##_options o) {                                           \
    return apply_out(rows::name, NEURA_DOUBLES(o), out, x);                                                      \
  }
#define BINARY_WITH(name, ...)                                                            \
  Tensor name(const Operand& a, const Operand& b, name##_options o) {                     \
    return apply_row(rows::name, NEURA_DOUBLES(o), a, b);                                 \
  }                                                                                       \
  Tensor& name##_(Tensor& self, const Operand& other, name##_options o) {                 \
    return apply_in_place(rows::name, NEURA_DOUBLES(o), self, other);                     \
  }                                                                                       \
  Tensor& name##_out(Tensor& out, const Operand& a, const Operand& b, name##_options o) { \
    return apply_out(rows::name, NEURA_DOUBLES(o), out, a, b);                            \
  }
#define TERNARY_WITH(name, ...)                                                                             \
  Tensor name(const Operand& a, const Operand& b, const Operand& c, name##_options o) {                     \
    return apply_row(rows::name, NEURA_DOUBLES(o), a, b, c);                                                \
  }                                                                                                         \
  Tensor& name##_(Tensor& self, const Operand& b, const Operand& c, name##_options o) {                     \
    return apply_in_place(rows::name, NEURA_DOUBLES(o), self, b, c);                                        \
  }                                                                                                         \
  Tensor& name##_out(Tensor& out, const Operand& a, const Operand& b, const Operand& c, name##_options o) { \
    return apply_out(rows::name, NEURA_DOUBLES(o), out, a, b, c);                                           \
  }
#include NEURA_TABLE
#include "neura/tables/end_kinds.h"
}  // namespace neura
#undef NEURA_DOUBLES
#undef NEURA_OBJECT
#undef NEURA_SLOPE
#undef NEURA_PLACE
#undef NEURA_TABLE
