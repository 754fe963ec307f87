// Plans whose lines are short: several lines at a time, put together in buffers, for one call of the kernel.
#pragma once
#include "neura/backend/plan.h"

namespace neura {

inline constexpr std::int64_t kShortLine = 256;  // elements; longer lines are a kernel call each (walk.cpp)

// Runs a plan of two or more dimensions whose last one is shorter than kShortLine.
void execute_packed(const Plan&, LineFn*, const double* attributes, int cost);

}  // namespace neura
