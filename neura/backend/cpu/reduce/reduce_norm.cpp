// Norms whose powers leave the range of numbers: of 10^25 a float's square is infinite, of 10^-30 it is 0. What comes
// out says so, and only then the elements are read again: their largest first, and the norm of their ratios to it.
#include <cmath>
#include <limits>

#include "neura/backend/cpu/reduce/reduce.h"

namespace neura {
namespace {

template <class T> struct Bounds {  // of a norm whose sum of powers lost nothing
  double low, high;
  Bounds(double p, double n) {
    constexpr double least = double(std::numeric_limits<T>::min()) / double(std::numeric_limits<T>::epsilon());
    const double edge = std::pow(n * least, 1 / p), most = std::numeric_limits<double>::infinity();
    low = p > 0 ? edge : std::numeric_limits<double>::min(),
    high = p > 0 ? double(std::numeric_limits<T>::max()) : edge;
    if (!(high < most)) high = double(std::numeric_limits<T>::max());
  }
  bool holds(double norm) const { return !(norm < low || norm > high); }  // NaN needs no second look
};

// The dense copy's elements over their result's extreme one.
void divide_by(double* copy, const Spec& x, unsigned reduced, const double* extremes) {
  std::int64_t step[kMaxRank], index[kMaxRank] = {}, result = 0, dense = 1;
  for (int d = x.rank - 1; d >= 0; --d) {
    step[d] = reduced >> d & 1 ? 0 : dense;
    if (step[d]) dense *= x.shape[d];
  }
  for (std::int64_t i = 0; i < x.numel; ++i) {
    copy[i] /= extremes[result];
    for (int d = x.rank - 1; d >= 0; --d) {
      result += step[d];
      if (++index[d] < x.shape[d]) break;
      result -= step[d] * x.shape[d], index[d] = 0;
    }
  }
}

struct Wide {  // dense doubles
  Spec spec;
  View view;
  Wide(Context& c, const Shape& sizes) : spec(Spec::dense(DType::float64, sizes)) {
    view = {static_cast<char*>(c.scratch(spec.bytes())), &spec};
  }
};

template <class T> void mend(Context& c, ReduceOp which, double p, double n, unsigned reduced, View x, View norms) {
  const Bounds<T> bounds(p, n);
  T* const norm = norms.as<T>();
  const std::int64_t results = norms.numel();
  bool all = true;
  for (std::int64_t i = 0; i < results; ++i) all = all && bounds.holds(double(norm[i]));
  if (all) return;
  const Wide extremes(c, norms.spec->sizes());
  fold(c, p > 0 ? ReduceOp::norm_inf : ReduceOp::norm_neg_inf, DType::float64, reduced, x, {}, extremes.view);
  double* const extreme = extremes.view.as<double>();
  const auto to_mend = [&](std::int64_t i) {
    return !bounds.holds(double(norm[i])) && extreme[i] > 0 && std::isfinite(extreme[i]);
  };
  all = true;
  for (std::int64_t i = 0; i < results; ++i) all = all && !to_mend(i);
  if (all) return;  // zeros and infinities: their norms are right
  const Wide copy(c, x.spec->sizes()), ratios(c, norms.spec->sizes());
  fold(c, ReduceOp::sum, DType::float64, 0, x, {}, copy.view);
  divide_by(copy.view.as<double>(), copy.spec, reduced, extreme);
  const Spec one = Spec::dense(DType::float64, {});
  const View power{reinterpret_cast<char*>(&p), &one};
  fold(c, which, DType::float64, reduced, copy.view, which == ReduceOp::normp ? power : View{}, ratios.view);
  for (std::int64_t i = 0; i < results; ++i)
    if (to_mend(i)) norm[i] = T(ratios.view.as<double>()[i] * extreme[i]);
}

}  // namespace

void norm(Context& c, ReduceOp which, DType computed, unsigned reduced, View x, View p, View y) {
  const bool single = computed == DType::float32, in_place = y.dtype() == computed && y.spec->contiguous;
  const Spec dense = Spec::dense(computed, y.spec->sizes());
  const View norms = in_place ? y : View{static_cast<char*>(c.scratch(dense.bytes())), &dense};
  fold(c, which, computed, reduced, x, p, norms);
  const double power = which == ReduceOp::norm2 ? 2 : single ? double(*p.as<float>()) : *p.as<double>();
  const double n = y.numel() ? double(x.numel()) / double(y.numel()) : 0;
  if (n > 0) (single ? mend<float> : mend<double>)(c, which, power, n, reduced, x, norms);
  if (!in_place) fold(c, ReduceOp::sum, computed, 0, norms, {}, y);
}

}  // namespace neura
