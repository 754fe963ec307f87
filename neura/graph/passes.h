// From a program to a better one with the same results: bit for bit, but for without_batch_norm.
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
// All of these, in a good order; the bits stay.
Program optimized(const Program&);

// Memory that is not updated becomes constants with the values it has now.
Program frozen(const Program&);
// A convolution whose result batch normalization in evaluation mode scales gets filters and a bias that do it: the
// same within rounding. They are computed in every run, unless they are frozen and folded.
Program without_batch_norm(const Program&);

}  // namespace neura::graph
