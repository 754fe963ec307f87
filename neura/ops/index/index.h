// Reading and writing by index. An index outside its dimension is an IndexError that names the operation, the index and
// the bound; nothing is written then. Of several writes to one element the last one wins, and sums are taken in the
// order of the index, on CUDA only with use_deterministic_algorithms(true) (core/precision.h).
#pragma once
#include <initializer_list>
#include <string_view>
#include <vector>

#include "neura/core/tensor.h"

namespace neura {

// Along one dimension. `index` is an int32 or int64 vector, not negative.
Tensor index_select(const Tensor& input, int dim, const Tensor& index);
Tensor index_add(const Tensor& input, int dim, const Tensor& index, const Tensor& source, Scalar alpha = 1);
Tensor index_copy(const Tensor& input, int dim, const Tensor& index, const Tensor& source);
Tensor index_fill(const Tensor& input, int dim, const Tensor& index, Scalar value);
Tensor index_fill(const Tensor& input, int dim, const Tensor& index, const Tensor& value);  // 0-d
// reduce: "prod", "mean", "amax", "amin"
Tensor index_reduce(const Tensor& input, int dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                    bool include_self = true);
Tensor& index_add_(Tensor& self, int dim, const Tensor& index, const Tensor& source, Scalar alpha = 1);
Tensor& index_copy_(Tensor& self, int dim, const Tensor& index, const Tensor& source);
Tensor& index_fill_(Tensor& self, int dim, const Tensor& index, Scalar value);
Tensor& index_fill_(Tensor& self, int dim, const Tensor& index, const Tensor& value);
Tensor& index_reduce_(Tensor& self, int dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                      bool include_self = true);

// Element by element: out[i][j] = input[index[i][j]][j] for dim 0. `index` is int64, not negative, nowhere larger than
// input except along dim.
Tensor gather(const Tensor& input, int dim, const Tensor& index);
Tensor scatter(const Tensor& input, int dim, const Tensor& index, const Tensor& src, std::string_view reduce = "");
Tensor scatter(const Tensor& input, int dim, const Tensor& index, Scalar value, std::string_view reduce = "");
Tensor scatter_add(const Tensor& input, int dim, const Tensor& index, const Tensor& src);
// reduce: "sum", "prod", "mean", "amax", "amin"
Tensor scatter_reduce(const Tensor& input, int dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                      bool include_self = true);
Tensor& scatter_(Tensor& self, int dim, const Tensor& index, const Tensor& src, std::string_view reduce = "");
Tensor& scatter_(Tensor& self, int dim, const Tensor& index, Scalar value, std::string_view reduce = "");
Tensor& scatter_add_(Tensor& self, int dim, const Tensor& index, const Tensor& src);
Tensor& scatter_reduce_(Tensor& self, int dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                        bool include_self = true);
Tensor take_along_dim(const Tensor& input, const Tensor& indices, std::optional<int> dim = {});

// By position in the flattened tensor; int64, counted from the back if negative.
Tensor take(const Tensor& input, const Tensor& index);
Tensor put(const Tensor& input, const Tensor& index, const Tensor& source, bool accumulate = false);
Tensor& put_(Tensor& self, const Tensor& index, const Tensor& source, bool accumulate = false);

// By mask, a bool tensor that broadcasts with input. (masked_fill: ops/pointwise/composed.h)
Tensor masked_select(const Tensor& input, const Tensor& mask);  // a vector
Tensor masked_scatter(const Tensor& input, const Tensor& mask, const Tensor& source);
Tensor& masked_scatter_(Tensor& self, const Tensor& mask, const Tensor& source);

Tensor nonzero(const Tensor& input);                        // [count, rank] int64, in order
std::vector<Tensor> nonzero_as_tuple(const Tensor& input);  // one vector per dimension
Tensor nonzero_static(const Tensor& input, std::int64_t size, std::int64_t fill_value = -1);  // [size, rank]
Tensor argwhere(const Tensor& input);
std::vector<Tensor> where(const Tensor& condition);

// Positions in the flattened array of this shape, as one vector of coordinates per dimension; and back is ravel.
std::vector<Tensor> unravel_index(const Tensor& indices, const Shape& shape);

// The syntax of Python's square brackets: index(x, {Slice(0, 3, 2), None, Ellipsis, 3, mask, rows}).
struct Slice {
  std::int64_t start, stop, step;
  Slice(std::optional<std::int64_t> from = {}, std::optional<std::int64_t> to = {}, std::int64_t by = 1);
};
inline constexpr struct EllipsisType {
} Ellipsis;
inline constexpr struct NoneType {
} None;

struct Index {
  enum class Kind : std::uint8_t { none, ellipsis, integer, boolean, slice, tensor } kind;
  std::int64_t value = 0;  // integer, boolean
  Slice range;
  Tensor array;

  Index(NoneType) : kind(Kind::none) {}
  Index(EllipsisType) : kind(Kind::ellipsis) {}
  Index(bool b) : kind(Kind::boolean), value(b) {}
  template <std::integral T> Index(T i) : kind(Kind::integer), value(std::int64_t(i)) {}
  Index(const Slice& s) : kind(Kind::slice), range(s) {}
  Index(const Tensor& t) : kind(Kind::tensor), array(t) {}
};

// With integers, slices, None and Ellipsis alone it is a view; masks and integer tensors copy. Their dimensions are
// placed as in NumPy.
Tensor index(const Tensor& input, const std::vector<Index>& indices);
Tensor& index_put_(Tensor& self, const std::vector<Index>& indices, const Tensor& value, bool accumulate = false);
Tensor& index_put_(Tensor& self, const std::vector<Index>& indices, Scalar value);
Tensor index_put(const Tensor& input, const std::vector<Index>& indices, const Tensor& value, bool accumulate = false);

}  // namespace neura
