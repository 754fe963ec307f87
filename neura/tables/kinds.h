// The kinds a table is written in, in terms of ROW1, ROW2, ROW3 (by number of operands), which every reader of a table
// defines as it needs; end_kinds.h undefines them all. `none` is the slope of what has no derivative. FAMILY and
// END_FAMILY enclose a family's rows in families.def. An attribute is ATTR(name, default), or LIMITED(name, default,
// condition): a call whose attribute does not meet the condition is refused (ValueError) by the row.
//
// What may follow a row, for the surface alone: OPERANDS(row, which operands may be numbers, names...), where
// these are not the second one, and input, other; SPECIAL(row): it is in neura.special, too; ALIAS(name, row),
// SPECIAL_ALIAS(name, row): another name of it, there as well. For CUDA alone: BUSY(row), whose arithmetic takes longer
// than moving its operands; its kernels for dense ones do nothing else.
#ifndef FAMILY
#define FAMILY(name)
#endif
#ifndef END_FAMILY
#define END_FAMILY
#endif
#ifndef OPERANDS
#define OPERANDS(...)
#endif
#ifndef SPECIAL
#define SPECIAL(...)
#endif
#ifndef ALIAS
#define ALIAS(...)
#endif
#ifndef SPECIAL_ALIAS
#define SPECIAL_ALIAS(...)
#endif
#ifndef BUSY
#define BUSY(...)
#endif
#define LIMITED(name, fallback, condition) ATTR(name, fallback)
#define UNARY(name, types, formula, derivative, text) ROW1(name, types, , formula, derivative, text)
#define UNARY_WITH(name, types, attributes, formula, derivative, text) \
  ROW1(name, types, attributes, formula, derivative, text)
#define PREDICATE(name, types, formula, text) ROW1(name, types, , formula, none, text)
#define BINARY(name, types, formula, slope_a, slope_b, text) ROW2(name, types, , formula, slope_a, slope_b, text)
#define BINARY_WITH(name, types, attributes, formula, slope_a, slope_b, text) \
  ROW2(name, types, attributes, formula, slope_a, slope_b, text)
#define COMPARE(name, types, formula, text) ROW2(name, types, , formula, none, none, text)
#define BITWISE(name, types, formula, text) ROW2(name, types, , formula, none, none, text)
#define TERNARY(name, types, formula, a, b, c, text) ROW3(name, types, , formula, a, b, c, text)
#define TERNARY_WITH(name, types, attributes, formula, a, b, c, text) \
  ROW3(name, types, attributes, formula, a, b, c, text)
