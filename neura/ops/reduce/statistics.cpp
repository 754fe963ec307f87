#include "neura/ops/reduce/statistics.h"

#include <algorithm>
#include <cmath>

#include "neura/core/wrapped.h"
#include "neura/op/cast_scope.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/reduce/expect.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/reduce/scan.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/sort/sort.h"

namespace neura {
namespace {

// The p-norm along a dimension; that of p = 0, a count, has a gradient of 0.
Tensor length(const Tensor& x, double p, int dim) {
  if (p == 0) return sum(abs(sgn(x)), dim);
  return x.size(dim) ? vector_norm(x, p, dim) : sum(x, dim);  // of nothing it is 0, the largest difference as well
}

// The greatest power of two that is no larger than the largest number of both; 1 where there is none.
Tensor unit_of(const Tensor& a, const Tensor& b) {
  const DType d = promote(a.dtype(), b.dtype());
  Tensor largest = zeros({}, {.dtype = d, .device = a.device()});
  for (const Tensor* t : {&a, &b})
    if (t->numel()) largest = maximum(largest, amax(abs(t->detach())).to(d));
  const Tensor unit = exp2(floor(log2(largest)));
  return where(logical_and(gt(unit, 0.0), isfinite(unit)), unit, 1.0);
}

Tensor to_floating(const Tensor& x) { return is_integral(x.dtype()) ? x.to(default_dtype()) : x; }

void check_weights(const char* what, const Tensor& w, std::int64_t observations, bool floating) {
  if (!w) return;
  check<ShapeError>(w.dim() == 1 && w.numel() == observations, [&] {
    return std::string("cov: expected ") + what + " to be a vector of one number per observation (" +
           std::to_string(observations) + "), got " + w.spec().str();
  });
  check<DTypeError>(floating ? is_floating(w.dtype()) : category(w.dtype()) == Category::integer, [&] {
    return std::string("cov: expected ") + what + " of " + (floating ? "floating numbers" : "integers") + ", got " +
           w.spec().str();
  });
  const Tensor fit = logical_not(lt(innermost(w).detach(), 0));
  if (!host_looks(w)) return expect(Rule::observation_weights, fit);
  check<ValueError>(w.numel() == 0 || all(fit).item<bool>(),
                    [&] { return std::string("cov: expected ") + what + " that are not negative"; });
}

}  // namespace

Tensor cov(const Tensor& input, std::int64_t correction, const Tensor& fweights, const Tensor& aweights) {
  check<ShapeError>(input.dim() <= 2,
                    [&] { return "cov: expected at most two dimensions, got " + input.spec().str(); });
  check<DTypeError>(input.dtype() != DType::boolean, [] { return std::string("cov: expected numbers, got bool"); });
  Tensor x = to_floating(input.dim() < 2 ? reshape(input, {1, -1}) : input);
  const std::int64_t n = x.size(1);
  check_weights("fweights", fweights, n, false);
  check_weights("aweights", aweights, n, true);
  const Tensor w = fweights && aweights ? fweights * aweights : fweights ? fweights : aweights;
  const Tensor total = w ? sum(w) : full({}, double(n), {.dtype = to_real(x.dtype()), .device = x.device()});
  if (w && n) expect(Rule::weight_sum, ne(total.detach(), 0));
  const Tensor mean = div(sum(w ? x * w : x, 1), total);
  Tensor norm = aweights && correction ? total - div(mul(sum(w * aweights), double(correction)), total)
                                       : total - double(correction);
  norm = clamp_min(norm, 0);
  x = x - unsqueeze(mean, 1);
  const Tensor product = matmul(x, conj(t(w ? x * w : x)));
  const Tensor c = div(product, norm);
  return input.dim() < 2 || input.size(0) == 1 ? squeeze(c) : c;
}

Tensor corrcoef(const Tensor& input) {
  check<ShapeError>(input.dim() <= 2,
                    [&] { return "corrcoef: expected at most two dimensions, got " + input.spec().str(); });
  const Tensor c = cov(input);
  if (c.dim() == 0) return div(c, c);
  const Tensor deviation = sqrt(real(diag(c)));
  const Tensor r = div(div(c, unsqueeze(deviation, 1)), unsqueeze(deviation, 0));
  const Operand low(-1.0), high(1.0);
  if (!is_complex(r.dtype())) return clamp(r, low, high);
  return complex(clamp(real(r), low, high), clamp(imag(r), low, high));
}

Tensor cdist(const Tensor& a, const Tensor& b, double p) {
  if (const amp::CastScope cast{amp::Name::cdist, a, b}) return cdist(cast(a), cast(b), p);
  check<ShapeError>(a.dim() >= 2 && b.dim() >= 2 && a.size(-1) == b.size(-1), [&] {
    return "cdist: expected two batches of matrices with rows of one length, got " + a.spec().str() + " and " +
           b.spec().str();
  });
  check<DTypeError>(is_floating(a.dtype()) && is_floating(b.dtype()), [&] {
    return "cdist: expected floating numbers, got " + a.spec().str() + " and " + b.spec().str();
  });
  check<ValueError>(p >= 0, [&] { return "cdist: expected p >= 0, got " + Scalar(p).str(); });
  if (p != 2 || (a.size(-2) <= 25 && b.size(-2) <= 25)) return length(unsqueeze(a, -2) - unsqueeze(b, -3), p, -1);
  // |a - b|² = |a|² - 2 ab + |b|²: a product instead of all differences. Where it is 0, so is the gradient. Both are
  // measured in a power of two near the largest number, so that no square leaves the range.
  const Tensor unit = unit_of(a, b), x = a / unit, y = b / unit;
  const Tensor square =
      add(sum(neura::square(x), -1, true), mT(sum(neura::square(y), -1, true))) - 2.0 * matmul(x, mT(y));
  const Tensor apart = gt(square, 0.0);
  return where(apart, sqrt(where(apart, square, 1.0)), 0.0) * unit;
}

Tensor pdist(const Tensor& x, double p) {
  if (const amp::CastScope cast{amp::Name::pdist, x}) return pdist(cast(x), p);
  check<ShapeError>(x.dim() == 2, [&] { return "pdist: expected a matrix, got " + x.spec().str(); });
  check<DTypeError>(is_floating(x.dtype()), [&] { return "pdist: expected floating numbers, got " + x.spec().str(); });
  check<ValueError>(p >= 0, [&] { return "pdist: expected p >= 0, got " + Scalar(p).str(); });
  const Tensor pairs = triu_indices(x.size(0), x.size(0), 1, {.device = x.device()});
  return length(index_select(x, 0, pairs[0]) - index_select(x, 0, pairs[1]), p, 1);
}

Tensor cross(const Tensor& a, const Tensor& b, std::optional<int> dim) {
  if (const amp::CastScope cast{amp::Name::cross, a, b}) return cross(cast(a), cast(b), dim);
  check<ShapeError>(a.dim() == b.dim(), [&] {
    return "cross: expected as many dimensions in both, got " + a.spec().str() + " and " + b.spec().str();
  });
  const Shape shape = broadcast_shapes("cross", a.shape(), b.shape());
  if (!dim) {
    for (int i = 0; i < shape.size() && !dim; ++i)
      if (shape[i] == 3) dim = i;
    check<ShapeError>(dim.has_value(), [&] { return "cross: expected a dimension of size 3, got " + shape.str(); });
  }
  const int d = wrap_dim("cross", *dim, shape.size());
  const int back = d - shape.size();
  check<ShapeError>(a.size(back) == 3 && b.size(back) == 3, [&] {
    return "cross: expected size 3 in dimension " + std::to_string(*dim) + ", got " + a.spec().str() + " and " +
           b.spec().str();
  });
  const Tensor x = expand(a, shape), y = expand(b, shape);
  return roll(x, {-1}, d) * roll(y, {-2}, d) - roll(x, {-2}, d) * roll(y, {-1}, d);
}

Tensor vecdot(const Tensor& x, const Tensor& y, int dim) {
  if (const amp::CastScope cast{amp::Name::vecdot, x, y}) return vecdot(cast(x), cast(y), dim);
  check<DTypeError>(differentiable(x.dtype()) && differentiable(y.dtype()), [&] {
    return "vecdot: expected floating or complex numbers, got " + x.spec().str() + " and " + y.spec().str();
  });
  return sum(conj(x) * y, dim);
}

Tensor vander(const Tensor& input, std::optional<std::int64_t> N) {
  const Tensor x = atleast_1d(input);
  const std::int64_t n = N.value_or(x.size(-1));
  check<ValueError>(!N || n > 1, [&] { return "vander: expected N > 1, got " + std::to_string(n); });
  Shape shape = x.shape();
  shape.push_back(n > 0 ? n - 1 : 0);
  Tensor powers = cumprod(expand(unsqueeze(x, -1), shape), -1);
  if (n < 1) return powers;
  shape[shape.size() - 1] = 1;
  return cat({ones(shape, {.dtype = powers.dtype(), .device = x.device()}), powers}, -1);
}

Tensor complex(const Tensor& re, const Tensor& im) {
  check<DTypeError>(re.dtype() == im.dtype() && (re.dtype() == DType::float32 || re.dtype() == DType::float64), [&] {
    return "complex: expected two tensors of float32 or of float64, got " + re.spec().str() + " and " + im.spec().str();
  });
  const Shape shape = broadcast_shapes("complex", re.shape(), im.shape());
  return view_as_complex(stack({expand(re, shape), expand(im, shape)}, -1));
}
Tensor polar(const Tensor& abs, const Tensor& angle) {
  if (const amp::CastScope cast{amp::Name::polar, abs, angle}) return polar(cast(abs), cast(angle));
  check<DTypeError>(abs.dtype() == angle.dtype() && (abs.dtype() == DType::float32 || abs.dtype() == DType::float64),
                    [&] {
                      return "polar: expected two tensors of float32 or of float64, got " + abs.spec().str() + " and " +
                             angle.spec().str();
                    });
  return complex(abs * cos(angle), abs * sin(angle));
}

FrexpResult frexp(const Tensor& input) {
  check<DTypeError>(is_floating(input.dtype()),
                    [&] { return "frexp: expected floating numbers, got " + input.spec().str(); });
  const Tensor x = input.to(accumulation(input.dtype()));
  const Tensor size = abs(x.detach()), plain = logical_and(gt(size, 0.0), isfinite(size));
  Tensor e = where(plain, floor(log2(where(plain, size, 1.0))) + 1.0, 0.0);
  // log2 may round to the next whole number. Two factors, because one may overflow for subnormal numbers.
  const auto scaled = [&] { return size * exp2(-floor(e / 2.0)) * exp2(-(e - floor(e / 2.0))); };
  e = where(logical_and(plain, ge(scaled(), 1.0)), e + 1.0, e);
  e = where(logical_and(plain, lt(scaled(), 0.5)), e - 1.0, e);
  const Tensor half = floor(e / 2.0);
  return {(x * exp2(-half) * exp2(-(e - half))).to(input.dtype()), e.to(DType::int32)};
}

Tensor isin(const Tensor& elements, const Tensor& tests, bool invert) {
  check<DTypeError>(!is_complex(elements.dtype()) && !is_complex(tests.dtype()), [&] {
    return "isin: expected real numbers, got " + elements.spec().str() + " and " + tests.spec().str();
  });
  Tensor found;
  if (double(tests.numel()) <
      10 * std::pow(double(elements.numel()), 0.145)) {  // comparing all is cheaper than to sort
    found = any(eq(unsqueeze(elements, -1), flatten(tests)), -1);
  } else {
    const Tensor sorted = sort(flatten(tests.detach())).values;
    const Tensor place = clamp_max(searchsorted(sorted, elements.detach()), tests.numel() - 1);
    found = eq(take(sorted, place), elements);
  }
  return invert ? logical_not(found) : found;
}

Shape broadcast_shapes(const std::vector<Shape>& shapes) {
  Shape s;
  for (const Shape& other : shapes) s = broadcast_shapes("broadcast_shapes", s, other);
  return s;
}

}  // namespace neura
