// Views, and arrangements of the elements of one tensor.
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/index/index.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/strided.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/shape/view_dtype.h"
#include "neura/surface/list.h"

namespace neura::surface {
namespace {

using T = const Tensor&;
using Offset = std::optional<std::int64_t>;
using int64 = std::int64_t;

Tensor without_ones(T x, const Dims& dim) { return dim.empty() ? x : squeeze(x, dim); }

void add_sizes(const List& s) {
  s.add(
      "view(input, *size)", [](T x, const Shape& size) { return view(x, size); }, both,
      "A view in this shape, of which one size may be -1, or of another dtype. ShapeError where the layout does not "
      "allow one; use reshape.");
  s.add(
      "view(input, dtype)", [](T x, DType dtype) { return view(x, dtype); }, both);
  s.add(
      "reshape(input, *shape)", [](T x, const Shape& shape) { return reshape(x, shape); }, both,
      "The same elements in this shape, of which one size may be -1; a view where possible. ShapeError if the numbers "
      "of elements differ.");
  s.add(
      "permute(input, *dims)", [](T x, const Shape& dims) { return permute(x, Dims(dims)); }, both,
      "A view with the dimensions in this order.");
  s.add(
      "flip(input, *dims)", [](T x, const Shape& dims) { return flip(x, Dims(dims)); }, both,
      "A copy with the order of the elements reversed along dims.");
}

void add_table(const List& s) {
#include "neura/surface/entries.h"
#include "neura/tables/functions/shape.def"
#include "neura/tables/functions/end.h"
}

void add_dimensions(const List& s) {
  s.add("transpose(input, dim0, dim1)", overload<T, int, int>(&transpose), both, "A view with two dimensions swapped.")
      .alias("swapdims", "transpose");
  s.add(
      "adjoint(input)", [](T x) { return conj(mT(x)); }, both,
      "The conjugate transpose: the last two dimensions swapped, conjugated.");
  s.add(
      "squeeze(input)", [](T x) { return squeeze(x); }, both,
      "A view without dimensions of size 1: all of them, or dim where it is one.");
  s.add(
      "squeeze(input, *dim)", [](T x, const Shape& dim) { return without_ones(x, Dims(dim)); }, both);
}

void add_parts(const List& s) {
  s.add(
      "narrow(input, dim, start, length)", [](T x, int dim, int64 start, int64 n) { return narrow(x, dim, start, n); },
      both, "A view of length elements along dim, from start on. IndexError out of range.");
  s.add(
      "narrow(input, dim, start, length)",
      [](T x, int dim, T start, int64 length) {
        check<ShapeError>(start.dim() == 0 && category(start.dtype()) == Category::integer, [&] {
          return "narrow: expected start to be an integer or a 0-d tensor of one, got " + start.spec().str();
        });
        return narrow(x, dim, start.item<int64>(), length);
      },
      both);
  s.add("unfold(self, dimension, size, step)", overload<T, int, int64, int64>(&unfold), method,
        "A view of all windows of this size along a dimension, step apart; the window is a new last dimension.");
  s.add(
      "as_strided_scatter(input, src, size, stride, storage_offset=None)",
      [](T x, T src, const Shape& size, const Shape& stride, Offset offset) {
        return as_strided_scatter(x, src, size, stride, offset.value_or(0));
      },
      both, "A copy of input with src written into as_strided(input, size, stride, storage_offset).");
}

void add_arranged(const List& s) {
  s.add(
      "fill_diagonal_(self, fill_value, wrap=False)",
      [](Tensor& x, Scalar value, bool wrap) { fill_diagonal_(x, value, wrap); }, method,
      "Fills the main diagonal in place. wrap: in a matrix with more rows than columns the diagonal restarts after "
      "each n + 1 rows, n the columns. ShapeError below two dimensions, and where more than two differ in size.");
  const char* repeated = "repeat_interleave(input, repeats, dim=None, *, output_size=None)";
  s.add(
      repeated, [](T x, int64 n, std::optional<int> dim, Ignored) { return repeat_interleave(x, n, dim); }, both,
      "A copy with each element repeated, along dim or in one dimension.");
  s.add(
      repeated, [](T x, T n, std::optional<int> dim, Ignored) { return repeat_interleave(x, n, dim); }, both);
  s.add(
      "repeat_interleave(repeats)", [](T n) { return repeat_interleave(n); }, both);
}

void add_copies(const List& s) {
  s.add(
      "alias_copy(input)", [](T x) { return clone(x); }, both | out, "A copy.");
  s.add(
      "t_copy(input)", [](T x) { return clone(t(x)); }, both | out, "t(input) as a copy.");
  s.add(
      "transpose_copy(input, dim0, dim1)", [](T x, int a, int b) { return clone(transpose(x, a, b)); }, both | out,
      "transpose(input, dim0, dim1) as a copy.");
  s.add(
      "permute_copy(input, dims)", [](T x, const Dims& d) { return clone(permute(x, d)); }, both | out,
      "permute(input, dims) as a copy.");
  s.add(
      "expand_copy(input, size)", [](T x, const Shape& size) { return clone(expand(x, size)); }, both | out,
      "expand(input, size) as a copy.");
  s.add(
      "view_copy(input, size)", [](T x, const Shape& size) { return clone(view(x, size)); }, both | out,
      "view(input, size) as a copy.");
  s.add(
      "unsqueeze_copy(input, dim)", [](T x, int d) { return clone(unsqueeze(x, d)); }, both | out,
      "unsqueeze(input, dim) as a copy.");
  s.add(
      "squeeze_copy(input)", [](T x) { return clone(squeeze(x)); }, both | out,
      "squeeze(input) or squeeze(input, dim) as a copy.");
  s.add(
      "squeeze_copy(input, dim)", [](T x, const Dims& d) { return clone(without_ones(x, d)); }, both | out);
  s.add(
      "narrow_copy(input, dim, start, length)",
      [](T x, int dim, int64 start, int64 n) { return clone(narrow(x, dim, start, n)); }, both | out,
      "narrow(input, dim, start, length) as a copy.");
  s.add(
      "diagonal_copy(input, offset=0, dim1=0, dim2=1)",
      [](T x, int offset, int a, int b) { return clone(diagonal(x, offset, a, b)); }, both | out,
      "diagonal(input, offset, dim1, dim2) as a copy.");
  s.add(
      "unfold_copy(input, dimension, size, step)",
      [](T x, int d, int64 size, int64 step) { return clone(unfold(x, d, size, step)); }, both | out,
      "Tensor.unfold(dimension, size, step) as a copy.");
  s.add(
      "as_strided_copy(input, size, stride, storage_offset=None)",
      [](T x, const Shape& size, const Shape& stride, Offset o) { return clone(as_strided(x, size, stride, o)); },
      both | out, "as_strided(input, size, stride, storage_offset) as a copy.");
}

}  // namespace

void add_shape(std::deque<Function>& all) {
  const List s(all, "");
  add_sizes(s);
  add_table(s);
  add_dimensions(s);
  add_parts(s);
  add_arranged(s);
  add_copies(s);
}

}  // namespace neura::surface
