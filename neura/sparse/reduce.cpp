// Sums, and softmax over what is stored: what is not counts as minus infinity.
#include <cmath>
#include <limits>
#include <string>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/nn/softmax.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/sort/sort.h"
#include "neura/sparse/parts.h"

namespace neura::sparse {
namespace {

Tensor in_its_layout(const Tensor& made, const Tensor& t) {
  const Layout l = layout(t);
  return l == Layout::csr || l == Layout::csc ? to_layout(made, l) : made;
}

}  // namespace

Tensor sum(const Tensor& t, const Dims& dim, bool keepdim) {
  parts(t, "sum");
  if (dim.empty() && !keepdim) return neura::sum(values_of(t));
  const Tensor x = to_coo(t);
  const int rank = t.dim(), n = sparse_sizes(x).size();
  unsigned gone = 0;
  for (std::int64_t d : dim) {
    const unsigned bit = 1u << wrap_dim("sum", d, rank);
    check<ValueError>(!(gone & bit), [&] { return "sum: expected different dimensions, got " + dim.str(); });
    gone |= bit;
  }
  if (dim.empty()) gone = (1u << rank) - 1;
  Tensor v = values_of(x);
  Dims dense;
  for (int d = n; d < rank; ++d)
    if (gone >> d & 1) dense.push_back(d - n + 1);
  if (!dense.empty()) v = neura::sum(v, dense, keepdim);
  Shape size;
  std::vector<Tensor> rows;
  const Tensor& index = pattern(x).first;
  for (int d = 0; d < rank; ++d) {
    const bool stays = !(gone >> d & 1);
    if (stays || keepdim) size.push_back(stays ? t.size(d) : 1);
    if (d < n && (stays || keepdim))
      rows.push_back(stays ? select(index, 0, d)
                           : zeros({index.size(1)}, {.dtype = DType::int64, .device = t.device()}));
  }
  if (rows.empty()) return neura::sum(v, Dims{0});
  const bool all_stay = !(gone & ((1u << n) - 1));
  const Pattern p{Layout::coo, all_stay && pattern(x).coalesced, stack(rows, 0), {}};
  const Tensor made = coalesce(assemble(p, v, size));
  return keepdim ? in_its_layout(made, t) : made;
}

namespace {

Tensor softmax_of(const char* op, const Tensor& t, int dim, std::optional<DType> dtype, bool log) {
  const Tensor x = coalesce(to_coo(t));
  dim = wrap_dim(op, dim, t.dim());
  const Shape sizes = sparse_sizes(x);
  Tensor v = values_of(x);
  if (dtype) v = to(v, *dtype);
  check<DTypeError>(is_floating(v.dtype()), [&] {
    return std::string(op) + ": expected floating values, got " + v.spec().str() + "; give a dtype";
  });
  if (dim >= sizes.size()) {
    const int d = dim - sizes.size() + 1;
    return with_values(x, log ? neura::log_softmax(v, d) : neura::softmax(v, d));
  }
  if (!v.numel()) return with_values(x, v);
  Tensor group = zeros({v.size(0)}, {.dtype = DType::int64, .device = t.device()});
  for (int d = 0; d < sizes.size(); ++d)
    if (d != dim) group = group * Scalar(sizes[d]) + select(pattern(x).first, 0, d);
  const UniqueResult groups = unique(group, true, true);
  const std::int64_t n = groups.values.numel();
  const Tensor& member = groups.inverse;
  Shape start = v.shape();
  start[0] = n;
  const Tensor least =
      full(start, Scalar(-std::numeric_limits<double>::infinity()), {.dtype = v.dtype(), .device = v.device()});
  const Tensor most = index_reduce(least, 0, member, v.detach(), "amax");
  const Tensor shifted = v - neura::index_select(most, 0, member);
  const Tensor power = exp(shifted), all = sum_rows(n, member, power);
  if (log) return with_values(x, shifted - neura::index_select(neura::log(all), 0, member));
  return with_values(x, power / neura::index_select(all, 0, member));
}

}  // namespace

Tensor softmax(const Tensor& t, int dim, std::optional<DType> dtype) {
  parts(t, "softmax");
  return in_its_layout(softmax_of("softmax", t, dim, dtype, false), t);
}
Tensor log_softmax(const Tensor& t, int dim, std::optional<DType> dtype) {
  parts(t, "log_softmax");
  return in_its_layout(softmax_of("log_softmax", t, dim, dtype, true), t);
}

}  // namespace neura::sparse
