// Dimensions in another order, slices by index, and several tensors in one.
#include <string>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/sort/sort.h"
#include "neura/sparse/rules.h"

namespace neura::sparse {
namespace {

Layout other_way(Layout l) {
  return l == Layout::csr ? Layout::csc : l == Layout::csc ? Layout::csr : l == Layout::bsr ? Layout::bsc : Layout::bsr;
}

}  // namespace

Tensor reshaped(const Tensor& t, const Shape& to) {
  if (layout(t) != Layout::coo) return {};
  Pattern p = pattern(t);
  const Shape old = t.shape();
  const int n = sparse_sizes(t).size();
  const Tensor first = zeros({p.count()}, {.dtype = DType::int64, .device = t.device()});
  std::vector<Tensor> rows;
  Shape values{p.count()};
  int from = 0;
  for (int d = 0; d < to.size() || from < old.size();) {
    const bool both = d < to.size() && from < old.size() && to[d] == old[from];
    const bool fresh = !both && d < to.size() && to[d] == 1;
    if (!both && !fresh && (from == old.size() || old[from] != 1)) return {};
    if (from < n || (fresh && from == n)) {
      if (both || fresh) rows.push_back(both ? select(p.first, 0, from) : first);
    } else if (both || fresh) {
      values.push_back(to[d]);
    }
    d += both || fresh, from += !fresh;
  }
  if (rows.empty()) return {};
  p.first = stack(rows, 0);
  return assemble(p, neura::reshape(values_of(t), values), to);
}
Tensor permuted(const Tensor& t, const Shape& dims) {
  Pattern p = pattern(t);
  const int n = sparse_sizes(t).size();
  Shape size, values{0};
  std::vector<std::int64_t> rows;
  bool moves = false;
  for (int d = 0; d < dims.size(); ++d) {
    const int from = int(dims[d]);
    check<ValueError>((from < n) == (d < n), [&] {
      return "transpose: expected sparse dimensions among themselves and dense ones too, got an exchange of one with "
             "the other, " +
             dims.str();
    });
    size.push_back(t.size(from)), moves |= from != d;
    if (d < n) rows.push_back(from);
    else values.push_back(from - n + 1);
  }
  if (!moves) return t;
  Tensor v = values_of(t);
  if (p.layout == Layout::coo) {
    const bool swapped = !std::is_sorted(rows.begin(), rows.end());
    if (swapped) {
      const Tensor order = tensor(rows, {.dtype = DType::int64, .device = t.device()});
      p.first = neura::index_select(p.first, 0, order), p.coalesced = p.coalesced && p.count() < 2;
    }
    return assemble(p, neura::permute(v, Dims(values)), size);
  }
  check<NotImplementedError>(dims.size() == 2, [&] {
    return std::string("transpose: expected a ") + name(p.layout) + " matrix without dense dimensions, got " +
           t.spec().str();
  });
  p.layout = other_way(p.layout);
  if (p.by_block()) v = neura::transpose(v, 1, 2);
  return assemble(p, v, size);
}

Tensor transpose(const Tensor& t, int dim0, int dim1) {
  Shape dims;
  for (int d = 0; d < t.dim(); ++d) dims.push_back(d);
  std::swap(dims[wrap_dim("transpose", dim0, t.dim())], dims[wrap_dim("transpose", dim1, t.dim())]);
  return permuted(t, dims);
}

Tensor index_select(const Tensor& t, int dim, const Tensor& index) {
  dim = wrap_dim("index_select", dim, t.dim());
  check<IndexError>(index.dim() == 1 && (index.dtype() == DType::int64 || index.dtype() == DType::int32), [&] {
    return "index_select: expected an index vector of int64 or int32, got " + index.spec().str();
  });
  const Tensor wanted = index.to(DType::int64);
  check_range("index_select", "indices", wanted, t.size(dim));
  const Tensor x = to_coo(t);
  Pattern p = pattern(x);
  Shape size = t.shape();
  size[dim] = wanted.numel();
  const int n = sparse_sizes(x).size();
  if (dim >= n) return assemble(p, neura::index_select(values_of(x), dim - n + 1, wanted), size);
  // Each stored element goes wherever the index names its place.
  const SortResult order = sort(wanted, 0, false, true);
  const Tensor at = select(p.first, 0, dim);
  const Tensor low = searchsorted(order.values, at), high = searchsorted(order.values, at, false, true);
  const Tensor count = high - low, before = cumulative(count);
  const Tensor from = repeat_interleave(count);
  const Tensor within =
      arange(from.numel(), {.dtype = DType::int64, .device = t.device()}) - neura::index_select(before, 0, from);
  const Tensor to = neura::index_select(order.indices, 0, neura::index_select(low, 0, from) + within);
  std::vector<Tensor> rows;
  for (int d = 0; d < n; ++d) rows.push_back(d == dim ? to : neura::index_select(select(p.first, 0, d), 0, from));
  const Tensor made =
      assemble({Layout::coo, false, stack(rows, 0), {}}, neura::index_select(values_of(x), 0, from), size);
  return p.coalesced ? coalesce(made) : made;
}

Tensor selected(const Tensor& t, int dim, std::int64_t at) {
  const Tensor x = to_coo(t);
  Pattern p = pattern(x);
  const int n = sparse_sizes(x).size();
  Shape size = t.shape();
  size.erase(dim);
  if (dim >= n) return assemble(p, neura::select(values_of(x), dim - n + 1, at), size);
  const Tensor found = flatten(nonzero(select(p.first, 0, dim) == Scalar(at)));
  const Tensor v = neura::index_select(values_of(x), 0, found);
  if (n == 1) return neura::to(neura::sum(v, Dims{0}), v.dtype());
  std::vector<Tensor> rows;
  for (int d = 0; d < n; ++d)
    if (d != dim) rows.push_back(neura::index_select(select(p.first, 0, d), 0, found));
  return assemble({Layout::coo, p.coalesced, stack(rows, 0), {}}, v, size);
}

Tensor cat(const std::vector<Tensor>& l, int dim) {
  check<ValueError>(!l.empty(), [] { return "cat: expected at least one tensor, got none"; });
  const Tensor& t = l[0];
  coo_parts(t, "cat");
  dim = wrap_dim("cat", dim, t.dim());
  const int n = sparse_sizes(t).size();
  check<NotImplementedError>(
      dim < n, [] { return "cat: expected a sparse dimension for sparse tensors, got a dense one; call to_dense()"; });
  Shape size = t.shape();
  size[dim] = 0;
  std::vector<Tensor> indices, values;
  for (const Tensor& x : l) {
    coo_parts(x, "cat");
    Shape same = x.shape();
    if (same.size() == size.size()) same[dim] = size[dim];
    check<ShapeError>(same == size && sparse_sizes(x).size() == n, [&] {
      return "cat: expected sparse tensors of the same sizes but in dimension " + std::to_string(dim) + ", got " +
             t.spec().str() + " and " + x.spec().str();
    });
    Shape shift = Shape::filled(n, 0);
    shift[dim] = size[dim];
    const std::vector<std::int64_t> by(shift.begin(), shift.end());
    indices.push_back(pattern(x).first + unsqueeze(tensor(by, {.dtype = DType::int64, .device = x.device()}), 1));
    values.push_back(values_of(x)), size[dim] += x.size(dim);
  }
  return assemble({Layout::coo, false, neura::cat(indices, 1), {}}, neura::cat(values), size);
}

}  // namespace neura::sparse
