#include "neura/ops/signal/window.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"

namespace neura::windows {
namespace {

constexpr double kPi = std::numbers::pi;

DType dtype_of_window(const char* op, std::int64_t M, const Options& o) {
  const DType d = o.tensor.dtype.value_or(default_dtype());
  check<ValueError>(
      M >= 0, [&] { return std::string(op) + ": expected a length that is not negative, got " + std::to_string(M); });
  check<ValueError>(d == DType::float32 || d == DType::float64,
                    [&] { return std::string(op) + ": expected float32 or float64, got " + name(d); });
  return d;
}
// M values from start on, `step` apart, and a function of them.
template <class F> Tensor over(const char* op, std::int64_t M, double start, double step, const Options& o, F&& f) {
  const DType d = dtype_of_window(op, M, o);
  if (M == 0) return zeros({0}, o.tensor);
  const Tensor x = linspace(start, start + double(M - 1) * step, M, {.dtype = d, .device = o.tensor.device});
  Tensor w = f(x);
  return o.tensor.requires_grad ? w.requires_grad_() : w;
}
double steps(std::int64_t M, bool sym) { return double(sym ? M - 1 : M); }
Tensor of_one(const char* op, const Options& o) { return dtype_of_window(op, 1, o), ones({1}, o.tensor); }

Tensor cosines(const char* op, std::int64_t M, const std::vector<double>& a, const Options& o) {
  check<ValueError>(!a.empty(), [&] { return std::string(op) + ": expected at least one coefficient, got none"; });
  if (M == 1) return of_one(op, o);
  return over(op, M, 0, 2 * kPi / steps(M, o.sym), o, [&](const Tensor& x) {
    Tensor w = full_like(x, a[0]);
    for (std::size_t i = 1; i < a.size(); ++i) add_(w, mul(cos(mul(x, double(i))), i % 2 ? -a[i] : a[i]));
    return w;
  });
}

}  // namespace

Tensor bartlett(std::int64_t M, const Options& o) {
  if (M == 1) return of_one("bartlett", o);
  return over("bartlett", M, -1, 2 / steps(M, o.sym), o, [](const Tensor& x) { return 1.0 - abs(x); });
}
Tensor cosine(std::int64_t M, const Options& o) {
  const double step = kPi / double(!o.sym && M > 1 ? M + 1 : M);
  return over("cosine", M, step / 2, step, o, [](const Tensor& x) { return sin(x); });
}
Tensor exponential(std::int64_t M, std::optional<double> center, double tau, const Options& o) {
  check<ValueError>(tau > 0, [&] { return "exponential: expected tau > 0, got " + Scalar(tau).str(); });
  check<ValueError>(!(o.sym && center), [] {
    return std::string("exponential: expected no center for a symmetric window; pass sym=False with a center");
  });
  const double middle = center.value_or(double(!o.sym && M > 1 ? M : M - 1) / 2);
  return over("exponential", M, -middle / tau, 1 / tau, o, [](const Tensor& x) { return exp(-abs(x)); });
}
Tensor gaussian(std::int64_t M, double std, const Options& o) {
  check<ValueError>(std > 0, [&] { return "gaussian: expected std > 0, got " + Scalar(std).str(); });
  const double scale = 1 / (std * std::numbers::sqrt2), middle = double(!o.sym && M > 1 ? M : M - 1) / 2;
  return over("gaussian", M, -middle * scale, scale, o, [](const Tensor& x) { return exp(-(x * x)); });
}
Tensor kaiser(std::int64_t M, double beta, const Options& o) {
  check<ValueError>(beta >= 0,
                    [&] { return "kaiser: expected a beta that is not negative, got " + Scalar(beta).str(); });
  if (M == 1) return of_one("kaiser", o);
  return over("kaiser", M, -beta, 2 * beta / steps(M, o.sym), o, [&](const Tensor& x) {
    const Tensor inside = clamp_min(beta * beta - x * x, 0.0);  // rounding may leave the interval
    return div(i0(sqrt(inside)), i0(full_like(x, beta)));
  });
}
Tensor general_cosine(std::int64_t M, const std::vector<double>& a, const Options& o) {
  return cosines("general_cosine", M, a, o);
}
Tensor general_hamming(std::int64_t M, double alpha, const Options& o) {
  return cosines("general_hamming", M, {alpha, 1 - alpha}, o);
}
Tensor hamming(std::int64_t M, const Options& o) { return cosines("hamming", M, {0.54, 0.46}, o); }
Tensor hann(std::int64_t M, const Options& o) { return cosines("hann", M, {0.5, 0.5}, o); }
Tensor blackman(std::int64_t M, const Options& o) { return cosines("blackman", M, {0.42, 0.5, 0.08}, o); }
Tensor nuttall(std::int64_t M, const Options& o) {
  return cosines("nuttall", M, {0.3635819, 0.4891775, 0.1365995, 0.0106411}, o);
}

}  // namespace neura::windows
