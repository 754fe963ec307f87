// How far two pictures are apart.
#pragma once
#include "neura/op/pointwise/rows.h"
#include "neura/ops/reduce/reduce.h"

namespace neura::test {

inline double farthest(const Tensor& a, const Tensor& b) {
  return amax(abs(sub(a.to(float64), b.to(float64)))).item().real();
}

}  // namespace neura::test
