#include "neura/ops/pointwise/composed.h"

#include <cfloat>
#include <cmath>
#include <cstring>

#include "neura/core/scalar_range.h"
#include "neura/core/state.h"
#include "neura/core/wrapped.h"
#include "neura/op/call_error.h"
#include "neura/op/overwrite.h"
#include "neura/op/pointwise/pointwise.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/reduce/expect.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

// d digits: round(x * 10^d) / 10^d, or round(x * 10^-d) * 10^d.
_round_decimals_options scales(int decimals) {
  const double power = std::pow(10.0, std::abs(decimals));
  return decimals > 0 ? _round_decimals_options{power, 1} : _round_decimals_options{1, power};
}
bool takes_attributes(const Tensor& x, const clamp_options& o) {
  const auto number = [](const Operand& b) {
    return b.kind == Operand::absent || (b.is_scalar() && !b.scalar.is_complex() && !std::isnan(b.scalar.real()));
  };
  return is_floating(x.dtype()) && number(o.min) && number(o.max);
}
_clamp_options bounds(const clamp_options& o) {
  _clamp_options b;
  if (o.min.is_scalar()) b.min = o.min.scalar.real();
  if (o.max.is_scalar()) b.max = o.max.scalar.real();
  return b;
}
void check_bounds(const clamp_options& o) {
  check<ValueError>(o.min.kind != Operand::absent || o.max.kind != Operand::absent,
                    [] { return "clamp: expected min or max, got neither; give at least one of them"; });
}
[[noreturn]] void wrong_word(const char* text, const char* word) {
  throw ValueError(std::string(text) + ", got '" + word + "'");
}
bool by_tanh(const char* approximate) {
  if (std::strcmp(approximate, "tanh") == 0) return true;
  if (std::strcmp(approximate, "none") != 0)
    wrong_word("gelu: expected approximate to be 'none' or 'tanh'", approximate);
  return false;
}
const Row& division(const char* mode) {
  if (!mode) return rows::div;
  if (!std::strcmp(mode, "trunc")) return rows::div_trunc;
  if (!std::strcmp(mode, "floor")) return rows::div_floor;
  wrong_word("div: expected rounding_mode to be None, 'trunc' or 'floor'", mode);
}
const hardtanh_options& ordered_bounds(const hardtanh_options& o) {
  check<ValueError>(o.min_val <= o.max_val, [&] {
    return "hardtanh: expected min_val <= max_val, got " + Scalar(o.min_val).str() + " and " + Scalar(o.max_val).str();
  });
  return o;
}
const celu_options& not_zero(const celu_options& o) {
  check<ValueError>(o.alpha != 0, [] { return "celu: expected alpha other than 0, got 0"; });
  return o;
}
const Operand& without_gradient(const char* op, const Operand& o) {
  check<NotImplementedError>(
      !o.is_tensor() || (state.active & kNoGrad) || !Tensor(Ref<TensorImpl>::share(o.tensor)).requires_grad(),
      [&] { return std::string(op) + ": has no derivative with respect to its first operand; detach() it"; });
  return o;
}
double greatest(DType d) {
  switch (to_real(d)) {
    case DType::float16:
      return 65504;
    case DType::bfloat16:
      return 3.3895313892515355e38;
    case DType::float32:
      return FLT_MAX;
    default:
      return DBL_MAX;
  }
}
_nan_to_num_options numbers_for(const Tensor& x, const nan_to_num_options& o) {
  const double top = greatest(x.dtype());
  return {o.nan, o.posinf.value_or(top), o.neginf.value_or(-top)};
}
Operand scaled(const char* name, const Operand& a, const Operand& b, const Scalar& alpha, Tensor& kept) {
  const auto integral = [](const Operand& o) {
    return o.is_tensor() ? is_integral(o.tensor->spec.dtype) : o.scalar.category() <= Category::integer;
  };
  check<ValueError>(alpha.category() <= Category::integer || !integral(a) || !integral(b), [&] {
    return std::string(name) + ": expected an integral alpha for integral operands, got " + alpha.str();
  });
  kept = mul(b, alpha);
  return kept;
}
// The number as an element of an integer dtype. ValueError if it does not fit.
Scalar held(const char* op, const Scalar& number, DType integers) {
  check_storable(op, number, integers);
  alignas(8) char element[8];
  number.store(integers, element);
  return Scalar::load(integers, element);
}
// The value of masked_fill in the tensor's dtype, which may not hold it, or hold an infinity instead.
void check_filler(const Scalar& value, DType d) {
  check_storable("masked_fill", value, d);
  const auto beyond = [d](double part) { return std::isfinite(part) && std::abs(part) > greatest(d); };
  check<ValueError>(is_integral(d) || !(beyond(value.real()) || beyond(value.imag())), [&] {
    return std::string("masked_fill: expected a number that ") + name(d) + " holds, got " + value.str();
  });
}
void check_filler(const Tensor& value, DType d) {
  if (d == DType::boolean || category(value.dtype()) == Category::storage || promote(d, value.dtype()) == d) return;
  const Tensor v = innermost(value).detach();  // of a batch, too
  Tensor holds;
  if (is_integral(d)) {
    const std::int64_t high = saturated(INT64_MAX, d).integer(), low = saturated(INT64_MIN, d).integer();
    holds = logical_and(ge(v, low ? low : -high), d == DType::int64 ? lt(v, 0x1p63) : le(v, high));  // as in storable()
  } else {
    holds = logical_or(logical_not(isinf(v.to(d))), isinf(v));
  }
  if (!host_looks(v)) return expect(Rule::fillers, holds);
  check<ValueError>(all(holds).item<bool>(), [&] {
    return std::string("masked_fill: expected a number that ") + name(d) + " holds, got " +
           (v.numel() == 1 ? v.item().str() : "another");
  });
}
// To no decimals, which integers have: they are their own answer. Tens and hundreds are for floating numbers.
bool rounds_to_whole(const Tensor& x, int decimals) {
  check<NotImplementedError>(decimals >= 0 || !is_integral(x.dtype()), [&] {
    return "round: expected floating numbers for decimals below 0, got " + x.spec().str() + "; convert them with .to()";
  });
  return decimals == 0 || is_integral(x.dtype());
}
bool is_one(const Scalar& s) { return s.category() <= Category::integer && s.integer() == 1; }

}  // namespace

