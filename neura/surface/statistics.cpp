// Measures over several variables, distances, products in space, parts of numbers.
#include "neura/ops/statistics.h"

#include "neura/ops/linalg.h"
#include "neura/ops/shape.h"
#include "neura/ops/view.h"
#include "neura/surface/list.h"

namespace neura::surface {
namespace {

using T = const Tensor&;

Tensor vander_of_vector(T x, std::optional<std::int64_t> N, bool increasing) {
  check<ShapeError>(x.dim() == 1, [&] { return "vander: expected a vector, got " + x.spec().str(); });
  const std::int64_t columns = N.value_or(x.numel());
  check<ValueError>(columns >= 0, [&] { return "vander: expected N >= 0, got " + std::to_string(columns); });
  const Tensor v = narrow(vander(x, std::max<std::int64_t>(columns, 2)), 1, 0, columns);
  return increasing ? v : flip(v, 1);
}

}  // namespace

void add_statistics(std::deque<Function>& all) {
  const List s(all, "");
  s.add("cov(input, *, correction=1, fweights=None, aweights=None)", &cov, both,
        "The covariance matrix of the rows of `input`: a variable per row, an observation per column.");
  s.add("corrcoef(input)", &corrcoef, both, "Pearson's correlation of the rows of `input`, within [-1, 1].");
  s.add(
      "cdist(x1, x2, p=2, compute_mode=None)", [](T a, T b, double p, Ignored) { return cdist(a, b, p); }, function,
      "The p-norm distance of each row of x1 [..., P, M] from each of x2 [..., R, M].");
  s.add("pdist(input, p=2)", &pdist, function,
        "The p-norm of the difference of every two rows of [n, m]: n (n - 1) / 2 numbers, row 0 first.");
  s.add("cross(input, other, dim=None)", &cross, both | out,
        "The cross product along a dimension of size 3; without `dim`, the first of that size.");
  s.add(
      "_linalg_cross(input, other, *, dim=-1)", [](T a, T b, int dim) { return cross(a, b, dim); }, function | out,
      "The cross product along dim, of size 3; both broadcast.");
  s.add("_vecdot(x, y, *, dim=-1)", &vecdot, function | out, "The sum of conj(x) * y along dim; both broadcast.");
  s.add("_vander(x, *, N=None)", &vander, function,
        "Rows of powers 0 to N - 1 of each element: [..., n] gives [..., n, N].");
  s.add("vander(x, N=None, increasing=False)", &vander_of_vector, function,
        "Powers of the elements of a vector, the highest first.");
  s.add(
      "complex(real, imag)", [](T a, T b) { return complex(a, b); }, function | out,
      "The complex numbers with these real and imaginary parts, both float32 or both float64.");
  s.add(
      "polar(abs, angle)", [](T a, T b) { return polar(a, b); }, function | out,
      "The complex numbers with these absolute values and angles, both float32 or both float64.");
  s.add(
      "frexp(input)",
      [](T x) {
        const FrexpResult r = frexp(x);
        return Named{"frexp", {"mantissa", "exponent"}, {r.mantissa, r.exponent}};
      },
      both | out, "x = mantissa * 2**exponent, with |mantissa| in [0.5, 1) and an int32 exponent.");
}

}  // namespace neura::surface
