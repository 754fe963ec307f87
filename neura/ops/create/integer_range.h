// Ranges of integers, computed in integers: double has but 53 of their 64 bits.
#pragma once
#include "neura/backend/view.h"

namespace neura {

// Values of [start, end) in steps, none of which leads away; ValueError where 64 bits do not count them.
std::int64_t count_between(const char* op, std::int64_t start, std::int64_t end, std::int64_t step);
// As many values from start to end, both included, as `out` has, cut off towards 0; out: dense, on the cpu.
void lay_integers(std::int64_t start, std::int64_t end, const View& out);

}  // namespace neura
