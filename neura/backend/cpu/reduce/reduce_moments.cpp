// What takes two folds: the mean first and then the spread around it, the maximum first and then the sum of
// exponentials.
#include <algorithm>
#include <cmath>
#include <limits>

#include "neura/backend/cpu/reduce/reduce.h"

namespace neura {
namespace {

struct Results {  // dense, of the computing dtype, as many as y has
  Spec spec;
  View view;
  Results(Context& c, DType d, View y) : spec(Spec::dense(d, y.spec->sizes())) {
    view = {static_cast<char*>(c.scratch(spec.bytes())), &spec};
  }
  void to(Context& c, View y) const {
    const std::int64_t size = size_of(spec.dtype), y_size = size_of(y.dtype());
    c.backend.convert->pair[int(spec.dtype)][int(y.dtype())](view.data, size, y.data, y_size, std::size_t(spec.numel));
  }
};

template <class F> void each(const Results& r, F f) {
  const std::int64_t n = r.spec.numel;
  if (r.spec.dtype == DType::float32)
    for (float *p = r.view.as<float>(), *end = p + n; p < end; ++p) *p = float(f(*p));
  else
    for (double *p = r.view.as<double>(), *end = p + n; p < end; ++p) *p = f(*p);
}

// The first element of every result: a number among those whose mean is sought, so that the distances from it have no
// large part in common. 0 instead of one that is not finite, or so large that a distance may not be.
void pilots(Context& c, unsigned reduced, View x, const Results& to) {
  Spec first = *x.spec;
  for (int d = 0; d < x.rank(); ++d)
    if (reduced >> d & 1) first.shape[d] = 1;
  first.finish();
  fold(c, ReduceOp::sum, to.spec.dtype, reduced, {x.data, &first}, {}, to.view);
  const double most = (to.spec.dtype == DType::float32 ? double(std::numeric_limits<float>::max())
                                                       : std::numeric_limits<double>::max()) /
                      4;
  each(to, [&](double p) { return std::abs(p) <= most ? p : 0.0; });
}

// The mean is the pilot and the mean of the distances from it. What rounding takes from their sum (of numbers around
// 10^6 a float holds 0.03) the sum of squares around the rounded mean has too much, times n and squared.
template <class T>
void sums_as(Context& c, double n, unsigned reduced, View x, const Results& centre, View y, double* sums) {
  const DType d = centre.spec.dtype;
  const Results spread(c, d, y);
  T *pilot = centre.view.as<T>(), *s = spread.view.as<T>();
  const std::int64_t results = centre.spec.numel;
  double* rest = c.scratch_of<double>(results);
  if (n > 0) {
    pilots(c, reduced, x, centre);
    fold(c, ReduceOp::sum_dev, d, reduced, x, centre.view, spread.view);
  }
  for (std::int64_t i = 0; i < results; ++i) {
    const double mean = n > 0 ? double(pilot[i]) + double(s[i]) / n : std::numeric_limits<double>::quiet_NaN();
    pilot[i] = T(mean), rest[i] = std::isfinite(mean) ? mean - double(pilot[i]) : 0;
  }
  fold(c, ReduceOp::sum_sq_dev, d, reduced, x, centre.view, spread.view);
  for (std::int64_t i = 0; i < results; ++i) {
    const double around = double(s[i]) - n * rest[i] * rest[i];
    sums[i] = around < 0 ? 0 : around;
  }
}

// The squares of floats leave their range where the numbers do not: of distances of 10^25 they are infinite, of 10^-30
// they are 0. A sum that says so is taken again in double, unless all numbers are 0 or one is not finite.
void mend(Context& c, double n, unsigned reduced, View x, const Results& centre, View y, double* sums) {
  using Limits = std::numeric_limits<float>;
  constexpr double least = double(Limits::min()) / double(Limits::epsilon());
  float* const means = centre.view.as<float>();
  const auto lost = [&](std::int64_t i) {  // from 10^-10 on, the squares of what two floats differ by are larger
    const bool same = sums[i] == 0 && std::abs(means[i]) > 1e-10f;
    return !same && !(sums[i] >= n * least && sums[i] <= double(Limits::max()));
  };
  const std::int64_t results = centre.spec.numel;
  std::int64_t first = 0;
  while (first < results && !lost(first)) ++first;
  if (first == results) return;
  const Results extreme(c, DType::float32, y);
  fold(c, ReduceOp::norm_inf, DType::float32, reduced, x, {}, extreme.view);
  const auto to_mend = [&](std::int64_t i) {
    const float most = extreme.view.as<float>()[i];
    return most > 0 && std::isfinite(most) && lost(i);
  };
  while (first < results && !to_mend(first)) ++first;
  if (first == results) return;
  const Results wide(c, DType::float64, y);
  double* const wide_sums = c.scratch_of<double>(results);
  sums_as<double>(c, n, reduced, x, wide, y, wide_sums);
  for (std::int64_t i = first; i < results; ++i)
    if (to_mend(i)) sums[i] = wide_sums[i], means[i] = float(wide.view.as<double>()[i]);
}
}  // namespace

void moments(Context& c, double correction, bool root, unsigned reduced, View x, View y, View mean) {
  const DType computed = accumulation(x.dtype());
  const Results centre(c, computed, y), spread(c, computed, y);
  double n = 1;
  for (int d = 0; d < x.rank(); ++d)
    if (reduced >> d & 1) n *= double(x.size(d));
  const double divisor = std::max(0.0, n - correction);
  double* sum = c.scratch_of<double>(spread.spec.numel);
  (computed == DType::float64 ? sums_as<double> : sums_as<float>)(c, n, reduced, x, centre, y, sum);
  if (computed == DType::float32 && n > 0) mend(c, n, reduced, x, centre, y, sum);
  each(spread, [&](double) { return root ? std::sqrt(*sum++ / divisor) : *sum++ / divisor; });
  spread.to(c, y);
  if (mean) centre.to(c, mean);
}

void logsumexp(Context& c, unsigned reduced, View x, View y) {
  const DType computed = accumulation(x.dtype());
  const Results top(c, computed, y), log(c, computed, y);
  fold(c, ReduceOp::amax, computed, reduced, x, {}, top.view);
  each(top, [](double v) { return std::isinf(v) ? 0.0 : v; });
  fold(c, ReduceOp::sum_exp, computed, reduced, x, top.view, log.view);
  log.to(c, y);
}

namespace {
// A sum of floats may leave their range where the mean does not: such a result is taken again in double.
void mean_of_floats(Context& c, unsigned reduced, View x, View y) {
  const bool direct = y.dtype() == DType::float32;
  const Results apart(c, DType::float32, y);
  const View m = direct ? y : apart.view;
  fold(c, ReduceOp::mean, DType::float32, reduced, x, {}, m);
  float* const p = m.as<float>();
  const std::int64_t results = apart.spec.numel;
  const auto is_lost = [](float v) { return !std::isfinite(v); };
  if (std::any_of(p, p + results, is_lost)) {
    const Results wide(c, DType::float64, y);
    fold(c, ReduceOp::mean, DType::float64, reduced, x, {}, wide.view);
    for (std::int64_t i = 0; i < results; ++i)
      if (is_lost(p[i])) p[i] = float(wide.view.as<double>()[i]);
  }
  if (!direct) apart.to(c, y);
}

void any_fold(Context& c, ReduceOp which, DType computed, unsigned reduced, View x, View p, View y) {
  if (which == ReduceOp::mean && computed == DType::float32) return mean_of_floats(c, reduced, x, y);
  (which == ReduceOp::norm2 || which == ReduceOp::normp ? norm : fold)(c, which, computed, reduced, x, p, y);
}
}  // namespace

const reduce_kernels* cpu_reduce() {
  static constexpr reduce_kernels kernels = {
      .fold = &any_fold, .extreme = &extreme, .moments = &moments, .logsumexp = &logsumexp};
  return &kernels;
}

}  // namespace neura
