// The derivative of samples, by finite differences.
#include <algorithm>

#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/reduce/scan.h"
#include "neura/ops/reduce/statistics.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

Tensor at(const Tensor& x, int dim, std::int64_t i) { return narrow(x, dim, i < 0 ? x.size(dim) + i : i, 1); }

// Samples a distance h apart.
Tensor uniform(const Tensor& x, int dim, double h, int order) {
  const std::int64_t n = x.size(dim);
  const Tensor middle = div(narrow(x, dim, 2, n - 2) - narrow(x, dim, 0, n - 2), 2 * h);
  Tensor first, last;
  if (order == 1) {
    first = div(at(x, dim, 1) - at(x, dim, 0), h), last = div(at(x, dim, -1) - at(x, dim, -2), h);
  } else {
    first = div(-1.5 * at(x, dim, 0) + 2.0 * at(x, dim, 1) - 0.5 * at(x, dim, 2), h);
    last = div(1.5 * at(x, dim, -1) - 2.0 * at(x, dim, -2) + 0.5 * at(x, dim, -3), h);
  }
  return cat({first, middle, last}, dim);
}

// Samples at coordinates: Lagrange's parabola through each point and its neighbours.
Tensor uneven(const Tensor& x, int dim, const Tensor& where, int order) {
  const std::int64_t n = x.size(dim);
  Shape shape;
  for (int i = 0; i < x.dim(); ++i) shape.push_back(i == dim ? n - 1 : 1);
  const Tensor gaps = reshape(diff(where), shape);
  const auto gap = [&](std::int64_t from, std::int64_t count) { return narrow(gaps, dim, from, count); };
  const Tensor a = gap(0, n - 2), b = gap(1, n - 2);
  const Tensor middle = -b / (a * (a + b)) * narrow(x, dim, 0, n - 2) + (b - a) / (a * b) * narrow(x, dim, 1, n - 2) +
                        a / (b * (a + b)) * narrow(x, dim, 2, n - 2);
  if (order == 1) {
    const Tensor first = (at(x, dim, 1) - at(x, dim, 0)) / gap(0, 1);
    const Tensor last = (at(x, dim, -1) - at(x, dim, -2)) / gap(n - 2, 1);
    return cat({first, middle, last}, dim);
  }
  const auto edge = [&](const Tensor& p, const Tensor& q, const Tensor& f0, const Tensor& f1, const Tensor& f2) {
    return -(2.0 * p + q) / (p * (p + q)) * f0 + (p + q) / (p * q) * f1 - p / (q * (p + q)) * f2;
  };
  const Tensor first = edge(gap(0, 1), gap(1, 1), at(x, dim, 0), at(x, dim, 1), at(x, dim, 2));
  const Tensor last = -edge(gap(n - 2, 1), gap(n - 3, 1), at(x, dim, -1), at(x, dim, -2), at(x, dim, -3));
  return cat({first, middle, last}, dim);
}

}  // namespace

std::vector<Tensor> gradient(const Tensor& input, const std::vector<Spacing>& spacing, const Dims& dim, int order) {
  check<ValueError>(order == 1 || order == 2,
                    [&] { return "gradient: expected edge_order 1 or 2, got " + std::to_string(order); });
  const Tensor x = is_integral(input.dtype()) ? input.to(default_dtype()) : input;
  Dims dims = dim;
  for (int i = 0; dim.empty() && i < x.dim(); ++i) dims.push_back(i);
  check<ValueError>(spacing.size() == std::size_t(dims.size()) || spacing.size() == 1, [&] {
    return "gradient: expected one spacing for each of " + std::to_string(dims.size()) + " dimensions, got " +
           std::to_string(spacing.size());
  });
  std::vector<Tensor> result;
  for (int i = 0; i < dims.size(); ++i) {
    const int d = wrap_dim("gradient", int(dims[i]), x.dim());
    for (int j = 0; j < i; ++j)
      check<ValueError>(wrap_dim("gradient", int(dims[j]), x.dim()) != d,
                        [&] { return "gradient: expected each dimension once, got " + dims.str(); });
    check<ShapeError>(x.size(d) > order, [&] {
      return "gradient: expected at least " + std::to_string(order + 1) + " samples in dimension " + std::to_string(d) +
             ", got " + x.spec().str();
    });
    const Spacing& s = spacing[spacing.size() == 1 ? 0 : std::size_t(i)];
    if (const double* h = std::get_if<double>(&s)) {
      result.push_back(uniform(x, d, *h, order));
      continue;
    }
    const Tensor& where = std::get<Tensor>(s);
    check<ShapeError>(where.dim() == 1 && where.numel() == x.size(d), [&] {
      return "gradient: expected one coordinate for each of " + std::to_string(x.size(d)) + " samples, got " +
             where.spec().str();
    });
    result.push_back(uneven(x, d, where, order));
  }
  return result;
}

}  // namespace neura
