// Pointwise functions with arguments that a row cannot have, written by hand over rows.
#pragma once
#include <optional>

#include "neura/op/pointwise/rows.h"

namespace neura {

// x rounded to the nearest whole number, ties to even, or to `decimals` digits (negative: to tens, hundreds, …).
struct round_options {
  int decimals = 0;
};
Tensor round(const Tensor& x, round_options = {});
Tensor& round_(Tensor& self, round_options = {});
Tensor& round_out(Tensor& out, const Tensor& x, round_options = {});

// x within [min, max]; each bound is a number, a tensor, or absent, but not both are absent. Where min > max the result
// is max.
struct clamp_options {
  Operand min = {}, max = {};
};
Tensor clamp(const Tensor& x, const clamp_options&);
Tensor& clamp_(Tensor& self, const clamp_options&);
Tensor& clamp_out(Tensor& out, const Tensor& x, const clamp_options&);
inline Tensor clamp(const Tensor& x, const Operand& min, const Operand& max) {
  return clamp(x, clamp_options{min, max});
}
inline Tensor clip(const Tensor& x, const clamp_options& o) { return clamp(x, o); }

// x times the normal distribution function of x; approximate: "none" or "tanh". ValueError for another word.
struct gelu_options {
  const char* approximate = "none";
};
Tensor gelu(const Tensor& x, gelu_options = {});
Tensor& gelu_(Tensor& self, gelu_options = {});

// x above the threshold, otherwise value.
Tensor threshold(const Tensor& x, Scalar threshold, Scalar value);
Tensor& threshold_(Tensor& self, Scalar threshold, Scalar value);

// x within [min_val, max_val]. ValueError where min_val > max_val.
using hardtanh_options = _hardtanh_options;
Tensor hardtanh(const Tensor& x, hardtanh_options = {});
Tensor& hardtanh_(Tensor& self, hardtanh_options = {});

// x moved towards 0 by lambd, which must not be negative (ValueError).
using softshrink_options = _softshrink_options;
Tensor softshrink(const Tensor& x, softshrink_options = {});

// elu with slope 1 at 0 for every alpha but 0 (ValueError).
using celu_options = _celu_options;
Tensor celu(const Tensor& x, celu_options = {});
Tensor& celu_(Tensor& self, celu_options = {});

// x / (1 + |x|), and x - tanh(x).
Tensor softsign(const Tensor& x);
Tensor tanhshrink(const Tensor& x);

// x times itself; of bool in int64.
Tensor square(const Tensor& x);
Tensor& square_(Tensor& self);

#include "neura/tables/functions/declare.h"
#include "neura/tables/functions/pointwise.def"
#include "neura/tables/functions/end.h"

// Sum of (k + q)^-x over k = 0, 1, …; regularised incomplete gamma functions. Differentiable in the second operand
// alone: NotImplementedError where the first requires a gradient.
Tensor zeta(const Operand& x, const Operand& q);
Tensor igamma(const Operand& a, const Operand& x);
Tensor igammac(const Operand& a, const Operand& x);
// The floating number next to a in the direction of b.
Tensor nextafter(const Operand& a, const Operand& b);

// Quotient; rounding_mode: null (true division), "trunc" or "floor". ValueError for another word.
struct div_options {
  const char* rounding_mode = nullptr;
};
Tensor div(const Operand& a, const Operand& b, div_options);
Tensor& div_(Tensor& self, const Operand& other, div_options);

// NaN, infinity and -infinity replaced; what is left out becomes 0, the greatest, the least number of the dtype.
struct nan_to_num_options {
  double nan = 0;
  std::optional<double> posinf = {}, neginf = {};
};
Tensor nan_to_num(const Tensor& x, nan_to_num_options = {});
Tensor& nan_to_num_(Tensor& self, nan_to_num_options = {});

// other - alpha x
Tensor rsub(const Operand& x, const Operand& other, Scalar alpha = 1);
// a + alpha b, a - alpha b
Tensor add(const Operand& a, const Operand& b, Scalar alpha);
Tensor& add_(Tensor& self, const Operand& other, Scalar alpha);
Tensor sub(const Operand& a, const Operand& b, Scalar alpha);
Tensor& sub_(Tensor& self, const Operand& other, Scalar alpha);

// a to the power b, computed in float64 (complex128 for complex numbers).
Tensor float_power(const Operand& a, const Operand& b);
// a times 2 to the power b.
Tensor ldexp(const Operand& a, const Operand& b);

// |a - b| <= atol + rtol |b|, or both the same infinity; equal_nan: NaN equals NaN.
struct isclose_options {
  double rtol = 1e-5, atol = 1e-8;
  bool equal_nan = false;
};
Tensor isclose(const Tensor& a, const Tensor& b, isclose_options = {});
bool allclose(const Tensor& a, const Tensor& b, isclose_options = {});

Tensor& masked_fill_(Tensor& self, const Tensor& mask, const Operand& value);

// Other names of torch's
inline Tensor true_divide(const Operand& a, const Operand& b) { return div(a, b); }
inline Tensor absolute(const Tensor& x) { return abs(x); }
inline Tensor negative(const Tensor& x) { return neg(x); }
inline Tensor fix(const Tensor& x) { return trunc(x); }
inline Tensor positive(const Tensor& x) { return x; }
inline Tensor less(const Operand& a, const Operand& b) { return lt(a, b); }
inline Tensor greater(const Operand& a, const Operand& b) { return gt(a, b); }
inline Tensor less_equal(const Operand& a, const Operand& b) { return le(a, b); }
inline Tensor greater_equal(const Operand& a, const Operand& b) { return ge(a, b); }
inline Tensor not_equal(const Operand& a, const Operand& b) { return ne(a, b); }

}  // namespace neura
