// What out= and in-place forms ask of the tensor they write.
#pragma once
#include "neura/op/apply.h"

namespace neura {

// Errors name the call. With out=, a tensor that is no view and of another shape gets memory for the result.
void check_destination(Call&, const Spec& result);

// Before a kernel that writes operands: refuses those that need a gradient.
void check_writes(const Call&);
// The same, and parts lazy clones, raises versions.
void announce_writes(const Call&);

}  // namespace neura
