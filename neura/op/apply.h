// The dispatcher: every operation of every kind is one call of `apply`, an ordinary function. Templates only pack its
// arguments.
#pragma once
#include <array>
#include <span>
#include <vector>

#include "neura/op/operand.h"
#include "neura/op/struct_row.h"

namespace neura {

enum class Destination : std::uint8_t { fresh, out, in_place };

struct Call {
  const Row* row;
  const void* op;  // attributes: a struct operation, or the doubles of a pointwise row
  Operand* in;
  int inputs;
  Tensor* out;  // results; with Destination::out and in_place out[0] is the tensor to write
  Destination destination = Destination::fresh;
  Generator* generator = nullptr;  // of an operation that draws; null: the default one
};

void apply(Call&);

// Gets every call of its thread while it lives, the newest interceptor first; calls made inside `call` go to those that
// were there before it.
struct Interceptor {
  Interceptor();
  Interceptor(const Interceptor&) = delete;
  virtual ~Interceptor();
  virtual void call(Call& c) { apply(c); }
  Interceptor* const below;
};

// An operation on a list: infer and run get all of `in` as one span.
template <class Op> Tensor apply_list(const Op& op, std::span<const Tensor> in) {
  std::vector<Operand> operands(in.begin(), in.end());
  Tensor out;
  Call call{&row_of<Op>, &op, operands.data(), int(in.size()), &out};
  apply(call);
  return out;
}

// An operation that draws random numbers: its results, from this generator or, null, the default one.
template <class Op, class... In> auto apply_drawing(Generator* generator, Op op, const In&... in) {
  static_assert(sizeof...(In) == Arity<Op>::inputs);
  Operand operands[] = {Operand(in)..., Operand()};
  std::array<Tensor, Arity<Op>::outputs> out;
  Call call{&row_of<Op>, &op, operands, sizeof...(In), out.data(), Destination::fresh, generator};
  apply(call);
  if constexpr (out.size() == 1) return std::move(out[0]);
  else return out;
}
template <class Op, class... In> auto apply(const Op& op, const In&... in) {
  static_assert(sizeof...(In) == Arity<Op>::inputs);
  if constexpr (row_of<Op>.draws_numbers) {
    return apply_drawing(nullptr, op, in...);
  } else {
    Operand operands[] = {Operand(in)..., Operand()};
    std::array<Tensor, Arity<Op>::outputs> out;
    Call call{&row_of<Op>, &op, operands, sizeof...(In), out.data()};
    apply(call);
    if constexpr (out.size() == 1) return std::move(out[0]);
    else return out;
  }
}
// The same, written into a tensor of the caller; for operations of one result.
template <class Op, class... In>
Tensor& draw_to(Generator* generator, Destination d, Tensor& out, Op op, const In&... in) {
  static_assert(sizeof...(In) == Arity<Op>::inputs && Arity<Op>::outputs == 1);
  Operand operands[] = {Operand(in)..., Operand()};
  Call call{&row_of<Op>, &op, operands, sizeof...(In), &out, d, generator};
  apply(call);
  return out;
}
template <class Op, class... In> Tensor& apply_to(Destination d, Tensor& out, const Op& op, const In&... in) {
  return draw_to(nullptr, d, out, op, in...);
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
