// Histograms with their edges, in any number of dimensions.
#include <cmath>

#include "neura/core/checked_int.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/reduce/reduce_common.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/sort/sort.h"

namespace neura {
namespace {

// Points as [count, dimensions].
Tensor points(const char* op, const Tensor& input) {
  check_dtype(op, input.spec(), bit(DType::float32) | bit(DType::float64), "float32 or float64");
  check<ShapeError>(input.dim() >= 2,
                    [&] { return std::string(op) + ": expected points [..., D], got " + input.spec().str(); });
  const std::int64_t dimensions = input.size(-1);
  return reshape(input.detach(), {dimensions ? input.numel() / dimensions : 0, dimensions});
}

std::vector<Tensor> equal_parts(const char* op, const Tensor& x, const std::vector<std::int64_t>& bins,
                                const std::vector<double>& range) {
  const std::size_t dimensions = std::size_t(x.size(1));
  check<ValueError>(bins.size() == dimensions && (range.empty() || range.size() == 2 * dimensions), [&] {
    return std::string(op) + ": expected one number of bins and two ends of a range for each of " +
           std::to_string(dimensions) + " dimensions, got " + std::to_string(bins.size()) + " and " +
           std::to_string(range.size());
  });
  std::vector<Tensor> edges;
  for (std::size_t d = 0; d < dimensions; ++d) {
    check<ValueError>(bins[d] > 0,
                      [&] { return std::string(op) + ": expected bins above 0, got " + std::to_string(bins[d]); });
    check_room(op, bins[d], size_of(x.dtype()));
    const Tensor column = select(x, 1, std::int64_t(d));
    double low = 0, high = 1;
    if (!range.empty()) low = range[2 * d], high = range[2 * d + 1];
    else if (column.numel()) low = amin(column).item<double>(), high = amax(column).item<double>();
    check<ValueError>(std::isfinite(low) && std::isfinite(high) && low <= high, [&] {
      return std::string(op) + ": expected a finite range, got " + std::to_string(low) + " to " + std::to_string(high);
    });
    if (low == high) low -= 0.5, high += 0.5;
    edges.push_back(linspace(low, high, bins[d] + 1, {.dtype = x.dtype(), .device = x.device()}));
  }
  return edges;
}

HistogramDDResult counted(const char* op, const Tensor& x, std::vector<Tensor> edges, const HistogramOptions& o) {
  const std::int64_t n = x.size(0);
  check<ValueError>(std::int64_t(edges.size()) == x.size(1), [&] {
    return std::string(op) + ": expected edges for each of " + std::to_string(x.size(1)) + " dimensions, got " +
           std::to_string(edges.size());
  });
  Shape sizes;
  Tensor place = zeros({n}, {.dtype = DType::int64, .device = x.device()});
  Tensor inside = ones({n}, {.dtype = DType::boolean, .device = x.device()});
  for (std::size_t d = 0; d < edges.size(); ++d) {
    check<ShapeError>(edges[d].dim() == 1 && edges[d].numel() >= 2, [&] {
      return std::string(op) + ": expected at least two edges in one dimension, got " + edges[d].spec().str();
    });
    const std::int64_t bins = edges[d].numel() - 1;
    const Tensor column = contiguous(select(x, 1, std::int64_t(d)));
    const Tensor at = searchsorted(edges[d], column, false, true) - 1;
    inside = inside & ge(column, select(edges[d], 0, 0)) & le(column, select(edges[d], 0, bins));
    place = place * bins + minimum(maximum(at, 0), bins - 1);  // the last bin holds its upper edge
    sizes.push_back(bins);
  }
  check<ShapeError>(!o.weight || o.weight.numel() == n, [&] {
    return std::string(op) + ": expected one weight for each of " + std::to_string(n) + " points, got " +
           o.weight.spec().str();
  });
  const Tensor each =
      o.weight ? to(flatten(o.weight.detach()), x.dtype()) : ones({n}, {.dtype = x.dtype(), .device = x.device()});
  const Tensor none = zeros({sizes.numel()}, {.dtype = x.dtype(), .device = x.device()});
  Tensor hist = reshape(index_add(none, 0, place, where(inside, each, 0.0)), sizes);
  if (o.density) {
    hist = hist / sum(hist);
    for (std::size_t d = 0; d < edges.size(); ++d) {
      const std::int64_t bins = edges[d].numel() - 1;
      Shape along = Shape::filled(sizes.size(), 1);
      along[int(d)] = bins;
      hist = hist / reshape(narrow(edges[d], 0, 1, bins) - narrow(edges[d], 0, 0, bins), along);
    }
  }
  return {hist, edges};
}
HistogramResult first(HistogramDDResult r) { return {r.hist, r.bin_edges[0]}; }
}  // namespace

HistogramResult histogram(const Tensor& input, std::int64_t bins, const HistogramOptions& o) {
  const Tensor x = points("histogram", reshape(input, {input.numel(), 1}));
  return first(counted("histogram", x, equal_parts("histogram", x, {bins}, o.range), o));
}
HistogramResult histogram(const Tensor& input, const Tensor& bins, const HistogramOptions& o) {
  return first(counted("histogram", points("histogram", reshape(input, {input.numel(), 1})), {bins}, o));
}
HistogramDDResult histogramdd(const Tensor& input, const std::vector<std::int64_t>& bins, const HistogramOptions& o) {
  const Tensor x = points("histogramdd", input);
  return counted("histogramdd", x, equal_parts("histogramdd", x, bins, o.range), o);
}
HistogramDDResult histogramdd(const Tensor& input, const std::vector<Tensor>& bins, const HistogramOptions& o) {
  return counted("histogramdd", points("histogramdd", input), bins, o);
}

}  // namespace neura
