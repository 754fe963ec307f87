// Discrete Fourier transforms over several dimensions of float32, float64 and their complex numbers.
#pragma once
#include "neura/backend/backend.h"

namespace neura {

struct FftShape {
  Shape dims;     // each once and at least one; of a real transform the last one is the halved dimension
  double scale;   // of every result
  bool inverse;   // of a complex transform: exponents of +i instead of -i
  bool two_fold;  // of a real transform: a bin that represents its conjugate as well counts twice
};

// Sizes of x and y are equal but in a halved dimension: n real numbers there are n / 2 + 1 bins. Any strides of x; y is
// contiguous.
struct fft_kernels {
  Entry<void(Context&, View x, View y, const FftShape&)> complex;       // complex to complex
  Entry<void(Context&, View x, View y, const FftShape&)> real;          // real to complex, exponents of -i
  Entry<void(Context&, View x, View y, const FftShape&)> real_inverse;  // complex to real, exponents of +i
};

}  // namespace neura
