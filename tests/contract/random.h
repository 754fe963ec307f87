// Random calls: shapes, layouts and numbers from a seed. A failure prints it; NEURA_SEED=<n> replays that call alone.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/contract/row_case.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {

struct Random : Dice {
  explicit Random(std::uint64_t seed) : Dice{seed * 0x9E3779B97F4A7C15u} {}
  std::int64_t from(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  bool chance(double p) { return uniform() < p; }
  Shape shape(int least_rank, int most_rank, std::int64_t most = 5) {
    Shape s;
    for (std::int64_t r = from(least_rank, most_rank); r > 0; --r) s.push_back(chance(0.04) ? 0 : from(1, most));
    return s;
  }
  // The same elements in any order of dimensions in memory, with gaps, after an offset.
  Tensor laid(const Tensor& t) {
    Shape strides = t.shape();
    std::int64_t step = from(1, 2);
    std::vector<int> order;
    for (int d = 0; d < t.dim(); ++d) order.insert(order.begin() + from(0, d), d);
    for (const int d : order) strides[d] = step, step *= std::max<std::int64_t>(t.size(d), 1) + (chance(0.2) ? 1 : 0);
    return with_strides(t, strides, from(0, 3));
  }
  Tensor tensor(const Shape& s, DType d, double low = -3, double high = 3) {
    return laid(sample(s, d, {.low = low, .high = high, .seed = bits()}));
  }
  Tensor indices(const Shape& s, std::int64_t bound) {
    return laid(from_loop(s, int64, [&](const Shape&) { return below(bound); }));
  }
};
// Two thousand calls, each with a seed of its own, up to the first that fails.
template <class F> void thousands(F&& f) {
  const char* replay = std::getenv("NEURA_SEED");
  const std::uint64_t first = replay ? std::strtoull(replay, nullptr, 10) : 1, last = replay ? first : 2000;
  for (std::uint64_t seed = first; seed <= last && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("NEURA_SEED=" + std::to_string(seed));
    Random r(seed);
    f(r), count_case();
  }
}

}  // namespace neura::test
