// From a program to a better one with the same results, bit for bit.
#pragma once
#include "neura/graph/program.h"

namespace neura::graph {

// Calls whose results nobody reads are dropped; what draws random numbers stays.
Program without_dead(const Program&);
// Of equal calls on the same values the first is kept. Not of calls that draw, write or vary, nor across regions.
Program without_repeats(const Program&);
// What depends on constants alone is computed now, up to 64 KiB a value; views of constants stay.
Program folded(const Program&);
// Pointwise calls on contiguous values of one size on the cpu become one call that goes over memory once (fused.h),
// where nobody else reads what lies between.
Program fused(const Program&);
// All of these, in a good order.
Program optimized(const Program&);

}  // namespace neura::graph
