// Kernels of the tests' own. The back end's helper for launches starts them: it is compiled into the test program, too.
#pragma once
#include <cstddef>
#include <cstdint>

#include "neura/core/device_api.h"

namespace neura::test {

// All of them wait until the device has done it, and tell what went wrong, or null.
// x[i] = 2 x[i] + i: a thread for every `each` elements, or as many as keep the device busy.
Failed twice_plus(float* x, std::int64_t n, std::int64_t each, bool striding);
// *x += 1, with these blocks and threads.
Failed plus_one(float* x, std::int64_t blocks, unsigned threads, std::size_t shared);
// The same twice: first with a block of too many threads, and with no question for errors between.
Failed plus_one_after_failure(float* x);

std::int64_t blocks_over(std::int64_t n, std::int64_t each);
std::int64_t blocks_striding(std::int64_t n, std::int64_t each);

}  // namespace neura::test
