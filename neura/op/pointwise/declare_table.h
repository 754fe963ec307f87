// clang-format off: macros
// Declares the rows of NEURA_TABLES and their functions; included inside namespace neura, once per table. No guard.

namespace rows {
#define ROW1(name, ...) extern constinit const Row name;
#define ROW2 ROW1
#define ROW3 ROW1
#include "neura/tables/kinds.h"
#include NEURA_TABLES
#include "neura/tables/end_kinds.h"
}  // namespace rows

// Attributes, with torch's names and defaults, in torch's order
namespace row_words {
#define ATTR(name, fallback) double name = (fallback).value;
#define ROW1(...)
#define ROW2(...)
#define ROW3(...)
#include "neura/tables/kinds.h"
#undef UNARY_WITH
#undef BINARY_WITH
#undef TERNARY_WITH
#define UNARY_WITH(name, types, attributes, ...) \
  struct name##_options {                        \
    attributes                                   \
  };
#define BINARY_WITH UNARY_WITH
#define TERNARY_WITH UNARY_WITH
#include NEURA_TABLES
#include "neura/tables/end_kinds.h"
}  // namespace row_words

#define ROW1(name, ...)          \
  Tensor name(const Tensor& x);  \
  Tensor& name##_(Tensor& self); \
  Tensor& name##_out(Tensor& out, const Tensor& x);
#define ROW2(name, ...)                                \
  Tensor name(const Operand& a, const Operand& b);     \
  Tensor& name##_(Tensor& self, const Operand& other); \
  Tensor& name##_out(Tensor& out, const Operand& a, const Operand& b);
#define ROW3(name, ...)                                              \
  Tensor name(const Operand& a, const Operand& b, const Operand& c); \
  Tensor& name##_(Tensor& self, const Operand& b, const Operand& c); \
  Tensor& name##_out(Tensor& out, const Operand& a, const Operand& b, const Operand& c);
#include "neura/tables/kinds.h"
#undef UNARY_WITH
#undef BINARY_WITH
#undef TERNARY_WITH
#define UNARY_WITH(name, ...)                                              \
  using row_words::name##_options;                                         \
  Tensor name(const Tensor& x, name##_options o = {});                     \
  Tensor& name##_(Tensor& self, name##_options o = {});                    \
  Tensor& name##_out(Tensor& out, const Tensor& x, name##_options o = {}); \
  template <row_words::Number... A>                                        \
  requires(sizeof...(A) > 0) Tensor name(const Tensor& x, A... a) { return name(x, name##_options{double(a)...}); }
#define BINARY_WITH(name, ...)                                                \
  using row_words::name##_options;                                            \
  Tensor name(const Operand& a, const Operand& b, name##_options o = {});     \
  Tensor& name##_(Tensor& self, const Operand& other, name##_options o = {}); \
  Tensor& name##_out(Tensor& out, const Operand& a, const Operand& b, name##_options o = {});
#define TERNARY_WITH(name, ...)                                                             \
  using row_words::name##_options;                                                          \
  Tensor name(const Operand& a, const Operand& b, const Operand& c, name##_options o = {}); \
  Tensor& name##_(Tensor& self, const Operand& b, const Operand& c, name##_options o = {}); \
  Tensor& name##_out(Tensor& out, const Operand& a, const Operand& b, const Operand& c, name##_options o = {});
#include NEURA_TABLES
#include "neura/tables/end_kinds.h"
