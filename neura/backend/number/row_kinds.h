// clang-format off: macros
// The kinds of a table as functors (see row.h). Included before a table, inside a target's namespace.
#define ATTR(name, fallback) N name = this->next();

#define ROW_BEGIN(name, types, count, attributes)             \
  template <class N> struct name##_row : Attributes<N> {      \
    static constexpr TypeRule kind = types;                   \
    static constexpr int arity = count;                       \
    using R = typename ResultOf<kind.result_type, N>::type;   \
    using First = typename FirstOf<kind.mask_first, N>::type; \
    using Attributes<N>::Attributes;                          \
    attributes
// The slope functions take g, the operands and the result, and may use any of them.
#define ROW1(name, types, attributes, formula, derivative, text)                                                      \
  ROW_BEGIN(name, types, 1, attributes)                                                                               \
  NEURA_HD constexpr R operator()(N x) const { return exact<R>(formula); }                                            \
  template <int> NEURA_HD constexpr N slope([[maybe_unused]] R g, [[maybe_unused]] N x, [[maybe_unused]] R y) const { \
    return exact<N>(derivative);                                                                                      \
  }                                                                                                                   \
  }                                                                                                                   \
  ;                                                                                                                   \
  static_assert(checked<name##_row>());
#define ROW2(name, types, attributes, formula, slope_a, slope_b, text)                                          \
  ROW_BEGIN(name, types, 2, attributes)                                                                         \
  NEURA_HD constexpr R operator()(N a, N b) const { return exact<R>(formula); }                                 \
  template <int K> NEURA_HD constexpr N slope([[maybe_unused]] R g, [[maybe_unused]] N a, [[maybe_unused]] N b, \
                                              [[maybe_unused]] R y) const {                                     \
    if constexpr (K == 0) return exact<N>(slope_a);                                                             \
    else return exact<N>(slope_b);                                                                              \
  }                                                                                                             \
  }                                                                                                             \
  ;                                                                                                             \
  static_assert(checked<name##_row>());
#define ROW3(name, types, attributes, formula, slope_a, slope_b, slope_c, text)                                     \
  ROW_BEGIN(name, types, 3, attributes)                                                                             \
  NEURA_HD constexpr R operator()(First a, N b, N c) const { return exact<R>(formula); }                            \
  template <int K> NEURA_HD constexpr N slope([[maybe_unused]] R g, [[maybe_unused]] First a, [[maybe_unused]] N b, \
                                              [[maybe_unused]] N c, [[maybe_unused]] R y) const {                   \
    if constexpr (K == 0) return exact<N>(slope_a);                                                                 \
    else if constexpr (K == 1) return exact<N>(slope_b);                                                            \
    else return exact<N>(slope_c);                                                                                  \
  }                                                                                                                 \
  }                                                                                                                 \
  ;                                                                                                                 \
  static_assert(checked<name##_row>());
#include "neura/tables/kinds.h"
