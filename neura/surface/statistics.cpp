// Measures over several variables, distances, products in space, parts of numbers.
#include "neura/ops/reduce/statistics.h"

#include "neura/nn/value.h"
#include "neura/ops/create/create.h"
#include "neura/ops/linalg/linalg.h"
#include "neura/ops/reduce/hash.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"
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

Tensor tensor_of(const Operand& o, const Operand& other) {
  if (o.is_tensor()) return Tensor(Ref<TensorImpl>::share(o.tensor));
  check<nn::ArgumentError>(other.is_tensor(),
                           [] { return std::string("isin: expected at least one tensor, got numbers"); });
  return tensor(o.scalar, {.device = other.tensor->spec.device});
}
template <class S> std::vector<Tensor> along(T x, const std::vector<S>& spacing, const Dims& dim, int edge_order) {
  std::vector<Spacing> given(spacing.begin(), spacing.end());
  if (given.empty()) given.emplace_back(1.0);
  return gradient(x, given, dim, edge_order);
}
void add_more(const List& s) {
  s.add("gradient(input, *, spacing=None, dim=None, edge_order=1)", &along<double>, function,
        "The numerical gradient along each dimension, by central differences: a tuple. spacing: the distance of "
        "samples, or one for each dimension, or vectors of coordinates.");
  s.add("gradient(input, *, spacing, dim=None, edge_order=1)", &along<Tensor>, function);
  s.add(
      "gradient(input, *, spacing, dim=None, edge_order=1)",
      [](T x, T spacing, const Dims& dim, int order) { return along(x, Tensors{spacing}, dim, order); }, function);
  s.add(
      "isin(elements, test_elements, *, assume_unique=False, invert=False)",
      [](const Operand& e, const Operand& tests, bool, bool invert) {
        return isin(tensor_of(e, tests), tensor_of(tests, e), invert);
      },
      function | out, "For each element, True if it is among test_elements: bool. Either may be a number.");
  s.add(
      "hash_tensor(input, dim=None, *, keepdim=False, mode=0)",
      [](T x, const Dims& dim, bool keepdim, std::int64_t mode) {
        return hash_tensor(x, dim, {keepdim, mode});
      },
      both,
      R"(The exclusive or of the elements' 64 bits along dim, or of all: a fingerprint that their order does not change.

Floating elements are taken as float64, whole ones as int64. The bits come as uint64.
DTypeError for complex numbers.

>>> neura.hash_tensor(neura.tensor([5, 6])).item()
3)");
}

}  // namespace

void add_statistics(std::deque<Function>& all) {
  const List s(all, "");
  s.add(
      "cdist(x1, x2, p=2, compute_mode=None)", [](T a, T b, double p, Ignored) { return cdist(a, b, p); }, function,
      "The p-norm distances between the rows of x1 [..., P, M] and those of x2 [..., R, M]: [..., P, R].");
  s.add("vander(x, N=None, increasing=False)", &vander_of_vector, function,
        "The Vandermonde matrix of a vector: [n] -> [n, N], powers of x, the highest first unless increasing.");
  s.add(
      "frexp(input)",
      [](T x) {
        const FrexpResult r = frexp(x);
        return Named{"frexp", {"mantissa", "exponent"}, {r.mantissa, r.exponent}};
      },
      both | out, "x = mantissa * 2**exponent, with |mantissa| in [0.5, 1) and an int32 exponent.");
  add_more(s);
}

}  // namespace neura::surface
