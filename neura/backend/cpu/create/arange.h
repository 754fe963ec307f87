// arange, an entry of the table in copy.cpp.
#pragma once
#include "neura/backend/kernels/create.h"

namespace neura {

void arange(Context&, const EvenlySpaced&, View out);

}  // namespace neura
