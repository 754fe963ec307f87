// Sparse tensors from their parts, and the parts of sparse tensors.
#include <string>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"
#include "neura/sparse/parts.h"

namespace neura::sparse {
namespace {

Tensor prepared(const Tensor& values, const Options& o) {
  Tensor v = values.dim() ? values : unsqueeze(values, 0);
  if (o.dtype) v = to(v, *o.dtype);
  if (o.device) v = to(v, *o.device);
  return o.requires_grad ? v.detach() : v;
}
Tensor index_of(const char* op, const Tensor& index, const Tensor& values) {
  check_dense(op, index);
  check<DTypeError>(!is_complex(index.dtype()) && index.dtype() != DType::boolean, [&] {
    return std::string(op) + ": expected indices of an integer dtype, got " + index.spec().str();
  });
  return contiguous(to(to(index.detach(), DType::int64), values.device()));
}
Tensor finished(const Pattern& p, const Tensor& values, const Shape& size, const Options& o) {
  Tensor made = assemble(p, values, size);
  if (o.requires_grad) made.requires_grad_();
  return made;
}
void check_sizes(const char* op, const Shape& size) {
  for (std::int64_t n : size)
    check<ShapeError>(n >= 0, [&] { return std::string(op) + ": expected sizes of at least 0, got " + size.str(); });
}

}  // namespace

void check_range(const char* op, const char* what, const Tensor& index, std::int64_t bound) {
  if (!index.numel()) return;
  const MinMaxResult range = aminmax(index);
  const auto least = range.min.item<std::int64_t>(), most = range.max.item<std::int64_t>();
  check<IndexError>(least >= 0 && most < bound, [&] {
    return std::string(op) + ": expected " + what + " from 0 to " + std::to_string(bound - 1) + ", got " +
           std::to_string(least < 0 ? least : most);
  });
}

Tensor coo_tensor(const Tensor& indices, const Tensor& values, std::optional<Shape> size, const Options& o) {
  const char* op = "sparse_coo_tensor";
  check_dense(op, values);
  const Tensor v = prepared(values, o), index = index_of(op, indices, v);
  check<ShapeError>(index.dim() == 2, [&] {
    return "sparse_coo_tensor: expected indices [sparse dimensions, elements], got " + indices.spec().str();
  });
  check<ShapeError>(index.size(1) == v.size(0), [&] {
    return "sparse_coo_tensor: expected a value for each of the " + std::to_string(index.size(1)) + " indices, got " +
           v.spec().str();
  });
  const int sparse_dims = int(index.size(0)), rank = sparse_dims + v.dim() - 1;
  check<ShapeError>(rank <= kMaxRank, [&] {
    return "sparse_coo_tensor: expected at most " + std::to_string(kMaxRank) + " dimensions, got " +
           std::to_string(rank);
  });
  if (!size) {
    size = Shape();
    for (int d = 0; d < sparse_dims; ++d)
      size->push_back(index.numel() ? amax(select(index, 0, d)).item<std::int64_t>() + 1 : 0);
    for (int d = 1; d < v.dim(); ++d) size->push_back(v.size(d));
  }
  check_sizes(op, *size);
  bool fits = size->size() == rank;
  for (int d = sparse_dims; fits && d < rank; ++d) fits = (*size)[d] == v.size(d - sparse_dims + 1);
  check<ShapeError>(fits, [&] {
    return "sparse_coo_tensor: expected a size of " + std::to_string(sparse_dims) +
           " sparse dimensions and those of the values " + v.spec().str() + " but the first, got " + size->str();
  });
  for (int d = 0; d < sparse_dims; ++d) check_range(op, "indices", select(index, 0, d), (*size)[d]);
  if (o.is_coalesced && o.check_invariants) {
    check<ValueError>(ascends(keys(index, {size->data(), std::size_t(sparse_dims)})), [] {
      return "sparse_coo_tensor: expected ascending, distinct indices with is_coalesced, got others; call coalesce()";
    });
  }
  return finished({Layout::coo, o.is_coalesced, index, {}}, v, *size, o);
}

namespace {

struct Compressed {  // a check of one layout's parts, with its words
  const Pattern& p;
  const Tensor& values;
  std::string op;
  int block() const { return p.by_block() ? 2 : 0; }
  std::int64_t block_size(int d) const { return p.by_block() ? values.size(1 + d) : 1; }

