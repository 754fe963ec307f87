// The struct operations of the library, each by the identifier that all_ops.def gives it.
#pragma once

namespace neura {
struct Row;
}

namespace neura::operations {
#define NEURA_OPERATION(identifier, ...) const Row& identifier();
#include "neura/op/all_ops.def"
#undef NEURA_OPERATION
}  // namespace neura::operations
