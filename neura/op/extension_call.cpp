#include "neura/op/extension_call.h"

#include <string>

#include "neura/op/call_error.h"
#include "neura/op/defer.h"

namespace neura {
namespace {

std::string name_of(const Call& call, int i) {
  if (call.row->kind == Row::pointwise && !call.row->types.mask_first && call.inputs == 2) return i ? "other" : "input";
  return call.inputs == 1 ? "input" : operand_name(*call.row, i);
}

}  // namespace

void apply_extended(Call& call) {
  const Extension* first = nullptr;
  std::string what;
  const bool traced = is_traced();
  const auto taken = [&](const TensorImpl* t, const auto& name) {
    const Extension* e = extension(t);
    if (!e) return false;
    if (!first) first = e, what = name();
    return !traced && e->take(call);
  };
  for (int i = 0; i < call.inputs; ++i)
    if (call.in[i].is_tensor() && taken(call.in[i].tensor, [&] { return name_of(call, i); })) return;
  if (call.destination != Destination::fresh && taken(call.out[0].impl(), [] { return "the destination"; })) return;
  if (traced)
    throw NotImplementedError(std::string("trace: expected dense tensors, got a ") + first->layout() +
                              " one; call to_dense() before the trace");
  throw NotImplementedError(std::string(call.row->name) + ": expected a dense tensor for " + what + ", got a " +
                            first->layout() + " one; call to_dense()");
}

}  // namespace neura
