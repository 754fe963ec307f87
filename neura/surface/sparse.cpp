// Sparse tensors: their parts, conversions, and the functions of neura.sparse.
#include "neura/ops/create/copy.h"
#include "neura/sparse/sparse.h"
#include "neura/surface/list.h"

namespace neura::surface {
namespace {

using T = const Tensor&;
using MaybeDType = std::optional<DType>;

void add_parts(const List& s) {
  using namespace sparse;
#include "neura/surface/entries.h"
#include "neura/tables/functions/sparse.def"
#include "neura/tables/functions/end.h"
  s.add("_nnz(input)", &sparse::nnz, method, "How many elements (or blocks) a sparse tensor stores.");
  s.add(
      "_layout(input)", [](T x) { return std::int64_t(layout(x)); }, method, "The number of the layout.");
}

template <Layout l> Tensor converted(T x, std::optional<std::int64_t> dense_dim) {
  return sparse::to_layout(x, l, {}, dense_dim);
}
template <Layout l> Tensor in_blocks(T x, const Shape& blocksize, std::optional<std::int64_t> dense_dim) {
  return sparse::to_layout(x, l, blocksize, dense_dim);
}
void add_conversions(const List& s) {
  s.add(
      "to_dense(input, dtype=None, *, masked_grad=None)",
      [](T x, MaybeDType d, std::optional<bool>) {
        const Tensor dense = sparse::to_dense(x);
        return d ? to(dense, *d) : dense;
      },
      method, "The tensor with all its elements stored; itself if it is dense.");
  s.add(
      "_to_sparse(input, sparse_dim=None)", [](T x, std::optional<int> n) { return sparse::to_coo(x, n); }, method,
      "As sparse_coo.");
  s.add("to_sparse_csr(input, dense_dim=None)", &converted<Layout::csr>, method,
        "A matrix by compressed rows; of a dense one, what is not zero is stored.");
  s.add("to_sparse_csc(input, dense_dim=None)", &converted<Layout::csc>, method,
        "A matrix by compressed columns; of a dense one, what is not zero is stored.");
  s.add("to_sparse_bsr(input, blocksize, dense_dim=None)", &in_blocks<Layout::bsr>, method,
        "A matrix by compressed rows of blocks of this size, which divides the matrix's.");
  s.add("to_sparse_bsc(input, blocksize, dense_dim=None)", &in_blocks<Layout::bsc>, method,
        "A matrix by compressed columns of blocks of this size, which divides the matrix's.");
  s.add("sparse_mask(input, mask)", &sparse::mask, method,
        "The elements of input that mask, a sparse tensor of its sizes, stores.");
  s.add(
      "sparse_resize_(input, size, sparse_dim, dense_dim)",
      [](Tensor& x, const Shape& size, int sparse_dim, int dense_dim) {
        sparse::resize_(x, size, sparse_dim, dense_dim, false);
      },
      method, "Resizes a sparse tensor in place. A size must not shrink while elements are stored.");
  s.add(
      "sparse_resize_and_clear_(input, size, sparse_dim, dense_dim)",
      [](Tensor& x, const Shape& size, int sparse_dim, int dense_dim) {
        sparse::resize_(x, size, sparse_dim, dense_dim, true);
      },
      method, "Resizes a sparse tensor in place, and removes its elements.");
}

void add_functions(const List& s) {
  using namespace sparse;
#include "neura/surface/entries.h"
#include "neura/tables/functions/sparse_functions.def"
#include "neura/tables/functions/end.h"
  s.add(
      "sum(input, dim=None, dtype=None)",
      [](T x, const Dims& dim, MaybeDType d) {
        const Tensor total = sparse::sum(x, dim);
        return d ? to(total, *d) : total;
      },
      function, "The sum of all elements or along dim: sparse where a sparse dimension is left.");
  s.add(
      "_coo_tensor(indices, values, size=None, *, dtype=None, device=None, requires_grad=False, "
      "check_invariants=False, is_coalesced=False)",
      [](T i, T v, std::optional<Shape> size, MaybeDType d, std::optional<Device> device, bool grad, bool check,
         bool coalesced) {
        return sparse::coo_tensor(i, v, size, {d, device, grad, check, coalesced});
      },
      function, "A sparse_coo tensor of its parts.");
  s.add(
      "_compressed_tensor(layout, compressed_indices, plain_indices, values, size=None, *, dtype=None, device=None, "
      "requires_grad=False, check_invariants=False)",
      [](std::string_view l, T c, T p, T v, std::optional<Shape> size, MaybeDType d, std::optional<Device> device,
         bool grad, bool check) {
        return sparse::compressed_tensor(layout_of(l), c, p, v, size, {d, device, grad, check});
      },
      function, "A sparse tensor of a compressed layout of its parts.");
  s.add(
      "_empty(size, layout, *, dtype=None, device=None, requires_grad=False)",
      [](const Shape& size, std::string_view l, MaybeDType d, std::optional<Device> device, bool grad) {
        return sparse::empty(size, layout_of(l), {d, device, grad});
      },
      function, "A sparse tensor that stores nothing.");
  s.add(
      "_spdiags(diagonals, offsets, shape, layout)",
      [](T diagonals, T offsets, const Shape& shape, std::string_view l) {
        return sparse::spdiags(diagonals, offsets, shape, layout_of(l));
      },
      function, "A sparse matrix with these diagonals.");
}

}  // namespace

void add_sparse(std::deque<Function>& all) {
  const List s(all, "");
  add_parts(s);
  add_conversions(s);
  add_functions(List(all, "sparse"));
}

}  // namespace neura::surface
