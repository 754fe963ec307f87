// What the random kernels share with each other.
#pragma once
#include "neura/backend/kernels/random.h"

namespace neura::cuda {

void permutation(Context&, const Draw&, View out);  // kernels/random.h
void multinomial(Context&, const Draw&, bool replacement, View weights, View out);

}  // namespace neura::cuda
