// Between layouts, and to and from dense tensors.
#include <string>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/sort/sort.h"
#include "neura/sparse/parts.h"

namespace neura::sparse {

bool ascends(const Tensor& k) {
  const std::int64_t n = k.numel();
  return n < 2 || all(slice(k, 0, 1) > slice(k, 0, 0, n - 1)).item<bool>();
}

namespace {

Tensor from_dense(const Tensor& t, int sparse_dims) {
  check<ShapeError>(sparse_dims >= 0 && sparse_dims <= t.dim() && (sparse_dims || !t.dim()), [&] {
    return "to_sparse: expected from 1 to " + std::to_string(t.dim()) + " sparse dimensions, got " +
           std::to_string(sparse_dims);
  });
  Tensor stored = t.detach() != Scalar(0);
  if (sparse_dims < t.dim()) {
    Dims dense;
    for (int d = sparse_dims; d < t.dim(); ++d) dense.push_back(d);
    stored = any(stored, dense);
  }
  const Shape all = t.shape(), sizes(all.data(), std::size_t(sparse_dims));
  const Tensor index = contiguous(neura::transpose(nonzero(stored), 0, 1));
  Shape flat{sizes.numel()};
  for (int d = sparse_dims; d < t.dim(); ++d) flat.push_back(all[d]);
  const Tensor v = neura::index_select(reshape(t, flat), 0, keys(index, sizes));
  return assemble({Layout::coo, true, index, {}}, v, all);
}

// Of a coo matrix that is coalesced. Blocks of one element are those of csr and csc.
Tensor to_blocks(const Tensor& t, Layout layout, std::int64_t height, std::int64_t width) {
  const bool by_row = layout == Layout::csr || layout == Layout::bsr;
  const Pattern& p = pattern(t);
  const Tensor row = select(p.first, 0, 0), col = select(p.first, 0, 1), v = values_of(t);
  if (layout == Layout::csr) return assemble({layout, true, starts_of(row, t.size(0)), col}, v, t.shape());
  const std::int64_t rows = t.size(0) / height, cols = t.size(1) / width;
  const Tensor block_row = floor_divide(row, Scalar(height)), block_col = floor_divide(col, Scalar(width));
  const std::int64_t majors = by_row ? rows : cols, minors = std::max<std::int64_t>(by_row ? cols : rows, 1);
  const Tensor key = by_row ? block_row * Scalar(minors) + block_col : block_col * Scalar(minors) + block_row;
  const UniqueResult blocks = unique(key, true, true);
  const std::int64_t count = blocks.values.numel(), area = height * width;
  const Tensor within = row % Scalar(height) * Scalar(width) + col % Scalar(width);
  Tensor filled = sum_rows(count * area, blocks.inverse * Scalar(area) + within, v);
  if (layout != Layout::csc) {
    Shape sizes{count, height, width};
    for (int d = 1; d < v.dim(); ++d) sizes.push_back(v.size(d));
    filled = reshape(filled, sizes);
  }
  const Tensor starts = starts_of(floor_divide(blocks.values, Scalar(minors)), majors);
  return assemble({layout, true, starts, blocks.values % Scalar(minors)}, filled, t.shape());
}

// Of a tensor [rows, columns, dense dimensions...].
void check_dense_dim(const std::string& op, const Tensor& t, std::optional<std::int64_t> dense_dim) {
  if (parts_if(t))
    return check<NotImplementedError>(!dense_dim, [&] {
      return op + ": expected no dense_dim for a sparse tensor, got " + std::to_string(*dense_dim) +
             "; call to_dense() first";
    });
  const std::int64_t most = t.dim() - 2, dense = dense_dim.value_or(0);
  check<ValueError>(dense >= 0 && dense <= most, [&] {
    return op + ": expected dense_dim from 0 to " + std::to_string(most) + " for " + t.spec().str() + ", got " +
           std::to_string(dense);
  });
  check<NotImplementedError>(dense == most, [&] {
    return op + ": expected a matrix, got " + t.spec().str() +
           ", a batch of them; convert them one by one, or say dense_dim=" + std::to_string(most);
  });
}

}  // namespace

Tensor coalesce(const Tensor& t) {
  Pattern p = coo_parts(t, "coalesce").pattern;
  if (p.coalesced) return t;
  p.coalesced = true;
  const Tensor k = keys(t);
  if (ascends(k)) return assemble(p, values_of(t), t.shape());
  const SortResult order = sort(k, 0, false, true);
  const UniqueResult distinct = unique_consecutive(order.values, true);
  Tensor v = neura::index_select(values_of(t), 0, order.indices);
  if (distinct.values.numel() != k.numel()) v = sum_rows(distinct.values.numel(), distinct.inverse, v);
  p.first = coordinates(distinct.values, sparse_sizes(t));
  return assemble(p, v, t.shape());
}

Tensor to_dense(const Tensor& t) {
  if (!parts_if(t)) return t;
  return reshape(sum_rows(sparse_sizes(t).numel(), keys(t), flat_values(t, values_of(t))), t.shape());
}

Tensor to_coo(const Tensor& t, std::optional<int> sparse_dims) {
  const Sparse* s = parts_if(t);
  if (!s) return from_dense(t, sparse_dims.value_or(t.dim()));
  const Shape sizes = sparse_sizes(t);
  check<NotImplementedError>(sparse_dims.value_or(sizes.size()) == sizes.size(), [&] {
    return "to_sparse: expected the tensor's " + std::to_string(sizes.size()) + " sparse dimensions, got " +
           std::to_string(*sparse_dims) + "; call to_dense() first";
  });
  if (s->pattern.layout == Layout::coo) return t;
  const Tensor k = keys(t);
  return coalesce(assemble({Layout::coo, false, coordinates(k, sizes), {}}, flat_values(t, values_of(t)), t.shape()));
}

Tensor to_layout(const Tensor& t, Layout layout, std::optional<Shape> blocksize,
                 std::optional<std::int64_t> dense_dim) {
  if (layout == Layout::strided) return to_dense(t);
  if (layout == Layout::coo) return to_coo(t);
  const bool blocks = layout == Layout::bsr || layout == Layout::bsc;
  const std::string op = std::string("to_") + name(layout);
  check<ShapeError>(t.dim() >= 2, [&] { return op + ": expected a matrix, got " + t.spec().str(); });
  check_dense_dim(op, t, dense_dim);
  check<ValueError>(blocks == blocksize.has_value(), [&] {
    return op + (blocks ? ": expected a blocksize, got none" : ": expected no blocksize, got one");
  });
  const Shape block = blocksize.value_or(Shape{1, 1});
  check<ShapeError>(
      block.size() == 2 && block[0] > 0 && block[1] > 0 && t.size(0) % block[0] == 0 && t.size(1) % block[1] == 0,
      [&] { return op + ": expected a blocksize that divides the sizes " + t.shape().str() + ", got " + block.str(); });
  if (const Sparse* s = parts_if(t);
      s && s->pattern.layout == layout && (!blocks || (s->data.size(1) == block[0] && s->data.size(2) == block[1])))
    return t;
  const Tensor coo = coalesce(parts_if(t) ? to_coo(t) : to_coo(t, 2));
  check<ShapeError>(sparse_sizes(coo).size() == 2, [&] {
    return op + ": expected two sparse dimensions, got " + std::to_string(sparse_sizes(coo).size());
  });
  return to_blocks(coo, layout, block[0], block[1]);
}

Tensor mask(const Tensor& input, const Tensor& mask) {
  parts(mask, "sparse_mask");
  check<ShapeError>(input.shape() == mask.shape(), [&] {
    return "sparse_mask: expected a mask of the input's sizes " + input.shape().str() + ", got " + mask.shape().str();
  });
  return with_values(mask, values_at(input, mask));
}

Tensor& resize_(Tensor& self, const Shape& size, int sparse_dims, int dense_dims, bool clear) {
  const Sparse& s = coo_parts(self, "sparse_resize_");
  check<ShapeError>(sparse_dims >= 0 && dense_dims >= 0 && sparse_dims + dense_dims == size.size(),
                    [&] { return "sparse_resize_: expected sparse_dim + dense_dim sizes, got " + size.str(); });
  const Shape tail(size.data() + sparse_dims, std::size_t(dense_dims));
  if (clear || !s.pattern.count()) {
    const Tensor none = zeros({sparse_dims, 0}, {.dtype = DType::int64, .device = self.device()});
    Shape sizes{0};
    for (std::int64_t n : tail) sizes.push_back(n);
    const Tensor v = zeros(sizes, {.dtype = self.dtype(), .device = self.device()});
    return overwrite("sparse_resize_", self, assemble({Layout::coo, true, none, {}}, v, size)), self;
  }
  const Shape old = self.shape();
  bool fits = old.size() == size.size() && sparse_sizes(self).size() == sparse_dims && tail == dense_sizes(self);
  for (int d = 0; fits && d < sparse_dims; ++d) fits = size[d] >= old[d];
  check<ShapeError>(fits, [&] {
    return "sparse_resize_: expected sizes that do not shrink and as many dimensions of each kind as " + old.str() +
           " has, got " + size.str() + "; use sparse_resize_and_clear_";
  });
  return overwrite("sparse_resize_", self, assemble(s.pattern, s.data, size)), self;
}

}  // namespace neura::sparse
