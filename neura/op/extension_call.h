// Calls whose operands or destination carry an extension (core/extension.h): a layout that kernels do not know.
#pragma once
#include "neura/core/extension.h"
#include "neura/op/apply.h"

namespace neura {

inline bool is_extended(const Call& call) {
  for (int i = 0; i < call.inputs; ++i)
    if (call.in[i].is_tensor() && extension(call.in[i].tensor)) return true;
  return call.destination != Destination::fresh && call.out[0] && extension(call.out[0].impl());
}
// By the rule of the first extension that has one; NotImplementedError where none has.
void apply_extended(Call&);

}  // namespace neura
