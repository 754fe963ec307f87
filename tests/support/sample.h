// Sample tensors: the same numbers for the same seed on every machine, made without any operation of the library.
#pragma once
#include <cstdint>

#include "neura/core/tensor.h"

namespace neura::test {

struct Sample {
  double low = -2, high = 2;  // integers and both parts of a complex number keep within them as well
  std::uint64_t seed = 0;
  double gap = 0;  // no element lies closer to 0 than this: keeps away from a kink there
};
// Evenly distributed in [low, high); unsigned integers in [max(low, 0), high), bool half of each.
Tensor sample(const Shape&, DType = DType::float32, Sample = {});
// All different, in random order, at least `step` apart around 0: for max, sort, median and pooling.
Tensor distinct_sample(const Shape&, DType = DType::float32, std::uint64_t seed = 0, double step = 0.25);

struct Dice {  // the generator of all of these (splitmix64)
  std::uint64_t state;
  std::uint64_t bits();
  double uniform() { return double(bits() >> 11) * 0x1p-53; }                             // [0, 1)
  std::int64_t below(std::int64_t n) { return std::int64_t(bits() % std::uint64_t(n)); }  // [0, n)
};

}  // namespace neura::test
