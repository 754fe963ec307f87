// Sparse tensors: only some elements are stored, by coordinate (COO) or by compressed rows, columns or blocks of them.
// A sparse tensor is a Tensor of its full sizes; operations that have a rule for layouts take it, all others refuse it
// with NotImplementedError. Indices are int64. Gradients of a sparse tensor are sparse, of its pattern.
#pragma once
#include <optional>
#include <string_view>

#include "neura/core/tensor.h"

namespace neura {

// coo: indices [sparse dims, n], values [n, dense dims..], in any order and with repetitions, which count as their sum,
// until it is coalesced. csr: where rows begin [rows + 1], columns [n]; csc the same of columns. bsr, bsc: of blocks,
// with values [n, block height, block width].
enum class Layout : std::uint8_t { strided, coo, csr, csc, bsr, bsc };
const char* name(Layout);            // sparse_csr
Layout layout_of(std::string_view);  // by its name; ValueError
Layout layout(const Tensor&);
inline bool is_sparse(const Tensor& t) { return layout(t) != Layout::strided; }

namespace sparse {

struct Options {
  std::optional<DType> dtype = {};    // that of the values
  std::optional<Device> device = {};  // that of the values
  bool requires_grad = false;
  bool check_invariants = false;  // also that compressed indices ascend and are distinct; ranges are always checked
  bool is_coalesced = false;      // of coo: the caller knows that indices ascend and are distinct
};
// Without a size, the least that holds all indices. ShapeError, DTypeError, IndexError, ValueError.
Tensor coo_tensor(const Tensor& indices, const Tensor& values, std::optional<Shape> size = {}, const Options& = {});
Tensor compressed_tensor(Layout, const Tensor& compressed_indices, const Tensor& plain_indices, const Tensor& values,
                         std::optional<Shape> size = {}, const Options& = {});
Tensor empty(const Shape& size, Layout = Layout::coo, const Options& = {});  // nothing is stored

// The parts of a tensor, and functions of neura.sparse.
#include "neura/tables/functions/declare.h"
#include "neura/tables/functions/sparse.def"
#include "neura/tables/functions/sparse_functions.def"
#include "neura/tables/functions/end.h"

std::int64_t nnz(const Tensor&);  // of blocks, in a layout of blocks

// Conversions; differentiable. Of a dense tensor, what is not zero is stored.
Tensor to_dense(const Tensor&);  // itself if it is
Tensor to_coo(const Tensor&, std::optional<int> sparse_dim = {});
// dense_dim: how many dimensions after the first two of a dense tensor are dense; the layouts of rows and columns
// alone.
Tensor to_layout(const Tensor&, Layout, std::optional<Shape> blocksize = {},
                 std::optional<std::int64_t> dense_dim = {});
Tensor mask(const Tensor& input, const Tensor& mask);  // the elements of input that mask, a sparse tensor, stores
Tensor& resize_(Tensor& self, const Shape& size, int sparse_dim, int dense_dim, bool clear);
// A matrix of this shape with the rows of `diagonals` on the diagonals that offsets name.
Tensor spdiags(const Tensor& diagonals, const Tensor& offsets, const Shape& shape, Layout = Layout::coo);

Tensor transpose(const Tensor&, int dim0, int dim1);               // two dimensions exchanged
Tensor index_select(const Tensor&, int dim, const Tensor& index);  // slices along dim; index: an int64 vector
Tensor cat(const std::vector<Tensor>&, int dim = 0);               // coo

// Sums, sparse where a sparse dimension is left.
Tensor sum(const Tensor&, const Dims& dim = {}, bool keepdim = false);

}  // namespace sparse
}  // namespace neura
