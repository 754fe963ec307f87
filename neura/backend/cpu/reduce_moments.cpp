// What takes two folds: the mean first and then the spread around it, the maximum first and then the sum of
// exponentials.
#include <algorithm>
#include <cmath>

#include "neura/backend/cpu/reduce.h"

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
}  // namespace

void moments(Context& c, double correction, bool root, unsigned reduced, View x, View y, View mean) {
  const DType computed = accumulation(x.dtype());
  const Results centre(c, computed, y), spread(c, computed, y);
  fold(c, Fold::mean, computed, reduced, x, {}, centre.view);
  fold(c, Fold::spread, computed, reduced, x, centre.view, spread.view);
  double n = 1;
  for (int d = 0; d < x.rank(); ++d)
    if (reduced >> d & 1) n *= double(x.size(d));
  const double divisor = std::max(0.0, n - correction);
  each(spread, [&](double s) { return root ? std::sqrt(s / divisor) : s / divisor; });
  spread.to(c, y);
  if (mean) centre.to(c, mean);
}

void logsumexp(Context& c, unsigned reduced, View x, View y) {
  const DType computed = accumulation(x.dtype());
  const Results top(c, computed, y), log(c, computed, y);
  fold(c, Fold::amax, computed, reduced, x, {}, top.view);
  each(top, [](double v) { return std::isinf(v) ? 0.0 : v; });
  fold(c, Fold::expsum, computed, reduced, x, top.view, log.view);
  log.to(c, y);
}

const reduce_kernels* cpu_reduce() {
  static constexpr reduce_kernels kernels = {fold, extreme, moments, logsumexp};
  return &kernels;
}

}  // namespace neura
