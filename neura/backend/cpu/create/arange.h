// arange, an entry of the table in index/join.cpp.
#pragma once
#include "neura/backend/kernels/join.h"

namespace neura {

void arange(Context&, const EvenlySpaced&, View out);

}  // namespace neura
