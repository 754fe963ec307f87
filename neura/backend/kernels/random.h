// Random numbers. Element i (in logical order) of a call depends on the draw and on i alone.
#pragma once
#include "neura/backend/backend.h"

namespace neura {

#define NEURA_DRAWS(DRAW) \
  DRAW(uniform)           \
  DRAW(normal)            \
  DRAW(log_normal)        \
  DRAW(cauchy)            \
  DRAW(exponential)       \
  DRAW(geometric)         \
  DRAW(bernoulli)         \
  DRAW(poisson)           \
  DRAW(random) /* integers */

struct Draw {
#define DRAW(name) name,
  enum Kind : std::uint8_t { NEURA_DRAWS(DRAW) };
#undef DRAW
#define DRAW(name) #name,
  static constexpr const char* kNames[] = {NEURA_DRAWS(DRAW)};  // of the operations
#undef DRAW
#undef NEURA_DRAWS
  Kind kind = uniform;
  std::uint64_t seed = 0, offset = 0;
  double a = 0, b = 1;   // from, extent; mean, std; median, sigma; lambd; p
  std::int64_t low = 0;  // random: low + [0, range); a range of 0 is all 2^64
  std::uint64_t range = 0;
};

// Terms of the polynomials by which float32 numbers are transformed, of the highest power first: the same on every
// device. (log(1 + m) - m + m^2 / 2) / m^3; (sin(r) - r) / r^3 and cos(r) by powers of r^2.
#define NEURA_LOG_TERMS                                                                                          \
  7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f, 1.4249322787e-1f, -1.6668057665e-1f, \
      2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f
#define NEURA_SIN_TERMS -1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f
#define NEURA_COS_TERMS 2.443315711809948e-5f, -1.388731625493765e-3f, 4.166664568298827e-2f, -0.5f, 1.0f

struct random_kernels {
  // Fills out, of any dtype and strides. `p`: probabilities or rates by element, float64 and contiguous, or absent.
  Entry<void(Context&, const Draw&, View p, View out)> draw;
  Entry<void(Context&, const Draw&, View out)> permutation;  // of 0 … n - 1; out is an int64 vector, contiguous
  // weights: float64 [rows, n], contiguous; out: int64 [rows, samples], contiguous. Without replacement the samples are
  // the largest of weight ^ (1 / u). A device may add weights in an order of its own: a sample at the border between
  // two to the last bit may be the other one there.
  Entry<void(Context&, const Draw&, bool replacement, View weights, View out)> multinomial;
};

}  // namespace neura
