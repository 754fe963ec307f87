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

}  // namespace neura::graph
