// The sentences of `apply`: the operation, what was expected, what the operands are.
#pragma once
#include <string>

#include "neura/op/apply.h"

namespace neura {

std::string describe(const Call&);  // float32 [2, 3], 2.5
template <class E> [[gnu::cold, gnu::noinline, noreturn]] void refuse(const Call& call, const std::string& text) {
  throw E(std::string(call.row->name) + ": " + text + " (" + describe(call) + ")");
}

// As errors call them: "weight"; "operand 1" where the operation does not name its operands (NEURA_OPERANDS).
std::string operand_name(const Row&, int i);
std::string result_name(const Row&, int i);

// The name of the in-place form: fill_. Some rows are named so already.
inline std::string in_place_name(const char* row) {
  const std::string name = row;
  return name.empty() || name.back() == '_' ? name : name + "_";
}

// For functions that read an operand's sizes before `apply` checks it; a module's parameter may be undefined.
inline void check_given(const char* op, const char* what, const Tensor& t) {
  check<ValueError>(t.defined(), [&] { return std::string(op) + ": expected a tensor as " + what + ", got none"; });
}

}  // namespace neura
