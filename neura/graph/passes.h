// From a program to a better one with the same results: bit for bit, except for without_batch_norm.
#pragma once
#include "neura/graph/program.h"

namespace neura::graph {

// Calls whose results are never read are dropped; what draws random numbers and what checks values (`expect`) stays.
Program without_dead(const Program&);
// What checks values goes, too: for formats that have no such call.
Program without_checks(const Program&);
// Equal calls on the same values become one, the first. Calls that draw, write or vary are left as they are, and so are
// calls of different regions.
Program without_repeats(const Program&);
// What depends on constants alone is computed now, up to 64 KiB a value; views of constants stay.
Program folded(const Program&);
// Pointwise calls, their slopes and, on the cpu, conversions, with contiguous results of one size, become one call that
// goes over memory once (fused.h). Up to four of their values, which others read later, are its results. Operands
// broadcast; on the cpu as broadcast_of() says. On CUDA numbers are real.
Program fused(const Program&);
// All of these, in a good order; the bits stay.
Program optimized(const Program&);

// Memory that is not updated becomes constants with the values it has now.
Program frozen(const Program&);
// A convolution whose result batch normalisation in evaluation mode scales gets filters and a bias that do it: the
// same within rounding. They are computed in every run, unless they are frozen and folded.
Program without_batch_norm(const Program&);

// Offsets of values in one block of memory, each from the call that makes it to the last that reads it or a view of
// it: no two that live at one time overlap. Best fit, the largest first. Externals and what is returned are not in it.
struct MemoryPlan {
  std::vector<std::size_t> offset;  // by value, multiples of 64; npos: it has none
  std::size_t bytes = 0;            // of the block
};
MemoryPlan plan_memory(const Program&);

}  // namespace neura::graph