Tensor round(const Tensor& x, round_options o) {
  return rounds_to_whole(x, o.decimals) ? _round(x) : _round_decimals(x, scales(o.decimals));
}
Tensor& round_(Tensor& self, round_options o) {
  return rounds_to_whole(self, o.decimals) ? _round_(self) : _round_decimals_(self, scales(o.decimals));
}
Tensor& round_out(Tensor& out, const Tensor& x, round_options o) {
  if (rounds_to_whole(x, o.decimals)) return _round_out(out, x);
  return _round_decimals_out(out, x, scales(o.decimals));
}

Tensor clamp(const Tensor& x, const clamp_options& o) {
  check_bounds(o);
  if (takes_attributes(x, o)) return _clamp(x, bounds(o));
  if (o.min.kind == Operand::absent) return clamp_max(x, o.max);
  return o.max.kind == Operand::absent ? clamp_min(x, o.min) : _clamp_between(x, o.min, o.max);
}
Tensor& clamp_(Tensor& self, const clamp_options& o) {
  check_bounds(o);
  if (takes_attributes(self, o)) return _clamp_(self, bounds(o));
  if (o.min.kind == Operand::absent) return clamp_max_(self, o.max);
  return o.max.kind == Operand::absent ? clamp_min_(self, o.min) : _clamp_between_(self, o.min, o.max);
}
Tensor& clamp_out(Tensor& out, const Tensor& x, const clamp_options& o) {
  check_bounds(o);
  if (takes_attributes(x, o)) return _clamp_out(out, x, bounds(o));
  if (o.min.kind == Operand::absent) return clamp_max_out(out, x, o.max);
  return o.max.kind == Operand::absent ? clamp_min_out(out, x, o.min) : _clamp_between_out(out, x, o.min, o.max);
}

Tensor gelu(const Tensor& x, gelu_options o) { return by_tanh(o.approximate) ? _gelu_tanh(x) : _gelu(x); }
Tensor& gelu_(Tensor& self, gelu_options o) { return by_tanh(o.approximate) ? _gelu_tanh_(self) : _gelu_(self); }

Tensor threshold(const Tensor& x, Scalar threshold, Scalar value) {
  if (!is_integral(x.dtype())) return _threshold(x, _threshold_options{threshold.real(), value.real()});
  return where(gt(x, held("threshold", threshold, x.dtype())), x, held("threshold", value, x.dtype()));
}
Tensor& threshold_(Tensor& self, Scalar threshold, Scalar value) {
  if (!is_integral(self.dtype())) return _threshold_(self, {threshold.real(), value.real()});
  return copy_(self, neura::threshold(self, threshold, value));
}

Tensor hardtanh(const Tensor& x, hardtanh_options o) { return _hardtanh(x, ordered_bounds(o)); }
Tensor& hardtanh_(Tensor& self, hardtanh_options o) { return _hardtanh_(self, ordered_bounds(o)); }
Tensor softshrink(const Tensor& x, softshrink_options o) { return _softshrink(x, o); }
Tensor celu(const Tensor& x, celu_options o) { return _celu(x, not_zero(o)); }
Tensor& celu_(Tensor& self, celu_options o) { return _celu_(self, not_zero(o)); }
// Rows for floating dtypes; complex numbers and integers take the formula.
Tensor softsign(const Tensor& x) { return is_floating(x.dtype()) ? _softsign(x) : div(x, add(abs(x), 1)); }
Tensor tanhshrink(const Tensor& x) { return is_floating(x.dtype()) ? _tanhshrink(x) : sub(x, tanh(x)); }
Tensor square(const Tensor& x) { return _square(x.dtype() == DType::boolean ? x.to(DType::int64) : x); }
Tensor& square_(Tensor& self) { return _square_(self); }

