// Random numbers. Element i (in logical order) of a call depends on the draw and on i alone.
#pragma once
#include "neura/backend/backend.h"

namespace neura {

struct Draw {
  enum Kind : std::uint8_t {
    uniform,
    normal,
    log_normal,
    cauchy,
    exponential,
    geometric,
    bernoulli,
    poisson,
    integers
  };
  Kind kind = uniform;
  std::uint64_t seed = 0, offset = 0;
  double a = 0, b = 1;   // from, to; mean, std; median, sigma; lambd; p
  std::int64_t low = 0;  // integers: low + [0, range); a range of 0 is all 2^64
  std::uint64_t range = 0;
};

struct random_kernels {
  // Fills out, of any dtype and strides. `p`: probabilities or rates by element, float64 and contiguous, or absent.
  Entry<void(Context&, const Draw&, View p, View out)> draw;
  Entry<void(Context&, const Draw&, View out)> permutation;  // of 0 … n - 1; out is an int64 vector, contiguous
  // weights: float64 [rows, n], contiguous; out: int64 [rows, samples], contiguous. Without replacement the samples are
  // the largest of weight ^ (1 / u).
  Entry<void(Context&, const Draw&, bool replacement, View weights, View out)> multinomial;
};

}  // namespace neura
