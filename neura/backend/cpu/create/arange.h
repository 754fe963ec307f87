// An entry of join.cpp's table that is defined in a file of its own.
#pragma once
#include "neura/backend/kernels/join.h"

namespace neura {

void arange(Context&, const EvenlySpaced&, View out);

}  // namespace neura
