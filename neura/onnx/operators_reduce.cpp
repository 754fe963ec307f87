// Reductions and running sums.
#include <cmath>
#include <limits>

#include "neura/onnx/operators.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/reduce/scan.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"

namespace neura::onnx {
namespace {

Tensor total(const Tensor& x, const Dims& d, bool keep) { return sum(x, d, keep, x.dtype()); }
Tensor mean_of(const Tensor& x, const Dims& d, bool keep) {
  if (is_floating(x.dtype())) return mean(x, d, keep);
  std::int64_t n = 1;
  for (std::int64_t i : d) n *= x.size(int(i));
  return neura::div(sum(x, d, keep, int64), n, div_options{"trunc"}).to(x.dtype());
}
Tensor product_of(const Tensor& x, const Dims& d, bool keep) { return prod(x, d, keep, x.dtype()); }
// Of nothing at all, the largest is the smallest there is.
Tensor extreme(const Tensor& x, const Dims& d, bool keep, bool high) {
  bool empty = false;
  for (std::int64_t i : d) empty = empty || x.size(int(i)) == 0;
  if (!empty) {
    if (x.dtype() == boolean) return (high ? amax(x.to(uint8), d, keep) : amin(x.to(uint8), d, keep)).to(boolean);
    return high ? amax(x, d, keep) : amin(x, d, keep);
  }
  Shape shape = x.shape();
  for (std::int64_t i : d) shape[int(i)] = 1;
  Scalar fill = high ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  if (x.dtype() == boolean) fill = !high;
  else if (!is_floating(x.dtype())) {
    const int bits = 8 * size_of(x.dtype());
    const bool is_unsigned = x.dtype() == uint8;
    const std::int64_t most = is_unsigned ? 255 : std::int64_t((std::uint64_t{1} << (bits - 1)) - 1);
    fill = high ? (is_unsigned ? 0 : -most - 1) : most;
  }
  const Tensor t = full(shape, fill, {x.dtype(), x.device(), false});
  return keep ? t : squeeze(t, d);
}
Tensor largest(const Tensor& x, const Dims& d, bool keep) { return extreme(x, d, keep, true); }
Tensor smallest(const Tensor& x, const Dims& d, bool keep) { return extreme(x, d, keep, false); }
Tensor sum_of_sizes(const Tensor& x, const Dims& d, bool keep) { return total(abs(x), d, keep); }
Tensor total_of_squares(const Tensor& x, const Dims& d, bool keep) { return total(mul(x, x), d, keep); }
Tensor length(const Tensor& x, const Dims& d, bool keep) {
  if (is_floating(x.dtype())) return norm(x, 2, d, keep);  // whose derivative at nothing but zeros is 0
  return sqrt(total_of_squares(x, d, keep)).to(x.dtype());
}
Tensor log_of_sum(const Tensor& x, const Dims& d, bool keep) { return log(total(x, d, keep)).to(x.dtype()); }
Tensor log_of_exponentials(const Tensor& x, const Dims& d, bool keep) {
  if (is_floating(x.dtype())) return logsumexp(x, d, keep);
  return logsumexp(x.to(float64), d, keep).to(x.dtype());
}

using Reduce = Tensor (*)(const Tensor&, const Dims&, bool);

Tensor reduced(Reduce f, const Tensor& x, const std::vector<std::int64_t>& axes, bool keep) {
  Dims dims;
  for (std::int64_t a : axes) dims.push_back(axis_of("reduction", a, x.dim()));
  if (axes.empty())
    for (int i = 0; i < x.dim(); ++i) dims.push_back(i);
  if (dims.empty()) return reshape(f(reshape(x, {1}), 0, true), {});  // a number alone
  return f(x, dims, keep);
}
template <Reduce f> BoundNode by_attribute(const Node& n) {
  const std::vector<std::int64_t> axes = n.integers("axes");
  const bool keep = n.flag("keepdims", true);
  return [=](const Operands& x) -> Results { return reduced(f, x[0], axes, keep); };
}
template <Reduce f> BoundNode by_operand(const Node& n) {
  const bool keep = n.flag("keepdims", true), nothing = n.flag("noop_with_empty_axes");
  return [=](const Operands& x) -> Results {
    const std::vector<std::int64_t> axes = x.has(1) ? x.integers(1) : std::vector<std::int64_t>();
    if (!axes.empty() || !nothing) return reduced(f, x[0], axes, keep);
    // Each element is a set of its own: squares and logarithms still happen.
    const Tensor t = x[0];
    return squeeze(f(unsqueeze(t, 0), 0, true), 0);
  };
}

template <bool high> BoundNode place_of(const Node& n) {
  const std::int64_t axis = n.integer("axis", 0);
  const bool keep = n.flag("keepdims", true), last = n.flag("select_last_index");
  return [=](const Operands& x) -> Results {
    const Tensor t = x[0];
    const int dim = axis_of("ArgMax", axis, t.dim());
    const Tensor from = last ? flip(t, dim) : t;
    const Tensor at = high ? argmax(from, dim, keep) : argmin(from, dim, keep);
    return last ? sub(t.size(dim) - 1, at) : at;
  };
}

template <bool products> BoundNode running(const Node& n) {
  const bool exclusive = n.flag("exclusive"), reverse = n.flag("reverse");
  return [=](const Operands& x) -> Results {
    const std::int64_t axis = x.integer(1);
    Tensor t = x[0];
    const int dim = axis_of("CumSum", axis, t.dim());
    if (reverse) t = flip(t, dim);
    if (exclusive && t.size(dim)) {  // one step later
      std::vector<std::int64_t> pads(std::size_t(2 * t.dim()), 0);
      pads[std::size_t(2 * (t.dim() - 1 - dim))] = 1;
      t = constant_pad_nd(narrow(t, dim, 0, t.size(dim) - 1), pads, products ? 1 : 0);
    }
    t = products ? cumprod(t, dim, t.dtype()) : cumsum(t, dim, t.dtype());
    return reverse ? flip(t, dim) : t;
  };
}

}  // namespace

// Axes became an operand in version 18, of sums in 13.
#define REDUCE(Name, f) \
  {Name, 1, 17, by_attribute<f>}, { Name, 18, kNewest, by_operand<f> }

std::span<const Operator> reduce_operators() {
  static const Operator rows[] = {
      {"ReduceSum", 1, 12, by_attribute<total>},
      {"ReduceSum", 13, kNewest, by_operand<total>},
      REDUCE("ReduceMean", mean_of),
      REDUCE("ReduceProd", product_of),
      REDUCE("ReduceMax", largest),
      REDUCE("ReduceMin", smallest),
      REDUCE("ReduceL1", sum_of_sizes),
      REDUCE("ReduceL2", length),
      REDUCE("ReduceSumSquare", total_of_squares),
      REDUCE("ReduceLogSum", log_of_sum),
      REDUCE("ReduceLogSumExp", log_of_exponentials),
      {"ArgMax", 1, kNewest, place_of<true>},
      {"ArgMin", 1, kNewest, place_of<false>},
      {"CumSum", 11, kNewest, running<false>},
      {"CumProd", 26, kNewest, running<true>},
  };
  return rows;
}

}  // namespace neura::onnx
