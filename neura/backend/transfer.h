// Copies between any two devices.
#pragma once
#include "neura/backend/view.h"

namespace neura {

// to = from, converted and broadcast. What comes from another device is there when the call returns; what goes to one
// is in order with its current stream.
void assign(const View& to, const View& from);

}  // namespace neura
