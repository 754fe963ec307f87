// Weights of 8 bits in a program.
#pragma once
#include "neura/graph/program.h"

namespace neura::graph {

struct IntegerWeights {
  Program program;
  std::size_t weights = 0;            // that became integers
  std::size_t before = 0, after = 0;  // their bytes
};
// Weights of products and convolutions become int8, with a float32 step for each row or filter, of which every run
// makes floats: a quarter of the bytes. No weight moves by more than half a step, which is 1/254 of the largest of its
// row. They are float32 memory or constants of two dimensions or more and at least `least` elements, all finite, that
// no call but products, convolutions and permutations of dimensions reads. The calls are such as files may have
// (foreign.h).
IntegerWeights with_integer_weights(const Program&, std::int64_t least = 256);

}  // namespace neura::graph
