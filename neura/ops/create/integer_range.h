// Ranges of integers, computed in int64: double is exact to 53 bits only.
#pragma once
#include "neura/backend/view.h"

namespace neura {

// The number of values of [start, end) in steps towards end; ValueError if it does not fit into 64 bits.
std::int64_t count_between(const char* op, std::int64_t start, std::int64_t end, std::int64_t step);
// As many values from start to end, both included, as `out` has, cut off towards 0; out: dense, on the cpu.
void fill_integer_linspace(std::int64_t start, std::int64_t end, const View& out);

}  // namespace neura
