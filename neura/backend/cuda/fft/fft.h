// The parts of Fourier transforms: cuFFT, and what it does not do.
#pragma once
#include "neura/backend/cuda/runtime/failure.h"
#include "neura/backend/kernels/fft.h"

namespace neura::cuda {

enum class FftKind : unsigned char { complex, real, real_inverse };

// `batch` transforms of 1 to 3 dimensions. Element i of a line is i * stride from its start, transform j starts at j *
// distance; a halved last dimension of n real numbers has n / 2 + 1 bins. All of it is the key of a plan.
struct FftBatch {
  FftKind kind;
  bool wide;  // float64
  int rank;
  std::int64_t n[3] = {1, 1, 1}, batch = 1, stride_in = 1, distance_in = 1, stride_out = 1, distance_out = 1;
  bool operator==(const FftBatch&) const = default;
};
// On the current stream. A real_inverse may overwrite x. fft_plan.cpp
Failed transform(int index, const FftBatch&, bool inverse, const char* x, char* y);

// Bins of [.., bins, inner] times `factor`, and those that represent their conjugates as well times `weight`, too.
struct FftBins {
  bool wide;
  std::int64_t count, bins, inner, n;  // count: of all; n: real numbers of the halved dimension
  double factor, weight;
  // The other transformed dimensions of a real_inverse, and their strides in elements
  int others = 0;
  std::int64_t size[kMaxRank] = {}, stride[kMaxRank] = {};
};
Failed weigh(int index, const FftBins&, char* y);  // in place; fft_bins.cu
// x != y. Of a bin that is its own conjugate only the part is taken that a real signal has: cuFFT does not say what it
// makes of another.
Failed weigh_hermitian(int index, const FftBins&, const char* x, char* y);

}  // namespace neura::cuda
