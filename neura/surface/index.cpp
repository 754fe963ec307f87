// Functions that read and write by index.
#include "neura/ops/index/index.h"
#include "neura/ops/index/segment.h"
#include "neura/surface/list.h"

namespace neura::surface {
namespace {

using T = const Tensor&;
using I = const Tensor&;
using Word = std::string_view;

void add_table(const List& s) {
#include "neura/surface/entries.h"
#include "neura/tables/functions/index.def"
#include "neura/tables/functions/end.h"
}
void add_along(const List& s) {
  s.add("index_fill(input, dim, index, value)", overload<T, int, I, T>(&index_fill), both,
        "A copy of input with the slices along dim at index (1-d) filled with value.")
      .writes([](Tensor& x, int d, I i, T v) { index_fill_(x, d, i, v); });
  s.add("index_fill(input, dim, index, value)", overload<T, int, I, Scalar>(&index_fill), both)
      .writes([](Tensor& x, int d, I i, Scalar v) { index_fill_(x, d, i, v); });
  s.add(
      "gather(input, dim, index, *, sparse_grad=False)",
      [](T x, int dim, I index, bool) { return gather(x, dim, index); }, both | out | strict,
      "Elements of input at index (int64, of as many dimensions) along dim: out[i][j] = input[index[i][j]][j] for "
      "dim=0. IndexError for an index out of range.");
}
void add_scatters(const List& s) {
  s.add("scatter(input, dim, index, src, *, reduce='')", overload<T, int, I, T, Word>(&scatter), both | out | strict,
        "A copy of input with src, or value, written at index along dim: out[index[i][j]][j] = src[i][j] for dim=0. "
        "reduce may be 'add' or 'multiply'.")
      .writes([](Tensor& x, int d, I i, T v, Word r) { scatter_(x, d, i, v, r); });
  s.add("scatter(input, dim, index, value, *, reduce='')", overload<T, int, I, Scalar, Word>(&scatter),
        both | out | strict)
      .writes([](Tensor& x, int d, I i, Scalar v, Word r) { scatter_(x, d, i, v, r); });
}
void add_masks(const List& s) {
  s.add(
      "nonzero(input, *, as_tuple=False)",
      [](T x, bool as_tuple) -> Value { return as_tuple ? Value(nonzero_as_tuple(x)) : Value(nonzero(x)); },
      both | out | strict,
      "The indices of all nonzero elements: int64 [n, dimensions], or with as_tuple one 1-d tensor per dimension.");
}

void add_segments(const List& s) {
  s.add(
       "segment_reduce(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None)",
       [](T data, const std::string& reduce, T lengths, T indices, T offsets, int axis, bool unsafe,
          std::optional<double> initial) {
         check<NotImplementedError>(!indices, [] {
           return std::string("segment_reduce: expected indices to be None; give lengths or offsets");
         });
         return segment_reduce(data, reduce, {lengths, offsets, axis, unsafe, initial});
       },
       function,
       "The sum, mean, max, min or prod of consecutive segments along axis: lengths [..., segments], or offsets [..., "
       "segments + 1]. initial: the initial value of each segment. [..., size of axis, ...] -> [..., segments, ...]; "
       "the mean of an empty segment is NaN. ValueError unless the lengths add up to the size of the axis, or unsafe.")
      .alias("_segment_reduce", "segment_reduce");
}

}  // namespace

void add_index(std::deque<Function>& all) {
  const List s(all, "");
  add_table(s);
  add_along(s);
  add_scatters(s);
  add_masks(s);
  add_segments(s);
  s.add(
       "index_put(input, indices, values, accumulate=False)",
       [](T x, const Tensors& i, T v, bool accumulate) {
         return index_put(x, {i.begin(), i.end()}, v, accumulate);
       },
       both, "A copy of input with values written at indices, a tuple of index tensors, or added with accumulate.")
      .writes([](Tensor& x, const Tensors& i, T v, bool accumulate) {
        index_put_(x, {i.begin(), i.end()}, v, accumulate);
      });
}

}  // namespace neura::surface