Tensor div(const Operand& a, const Operand& b, div_options o) {
  if (o.rounding_mode && !std::strcmp(o.rounding_mode, "trunc")) {  // torch rounds the quotient of halves before
    Operand in[] = {a, b};
    if (bit(promoted({&rows::div_trunc, nullptr, in, 2, nullptr})) & dtypes::halves) return trunc(div(a, b));
  }
  return apply_row(division(o.rounding_mode), nullptr, a, b);
}
Tensor& div_(Tensor& self, const Operand& other, div_options o) {
  return apply_in_place(division(o.rounding_mode), nullptr, self, other);
}

Tensor polygamma(int n, const Tensor& x) {
  check<ValueError>(n >= 0, [&] { return "polygamma: expected n >= 0, got " + std::to_string(n); });
  return n == 0 ? digamma(x) : _polygamma(x, _polygamma_options{double(n)});
}
Tensor mvlgamma(const Tensor& x, int p) {
  check<ValueError>(p >= 1, [&] { return "mvlgamma: expected p >= 1, got " + std::to_string(p); });
  check<ValueError>(p <= 1 << 24, [&] {  // halves of larger numbers are lost in float32
    return "mvlgamma: expected p of at most 16777216, got " + std::to_string(p);
  });
  const DType result = is_integral(x.dtype()) ? default_dtype() : x.dtype();
  const Tensor halves = mul(arange(0, p, 1, {.dtype = accumulation(result), .device = x.device()}), 0.5);
  const Tensor terms = sum(lgamma(sub(reshape(x, {x.numel(), 1}), halves)), -1);
  return add(to(reshape(terms, x.shape()), result), 0.25 * p * (p - 1) * std::log(3.141592653589793));
}
Tensor zeta(const Operand& x, const Operand& q) { return _zeta(without_gradient("zeta", x), q); }
Tensor igamma(const Operand& a, const Operand& x) { return _igamma(without_gradient("igamma", a), x); }
Tensor igammac(const Operand& a, const Operand& x) { return _igammac(without_gradient("igammac", a), x); }
Tensor nextafter(const Operand& a, const Operand& b) {
  Operand in[] = {a, b};
  return promoted({&rows::_nextafter, nullptr, in, 2, nullptr}) == DType::bfloat16 ? _nextafter_bfloat16(a, b)
                                                                                   : _nextafter(a, b);
}

Tensor nan_to_num(const Tensor& x, nan_to_num_options o) { return _nan_to_num(x, numbers_for(x, o)); }
Tensor& nan_to_num_(Tensor& self, nan_to_num_options o) { return _nan_to_num_(self, numbers_for(self, o)); }

Tensor rsub(const Operand& x, const Operand& other, Scalar alpha) { return sub(other, x, alpha); }
Tensor add(const Operand& a, const Operand& b, Scalar alpha) {
  Tensor kept;
  return is_one(alpha) ? add(a, b) : add(a, scaled("add", a, b, alpha, kept));
}
Tensor& add_(Tensor& self, const Operand& other, Scalar alpha) {
  Tensor kept;
  return is_one(alpha) ? add_(self, other) : add_(self, scaled("add_", self, other, alpha, kept));
}
Tensor sub(const Operand& a, const Operand& b, Scalar alpha) {
  Tensor kept;
  return is_one(alpha) ? sub(a, b) : sub(a, scaled("sub", a, b, alpha, kept));
}
Tensor& sub_(Tensor& self, const Operand& other, Scalar alpha) {
  Tensor kept;
  return is_one(alpha) ? sub_(self, other) : sub_(self, scaled("sub_", self, other, alpha, kept));
}

