// Reading and writing by index. An index outside its dimension is an IndexError that names the operation, the index and
// the bound; nothing is written then. Of several writes to one element the last one wins, and sums are taken in the
// order of the index, on CUDA only with use_deterministic_algorithms(true) (core/precision.h).
#pragma once
#include <initializer_list>
#include <string_view>
#include <vector>

#include "neura/core/tensor.h"

namespace neura {

#include "neura/tables/functions/declare.h"
#include "neura/tables/functions/index.def"
#include "neura/tables/functions/end.h"

// Along one dimension. `index` is an int32 or int64 vector, not negative.
Tensor index_fill(const Tensor& input, int dim, const Tensor& index, Scalar value);
Tensor index_fill(const Tensor& input, int dim, const Tensor& index, const Tensor& value);  // 0-d
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
Tensor& scatter_(Tensor& self, int dim, const Tensor& index, const Tensor& src, std::string_view reduce = "");
Tensor& scatter_(Tensor& self, int dim, const Tensor& index, Scalar value, std::string_view reduce = "");
Tensor& scatter_add_(Tensor& self, int dim, const Tensor& index, const Tensor& src);
Tensor& scatter_reduce_(Tensor& self, int dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                        bool include_self = true);

Tensor& put_(Tensor& self, const Tensor& index, const Tensor& source, bool accumulate = false);
Tensor& masked_scatter_(Tensor& self, const Tensor& mask, const Tensor& source);

Tensor nonzero(const Tensor& input);                        // [count, rank] int64, in order
std::vector<Tensor> nonzero_as_tuple(const Tensor& input);  // one vector per dimension
std::vector<Tensor> where(const Tensor& condition);

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
