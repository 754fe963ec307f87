// The door. Every operation of every kind is one call of `apply`, an ordinary function; templates only pack its
// arguments.
#pragma once
#include <array>
#include <iterator>
#include <new>

#include "neura/ops/row.h"

namespace neura {

struct Operand {  // a tensor (borrowed), a number that takes the dtype it meets, or nothing
  TensorImpl* tensor = nullptr;
  union {
    Scalar scalar;  // unwritten for a tensor: operands are made on every call
  };
  enum Kind : std::uint8_t { absent, is_a_tensor, is_a_scalar } kind = absent;

  Operand() {}
  Operand(const Tensor& t) : tensor(t.impl()), kind(t ? is_a_tensor : absent) {}
  Operand(TensorImpl* t) : tensor(t), kind(is_a_tensor) {}
  Operand(Scalar s) : scalar(s), kind(is_a_scalar) {}
  template <class T>
  requires std::is_arithmetic_v<T> Operand(T v) : Operand(Scalar(v)) {}
  Operand(std::complex<double> v) : Operand(Scalar(v)) {}
  bool is_tensor() const { return kind == is_a_tensor; }
  bool is_scalar() const { return kind == is_a_scalar; }
};

enum class Destination : std::uint8_t { fresh, out, in_place };

struct Call {
  const Row* row;
  const void* op;  // attributes: a struct operation, or the doubles of a pointwise row
  Operand* in;
  int inputs;
  Tensor* out;  // results; where the destination is not fresh, out[0] is it
  Destination destination = Destination::fresh;
};

void apply(Call&);

// On a thread's stack while it lives; calls made inside `call` see only what lies beneath it.
struct Interceptor {
  Interceptor();
  Interceptor(const Interceptor&) = delete;
  virtual ~Interceptor();
  virtual void call(Call& c) { apply(c); }
  Interceptor* const below;
};

// A struct operation states `name`, its attributes as fields, infer(const Spec&… operands, Spec&… results),
// run(Context&, View…) on a kernel's views (none: it is a view, geometry only), gradient(Gradient&) const, and perhaps
// `reads`, `linear`, `in_place`, `across`, `optional`, `direct`, `lazy`, `reduced_precision`. How many operands and
// results it has is read off infer.
template <class Op> struct Arity {
  template <class C, class... A> static constexpr int count(void (C::*)(A...) const, bool in) {
    return (0 + ... + int(in == std::is_const_v<std::remove_reference_t<A>>));
  }
  static constexpr int inputs = count(&Op::infer, true), outputs = count(&Op::infer, false);
  using In = std::make_index_sequence<inputs>;
  using Out = std::make_index_sequence<outputs>;
};

// Its row: functions that unpack arrays into typed arguments, and nothing more.
template <class Op> constexpr Row make_row() {
  using A = Arity<Op>;
  static_assert(A::inputs <= kMaxInputs && A::outputs <= kMaxOutputs);
  Row r;
  r.name = Op::name, r.inputs = A::inputs, r.outputs = A::outputs, r.op_bytes = sizeof(Op);
  r.kind = Row::view, r.linear = true;
  if constexpr (requires { Op::in_place; }) r.in_place = Op::in_place;
  if constexpr (requires { Op::across; }) r.across = Op::across;
  if constexpr (requires { Op::direct; }) r.direct = Op::direct;
  if constexpr (requires { Op::optional; }) r.optional = Op::optional;
  if constexpr (requires { Op::reduced_precision; }) r.reduced_precision = Op::reduced_precision;
  if constexpr (requires { Op::reads; }) std::copy(std::begin(Op::reads), std::end(Op::reads), r.reads);
  r.infer = [](const void* op, const Spec* const* in, Spec* out) {
    [&]<std::size_t... I, std::size_t... O>(std::index_sequence<I...>, std::index_sequence<O...>) {
      static_cast<const Op*>(op)->infer(*in[I]..., out[O]...);
    }
    (typename A::In(), typename A::Out());
  };
  if constexpr (requires { &Op::run; }) {
    r.kind = Row::structured, r.linear = false;
    r.run = [](const void* op, Context& c, const View* in, const View* out) {
      [&]<std::size_t... I, std::size_t... O>(std::index_sequence<I...>, std::index_sequence<O...>) {
        static_cast<const Op*>(op)->run(c, in[I]..., out[O]...);
      }
      (typename A::In(), typename A::Out());
    };
  }
  if constexpr (requires { Op::lazy; }) r.kind = Row::lazy;
  if constexpr (requires { Op::linear; }) r.linear = Op::linear;
  if constexpr (requires { &Op::gradient; }) {
    r.differentiable = true;
    r.gradient = [](Gradient& g) { static_cast<const Op*>(g.op)->gradient(g); };
  }
  r.copy = [](void* to, const void* from) { new (to) Op(*static_cast<const Op*>(from)); };
  if constexpr (!std::is_trivially_destructible_v<Op>) r.drop = [](void* p) { static_cast<Op*>(p)->~Op(); };
  return r;
}
template <class Op> inline constexpr Row row_of = make_row<Op>();

// An operation on a list states infer(const Spec* const* parts, Spec& out), run(Context&, const View* parts, View out)
// and gradient(Gradient&) const; it knows how many parts there are.
template <class Op> constexpr Row make_list_row() {
  Row r;
  r.name = Op::name, r.inputs = kMaxList, r.op_bytes = sizeof(Op);
  r.kind = Row::structured, r.linear = Op::linear, r.differentiable = true;
  r.infer = [](const void* op, const Spec* const* in, Spec* out) { static_cast<const Op*>(op)->infer(in, *out); };
  r.run = [](const void* op, Context& c, const View* in, const View* out) {
    static_cast<const Op*>(op)->run(c, in, *out);
  };
  r.gradient = [](Gradient& g) { static_cast<const Op*>(g.op)->gradient(g); };
  r.copy = [](void* to, const void* from) { new (to) Op(*static_cast<const Op*>(from)); };
  if constexpr (!std::is_trivially_destructible_v<Op>) r.drop = [](void* p) { static_cast<Op*>(p)->~Op(); };
  return r;
}
template <class Op> inline constexpr Row list_row_of = make_list_row<Op>();

template <class Op> Tensor apply_list(const Op& op, const Tensor* parts, int n) {  // at most kMaxList
  Operand operands[kMaxList];
  for (int i = 0; i < n; ++i) operands[i] = parts[i];
  Tensor out;
  Call call{&list_row_of<Op>, &op, operands, n, &out};
  apply(call);
  return out;
}

template <class Op, class... In> auto apply(const Op& op, const In&... in) {
  static_assert(sizeof...(In) == Arity<Op>::inputs);
  Operand operands[] = {in...};
  std::array<Tensor, Arity<Op>::outputs> out;
  Call call{&row_of<Op>, &op, operands, sizeof...(In), out.data()};
  apply(call);
  if constexpr (out.size() == 1) return std::move(out[0]);
  else return out;
}
// The same into a destination the caller has; of one result.
template <class Op, class... In> Tensor& apply_to(Destination d, Tensor& out, const Op& op, const In&... in) {
  static_assert(sizeof...(In) == Arity<Op>::inputs && Arity<Op>::outputs == 1);
  Operand operands[] = {in...};
  Call call{&row_of<Op>, &op, operands, sizeof...(In), &out, d};
  apply(call);
  return out;
}

// Pointwise rows, in their three forms. `attributes`: as many doubles as the row has.
template <class... In> Tensor apply_row(const Row& row, const double* attributes, const In&... in) {
  Operand operands[] = {in...};
  Tensor out;
  Call call{&row, attributes, operands, sizeof...(In), &out};
  apply(call);
  return out;
}
template <class... In> Tensor& apply_out(const Row& row, const double* attributes, Tensor& out, const In&... in) {
  Operand operands[] = {in...};
  Call call{&row, attributes, operands, sizeof...(In), &out, Destination::out};
  apply(call);
  return out;
}
template <class... In> Tensor& apply_in_place(const Row& row, const double* attributes, Tensor& self, const In&... in) {
  Operand operands[] = {self, in...};
  Call call{&row, attributes, operands, 1 + sizeof...(In), &self, Destination::in_place};
  apply(call);
  return self;
}

}  // namespace neura
