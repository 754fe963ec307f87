// Copies between any two devices.
#pragma once
#include "neura/backend/view.h"

namespace neura {

// to = from, converted and broadcast. What comes from another device is there when the call returns; what goes to one
// is in order with its current stream, and the source may be written again. With non_blocking neither holds for pinned
// memory: what is copied has the other's shape, dtype and order, or it is as without.
void assign(const View& to, const View& from, bool non_blocking = false);

}  // namespace neura
