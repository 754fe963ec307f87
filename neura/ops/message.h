// The sentences of `apply`: the operation, what was expected, what the operands are.
#pragma once
#include <string>

#include "neura/ops/apply.h"

namespace neura {

std::string describe(const Call&);  // float32 [2, 3], 2.5
template <class E> [[gnu::cold, gnu::noinline, noreturn]] void refuse(const Call& call, const std::string& text) {
  throw E(std::string(call.row->name) + ": " + text + " (" + describe(call) + ")");
}

}  // namespace neura