  void ranks() const {
    check<ShapeError>(p.first.dim() == 1 && p.second.dim() == 1, [&] {
      return op + ": expected index vectors (no batches), got " + p.first.spec().str() + " and " +
             p.second.spec().str();
    });
    check<ShapeError>(values.dim() >= 1 + block() && values.dim() + 1 - block() <= kMaxRank, [&] {
      return op + ": expected values [elements" + (block() ? ", height, width" : "") + "], got " + values.spec().str();
    });
    check<ShapeError>(p.first.numel() >= 1, [&] { return op + ": expected at least one compressed index, got none"; });
    check<ShapeError>(p.second.size(0) == values.size(0), [&] {
      return op + ": expected a value for each of the " + std::to_string(p.second.size(0)) + " plain indices, got " +
             values.spec().str();
    });
  }
  Shape inferred() const {
    const std::int64_t major = p.first.numel() - 1;
    const std::int64_t minor = p.second.numel() ? amax(p.second).item<std::int64_t>() + 1 : 0;
    Shape size = p.by_row() ? Shape{major, minor} : Shape{minor, major};
    for (int d = 0; d < 2; ++d) size[d] *= block_size(d);
    for (int d = 1 + block(); d < values.dim(); ++d) size.push_back(values.size(d));
    return size;
  }
  void fits(const Shape& size, bool in_order) const {
    const int dense = values.dim() - 1 - block();
    bool ok = size.size() == 2 + dense;
    for (int d = 0; ok && d < dense; ++d) ok = size[2 + d] == values.size(1 + block() + d);
    for (int d = 0; ok && d < 2; ++d) ok = block_size(d) > 0 && size[d] % block_size(d) == 0;
    const int major = p.by_row() ? 0 : 1;
    ok = ok && size[major] / block_size(major) == p.first.numel() - 1;
    check<ShapeError>(ok, [&] {
      return op + ": expected a size that agrees with " + std::to_string(p.first.numel() - 1) +
             " compressed rows or columns and values " + values.shape().str() + ", got " + size.str();
    });
    const std::int64_t n = p.second.numel(), last = p.first.numel() - 1;
    const Tensor step = slice(p.first, 0, 1) - slice(p.first, 0, 0, last);
    const bool fits = select(p.first, 0, 0).item<std::int64_t>() == 0 &&
                      select(p.first, 0, last).item<std::int64_t>() == n && all(step >= Scalar(0)).item<bool>();
    check<ValueError>(fits, [&] {
      return op +
             ": expected compressed indices that begin with 0, never fall, and end with the number of plain ones, " +
             std::to_string(n) + ", got others";
    });
    const std::int64_t minor = size[1 - major] / block_size(1 - major);
    check_range(op.c_str(), "plain indices", p.second, minor);
    if (!in_order) return;
    check<ValueError>(ascends(numbers_of(p.first, p.count()) * Scalar(minor) + p.second), [&] {
      return op + ": expected plain indices that ascend and are distinct within each row or column, got others";
    });
  }
};

}  // namespace

Tensor compressed_tensor(Layout layout, const Tensor& compressed, const Tensor& plain, const Tensor& values,
                         std::optional<Shape> size, const Options& o) {
  const std::string op = std::string(name(layout)) + "_tensor";
  check<ValueError>(layout >= Layout::csr, [&] {
    return std::string("sparse_compressed_tensor: expected a compressed layout, got ") + name(layout);
  });
  check_dense(op.c_str(), values);
  const Tensor v = prepared(values, o);
  const Pattern p{layout, true, index_of(op.c_str(), compressed, v), index_of(op.c_str(), plain, v)};
  const Compressed parts{p, v, op};
  parts.ranks();
  if (!size) size = parts.inferred();
  check_sizes(op.c_str(), *size);
  parts.fits(*size, o.check_invariants);
  return finished(p, v, *size, o);
}

Tensor empty(const Shape& size, Layout layout, const Options& o) {
  check_sizes("empty", size);
  const TensorOptions whole{.dtype = DType::int64, .device = o.device.value_or(default_device())};
  const TensorOptions of_values{.dtype = o.dtype, .device = whole.device};
  if (layout == Layout::coo)
    return finished({layout, true, zeros({size.size(), 0}, whole), {}}, zeros({0}, of_values), size, o);
  check<NotImplementedError>(layout == Layout::csr || layout == Layout::csc, [&] {
    return std::string("empty: expected sparse_coo, sparse_csr or sparse_csc, got ") + name(layout);
  });
  check<ShapeError>(size.size() == 2, [&] { return "empty: expected the size of a matrix, got " + size.str(); });
  const Tensor starts = zeros({size[layout == Layout::csr ? 0 : 1] + 1}, whole);
  return finished({layout, true, starts, zeros({0}, whole)}, zeros({0}, of_values), size, o);
}

namespace {

const Sparse& coalesced_parts(const Tensor& t, const char* op) {
  const Sparse& s = coo_parts(t, op);
  check<ValueError>(s.pattern.coalesced, [&] {
    return std::string(op) + ": expected a coalesced tensor, got one whose indices may repeat; call coalesce() first";
  });
  return s;
}
Tensor compressed_part(const Tensor& t, const char* op, bool by_row, bool first) {
  const Pattern& p = parts(t, op).pattern;
  check<NotImplementedError>(p.layout != Layout::coo && p.by_row() == by_row, [&] {
    return std::string(op) + ": expected a tensor of layout " +
           (by_row ? "sparse_csr or sparse_bsr" : "sparse_csc or sparse_bsc") + ", got a " + name(p.layout) + " one";
  });
  return first ? p.first : p.second;
}

}  // namespace

Tensor indices(const Tensor& t) { return coalesced_parts(t, "indices").pattern.first.detach(); }
Tensor values(const Tensor& t) {
  if (parts(t, "values").pattern.layout == Layout::coo) coalesced_parts(t, "values");
  return values_of(t);
}
Tensor _indices(const Tensor& t) { return coo_parts(t, "_indices").pattern.first.detach(); }
Tensor _values(const Tensor& t) { return parts(t, "_values").data.detach(); }
Tensor crow_indices(const Tensor& t) { return compressed_part(t, "crow_indices", true, true); }
Tensor col_indices(const Tensor& t) { return compressed_part(t, "col_indices", true, false); }
Tensor ccol_indices(const Tensor& t) { return compressed_part(t, "ccol_indices", false, true); }
Tensor row_indices(const Tensor& t) { return compressed_part(t, "row_indices", false, false); }
std::int64_t nnz(const Tensor& t) { return parts(t, "_nnz").pattern.count(); }
int sparse_dim(const Tensor& t) { return parts_if(t) ? sparse_sizes(t).size() : 0; }
int dense_dim(const Tensor& t) { return parts_if(t) ? dense_sizes(t).size() : t.dim(); }
bool is_coalesced(const Tensor& t) { return coo_parts(t, "is_coalesced").pattern.coalesced; }

}  // namespace neura::sparse
