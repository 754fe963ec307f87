// From a struct operation to its row: functions that unpack arrays into typed arguments, and nothing more.
//
// A struct operation states `op` (operation.h), with the names of its operands if it has three or more, its attributes
// as fields with NEURA_FIELDS, and
//   infer(const Spec&… operands, Spec&… results) const   dtypes and sizes of the results; every check
//   run(Context&, View… operands, View… results) const   on a kernel's views; none: it is a view, geometry only
//   gradient(Gradient&) const                            if it has one
//   define(const Tensor&… operands) const                the same of other operations: a Tensor or an array of them
//   accepts(const Backend&, const Spec&… operands) const  false: no kernel for these, the definition runs
//   is_safe(const Spec&… operands) const                 of a call that a file holds, before infer: see below
// How many operands and results it has is read off infer. An operation on a list (op.group) takes them as spans.
//
// The library's functions look at attributes and operands before they call an operation; infer and kernels rely on it.
// Programs of files that need not be ours (graph/foreign.h) call only what has an is_safe(): true, if infer and kernels
// touch nothing beyond the operands, whatever else infer may refuse. op/safe.h has words for it.
#pragma once
#include <new>
#include <span>
#include <utility>

#include "neura/op/row.h"

namespace neura {

template <class Op> inline constexpr bool kHasIsSafe = requires { &Op::is_safe; };

template <class Op> struct Arity {
  template <class C, class... A> static constexpr int count(void (C::*)(A...) const, bool in) {
    return (0 + ... + int(in == std::is_const_v<std::remove_reference_t<A>>));
  }
  static constexpr int inputs = count(&Op::infer, true), outputs = count(&Op::infer, false);
  using In = std::make_index_sequence<inputs>;
  using Out = std::make_index_sequence<outputs>;
};

namespace detail {

template <class C> C fields_owner(void (C::*)(FieldVisitor&));

// Calls f(std::integral_constant<std::size_t, 0>, …): arguments by number.
template <std::size_t... I, class F> decltype(auto) unpack(std::index_sequence<I...>, F f) {
  return f(std::integral_constant<std::size_t, I>()...);
}

template <class Op> struct FixedArity {  // so many operands, so many results
  using A = Arity<Op>;
  static void infer(const void* op, const Spec* const* in, int, Spec* out) {
    unpack(typename A::In(), [&](auto... i) {
      unpack(typename A::Out(), [&](auto... o) { static_cast<const Op*>(op)->infer(*in[i]..., out[o]...); });
    });
  }
  static void run(const void* op, Context& c, const View* in, int, const View* out) {
    unpack(typename A::In(), [&](auto... i) {
      unpack(typename A::Out(), [&](auto... o) { static_cast<const Op*>(op)->run(c, in[i]..., out[o]...); });
    });
  }
  static bool accepts(const void* op, const Backend& b, const Spec* const* in, int) {
    return unpack(typename A::In(), [&](auto... i) { return static_cast<const Op*>(op)->accepts(b, *in[i]...); });
  }
  static bool is_safe(const void* op, const Spec* const* in, int) {
    return unpack(typename A::In(), [&](auto... i) { return static_cast<const Op*>(op)->is_safe(*in[i]...); });
  }
  static void define(const void* op, const Tensor* in, int, Tensor* out) {
    auto made = unpack(typename A::In(), [&](auto... i) { return static_cast<const Op*>(op)->define(in[i]...); });
    if constexpr (std::is_same_v<decltype(made), Tensor>) *out = std::move(made);
    else std::move(made.begin(), made.end(), out);
  }
};

template <class Op> struct ListArity {
  static void infer(const void* op, const Spec* const* in, int n, Spec* out) {
    static_cast<const Op*>(op)->infer(std::span(in, std::size_t(n)), *out);
  }
  static void run(const void* op, Context& c, const View* in, int n, const View* out) {
    static_cast<const Op*>(op)->run(c, std::span(in, std::size_t(n)), *out);
  }
  static bool is_safe(const void* op, const Spec* const* in, int n) {
    return static_cast<const Op*>(op)->is_safe(std::span(in, std::size_t(n)));
  }
};

}  // namespace detail

// A list's are those that are single, and one group of the rest.
template <class Op> constexpr void check_names() {
  constexpr bool list = Op::op.group != 0;
  if constexpr (requires { Op::In::names; } && list)
    static_assert(Op::In::count == Op::op.first_of_list + Op::op.group, "NEURA_OPERANDS names each operand");
  else if constexpr (requires { Op::In::names; })
    static_assert(Op::In::count == Arity<Op>::inputs, "NEURA_OPERANDS names each operand");
  if constexpr (requires { Op::Out::names; } && !list)
    static_assert(Op::Out::count == Arity<Op>::outputs, "NEURA_RESULTS names each result");
}

template <class Op> constexpr Row make_row() {
  constexpr bool list = Op::op.group != 0;
  Row r;
  static_cast<Operation&>(r) = Op::op;
  r.op_bytes = sizeof(Op);
  r.kind = Row::view, r.is_linear = true;
  check_names<Op>();
  if constexpr (list) {
    r.inputs = kMaxList;
    r.infer = &detail::ListArity<Op>::infer;
    if constexpr (requires { Op::results; }) r.outputs = Op::results;
    if constexpr (!kOneProgram && kHasIsSafe<Op>) r.is_safe = &detail::ListArity<Op>::is_safe;
  } else {
    using A = Arity<Op>;
    static_assert(A::inputs <= kMaxInputs && A::outputs <= kMaxOutputs);
    r.inputs = A::inputs, r.outputs = A::outputs;
    r.infer = &detail::FixedArity<Op>::infer;
    if constexpr (requires { &Op::accepts; }) r.accepts = &detail::FixedArity<Op>::accepts;
    if constexpr (!kOneProgram && kHasIsSafe<Op>) r.is_safe = &detail::FixedArity<Op>::is_safe;
    // Without derivatives, a definition runs only where there may be no kernel.
    if constexpr (requires { &Op::define; } && (!kOnlyPrograms || requires { &Op::accepts; }))
      r.define = &detail::FixedArity<Op>::define;
  }
  if constexpr (requires { &Op::run; }) {
    r.kind = Row::structured, r.is_linear = Op::op.is_linear;
    if constexpr (list) r.run = &detail::ListArity<Op>::run;
    else r.run = &detail::FixedArity<Op>::run;
  }
  if (r.is_lazy) r.kind = Row::lazy;
  if constexpr (!kOneProgram && requires { Op::In::names; }) r.operand_names = Op::In::names;
  if constexpr (!kOneProgram && requires { Op::Out::names; }) r.result_names = Op::Out::names;
  if constexpr (requires { Op::addend_dim; }) r.addend_dim = Op::addend_dim;
  if constexpr (!kOnlyPrograms && requires { &Op::gradient; })
    r.gradient = [](Gradient& g) { static_cast<const Op*>(g.op)->gradient(g); };
  if constexpr (!kOnlyPrograms && requires { &Op::gradient; }) r.differentiable = true;
  if constexpr (!kOnlyPrograms && requires { &Op::define; }) r.differentiable = true;
  r.make = [](void* to) { new (to) Op{}; };
  r.copy = [](void* to, const void* from) { new (to) Op(*static_cast<const Op*>(from)); };
  if constexpr (!std::is_trivially_destructible_v<Op>) r.drop = [](void* p) { static_cast<Op*>(p)->~Op(); };
  using Owner = decltype(detail::fields_owner(&Op::fields));
  static_assert(sizeof(Owner) == sizeof(Op), "an operation with members of its own needs NEURA_FIELDS of its own");
  r.visit = [](void* op, FieldVisitor& v) { static_cast<Op*>(op)->fields(v); };
  if constexpr (Op::op.draws_numbers)
    r.numbers = [](void* op) -> PhiloxState* { return &static_cast<Op*>(op)->numbers; };
  return r;
}
template <class Op> inline constexpr Row row_of = make_row<Op>();

}  // namespace neura
