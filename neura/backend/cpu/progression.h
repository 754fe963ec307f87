// An entry of join.cpp's table that is defined in a file of its own.
#pragma once
#include "neura/backend/kernels/join.h"

namespace neura {

void lay_out(Context&, const Progression&, View out);

}  // namespace neura
