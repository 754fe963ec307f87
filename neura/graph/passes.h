// From a program to a better one with the same results, bit for bit.
#pragma once
#include "neura/graph/program.h"

namespace neura::graph {

// Calls whose results nobody reads are dropped; what draws random numbers stays.
Program without_dead(const Program&);

}  // namespace neura::graph
