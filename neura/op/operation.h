// What an operation says of itself: its name, which tensors its derivative needs, what it writes, whether it draws
// random numbers. A struct operation states it in words:
//
//   NEURA_OPERANDS(input, weight, bias)
//   NEURA_RESULTS(y, mean, rstd)
//   static constexpr Operation op =
//       operation("layer_norm")
//           .optional(in(In::weight, In::bias))
//           .saves(In::input, in(In::input, In::weight), out(Out::mean, Out::rstd))   // for the gradient of the input
//           .saves(In::weight, in(In::input), out(Out::mean, Out::rstd));
#pragma once
#include <cstdint>

namespace neura {

inline constexpr int kMaxInputs = 8, kMaxOutputs = 4;
inline constexpr int kMaxRowInputs = 3;  // of a pointwise row
inline constexpr int kMaxList = 30;  // most operands of a recorded call on a list; its derivative reads none of them
inline constexpr std::uint8_t kAbsent = 255;  // rank of the Spec that `infer` gets for an operand that is not there

struct ValueSet {  // operands (bits 0 to 7) and results (bits 8 to 11) of an operation
  std::uint16_t bits = 0;
  constexpr ValueSet operator|(ValueSet o) const { return {std::uint16_t(bits | o.bits)}; }
};
template <class... I> constexpr ValueSet in(I... i) { return {std::uint16_t((0u | ... | (1u << i)))}; }
template <class... I> constexpr ValueSet out(I... i) { return {std::uint16_t((0u | ... | (256u << i)))}; }

// The names of an operation's operands in order, those of its public function's arguments: In::weight is a number, and
// errors say "weight" (operand_name() in message.h). Of a list: what is single, then what each of its groups has.
#define NEURA_OPERANDS(...)                            \
  struct In {                                          \
    enum : int { __VA_ARGS__, count };                 \
    static constexpr const char* names = #__VA_ARGS__; \
  };
// The same of its results: Out::mean.
#define NEURA_RESULTS(...)                             \
  struct Out {                                         \
    enum : int { __VA_ARGS__, count };                 \
    static constexpr const char* names = #__VA_ARGS__; \
  };

enum class Precision : std::uint8_t {
  any,  // under autocast: operands keep their dtypes
  low,  // in the low dtype: products and convolutions
};
inline constexpr int every_input = -1;

struct Operation {
  const char* name = "";
  std::uint16_t reads[kMaxInputs] = {};  // by operand: what its derivative reads, bits as in ValueSet
  std::uint8_t optional_inputs = 0;      // may be absent
  std::uint8_t written_inputs = 0;       // the kernel writes them: running statistics, states of optimizers
  std::uint8_t first_of_list = 0;        // of a list: operands before it are single, the rest repeat in groups
  std::uint8_t group = 0;                // operands a member of a list has; 0: no list
  Precision under_autocast = Precision::any;
  bool is_linear = false;        // in each operand: forward mode applies it to the tangents
  bool draws_numbers = false;    // it has a field `numbers` of type PhiloxState, which `apply` reserves
  bool writes_directly = false;  // its kernel may write into a destination of any strides, and over operands
  bool across_devices = false;   // its operands may be on different devices
  bool is_lazy = false;          // lazy_clone alone
  bool is_dynamic = false;       // the result's size depends on values, e.g. nonzero: vmap refuses it
  bool is_copy = false;          // it moves or sets bytes, by `assign`, and computes nothing: no kernel is needed
  bool is_overwrite = false;     // it sets operand 0, whose old values count no more, to its last operand or a value
  std::int8_t addend = -1;       // linear in each operand but this one, which is added to the result; -1: no such sum
  bool is_closed = false;        // its gradient is made of operations that have derivatives: define() is not needed
  bool views_locked = false;     // one call makes several views (split, unbind): none may be written while recording

  constexpr Operation saves(int operand, ValueSet a, ValueSet b = {}) const {
    Operation o = *this;
    for (int i = 0; i < kMaxInputs; ++i)
      if (operand == every_input || operand == i) o.reads[i] = (a | b).bits;
    return o;
  }
  constexpr Operation optional(ValueSet w) const {
    Operation o = *this;
    return o.optional_inputs = std::uint8_t(w.bits), o;
  }
  constexpr Operation writes(ValueSet w) const {
    Operation o = *this;
    return o.written_inputs = std::uint8_t(w.bits), o;
  }
  constexpr Operation list(int of, int first = 0) const {
    Operation o = *this;
    return o.group = std::uint8_t(of), o.first_of_list = std::uint8_t(first), o;
  }
  constexpr Operation precision(Precision p) const {
    Operation o = *this;
    return o.under_autocast = p, o;
  }
  constexpr Operation linear() const { return with(&Operation::is_linear); }
  constexpr Operation draws() const { return with(&Operation::draws_numbers); }
  constexpr Operation direct() const { return with(&Operation::writes_directly); }
  constexpr Operation across() const { return with(&Operation::across_devices); }
  constexpr Operation lazy() const { return with(&Operation::is_lazy); }
  constexpr Operation dynamic() const { return with(&Operation::is_dynamic); }
  constexpr Operation copies() const { return with(&Operation::is_copy); }
  constexpr Operation overwrites() const { return with(&Operation::is_overwrite); }
  constexpr Operation sum_at(int operand) const {
    Operation o = *this;
    return o.addend = std::int8_t(operand), o;
  }
  constexpr Operation closed() const { return with(&Operation::is_closed); }
  constexpr Operation locks_views() const { return with(&Operation::views_locked); }

 private:
  constexpr Operation with(bool Operation::*word) const {
    Operation o = *this;
    return o.*word = true, o;
  }
};
constexpr Operation operation(const char* name) {
  Operation o;
  o.name = name;
  return o;
}

}  // namespace neura