Tensor float_power(const Operand& a, const Operand& b) {
  const auto complex = [](const Operand& o) {
    return o.is_tensor() ? is_complex(o.tensor->spec.dtype) : o.scalar.is_complex();
  };
  const DType wide = complex(a) || complex(b) ? DType::complex128 : DType::float64;
  Tensor kept[2];
  const auto widened = [&](const Operand& o, Tensor& keep) {
    if (!o.is_tensor()) return o;
    keep = Tensor(Ref<TensorImpl>::share(o.tensor)).to(wide);
    return Operand(keep);
  };
  return pow(widened(a, kept[0]), widened(b, kept[1]));
}
Tensor ldexp(const Operand& a, const Operand& b) {
  const auto dtype = [](const Operand& o) { return o.tensor->spec.dtype; };
  if (!a.is_tensor() || !b.is_tensor() || !differentiable(dtype(a)) || !is_integral(dtype(b)))
    return mul(a, pow(2.0, b));
  // In double precision and three factors: 2^b alone may overflow or underflow where the result does not.
  const Tensor x(Ref<TensorImpl>::share(a.tensor));
  constexpr int kEnd = 2200;  // beyond it every double is 0 or infinite
  const Tensor n = clamp(Tensor(Ref<TensorImpl>::share(b.tensor)).to(DType::float64), -kEnd, kEnd);
  const Tensor third = trunc(n / 3.0), factor = pow(2.0, third);
  const Tensor wide = x.to(is_complex(x.dtype()) ? DType::complex128 : DType::float64);
  return mul(mul(mul(wide, factor), factor), pow(2.0, n - third * 2.0)).to(x.dtype());
}

Tensor isclose(const Tensor& a, const Tensor& b, isclose_options o) {
  check<ValueError>(o.rtol >= 0 && o.atol >= 0, [] { return "isclose: expected rtol and atol not below 0"; });
  check<DTypeError>(a.dtype() == b.dtype(), [&] {
    return std::string("isclose: expected operands of one dtype, got ") + name(a.dtype()) + " and " + name(b.dtype());
  });
  Tensor close = eq(a, b);
  if (o.equal_nan && differentiable(a.dtype())) close = logical_or(close, logical_and(isnan(a), isnan(b)));
  if (o.rtol == 0 && o.atol == 0) return close;
  const Tensor wide = is_integral(b.dtype()) ? b.to(default_dtype()) : b;
  const Tensor distance = abs(sub(is_integral(a.dtype()) ? a.to(default_dtype()) : a, wide));
  return logical_or(close, logical_and(isfinite(distance), le(distance, add(abs(mul(wide, o.rtol)), o.atol))));
}

bool allclose(const Tensor& a, const Tensor& b, isclose_options o) { return all(isclose(a, b, o)).item<bool>(); }
bool equal(const Tensor& a, const Tensor& b) {
  if (!a.spec().same_shape(b.spec())) return false;
  if (a.dtype() == DType::uint64 && b.dtype() == DType::uint64)  // which eq does not take: their bits
    return all(eq(a.to(DType::int64), b.to(DType::int64))).item<bool>();
  return all(eq(a, b)).item<bool>();
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, const Operand& value) {
  check<DTypeError>(mask.dtype() == DType::boolean, [&] {
    return std::string("masked_fill: expected a mask of dtype bool, got ") + name(mask.dtype());
  });
  if (value.is_tensor()) {
    check<ShapeError>(value.tensor->spec.rank == 0, [&] {
      return "masked_fill: expected a number or a tensor without dimensions as value, got " + value.tensor->spec.str();
    });
    check<DTypeError>(!is_complex(value.tensor->spec.dtype) || is_complex(x.dtype()), [&] {
      return std::string("masked_fill: expected a real value for ") + name(x.dtype()) + ", got " +
             value.tensor->spec.str();
    });
    const Tensor filler(Ref<TensorImpl>::share(value.tensor));
    check_filler(filler, x.dtype());
    return where(mask, filler.to(x.dtype()), x);
  }
  check<DTypeError>(!value.scalar.is_complex() || is_complex(x.dtype()), [&] {
    return std::string("masked_fill: expected a real value for ") + name(x.dtype()) + ", got " + value.scalar.str();
  });
  check_filler(value.scalar, x.dtype());
  if (x.dtype() == DType::boolean) return where(mask, Scalar(value.scalar.real() != 0), x);
  return where(mask, is_integral(x.dtype()) ? Scalar(value.scalar.integer()) : value.scalar, x);
}
Tensor& masked_fill_(Tensor& self, const Tensor& mask, const Operand& value) {
  check_overwrite(Overwriter::masked_fill, self);
  return overwrite(Overwriter::masked_fill, self, masked_fill(self, mask, value));
}

Tensor prelu(const Tensor& x, const Tensor& weight) {
  check_given("prelu", "weight", weight);
  const std::int64_t n = weight.numel();
  check<ShapeError>(weight.dim() <= 1 && (n == 1 || (x.dim() >= 2 && x.size(1) == n)), [&] {
    return "prelu: expected weight of one element or one per channel of input " + x.spec().str() + ", got " +
           weight.spec().str();
  });
  if (n == 1) return _prelu(x, weight.dim() == 0 ? weight : weight.reshape({}));
  Shape shape;
  for (int d = 0; d < x.dim(); ++d) shape.push_back(d == 1 ? n : 1);
  return _prelu(x, weight.reshape(shape));
}

}  // namespace neura
