// The views that are more than a choice and order of dimensions: diagonals, windows, complex numbers as pairs.
#include <string>

#include "neura/op/cast_scope.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/reduce/expect.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/strided.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/shape/view_dtype.h"

namespace neura {
namespace {

struct Diagonal {
  static constexpr Operation op = operation("diagonal");
  int offset, dim1, dim2;
  NEURA_FIELDS(offset, dim1, dim2)
  void infer(const Spec& x, Spec& y) const {
    y = x;
    const std::int64_t rows = x.shape[dim1], columns = x.shape[dim2];
    const std::int64_t size = offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns);
    if (size > 0) y.offset += offset >= 0 ? offset * x.strides[dim2] : -offset * x.strides[dim1];
    y.rank = 0;
    for (int d = 0; d < x.rank; ++d)
      if (d != dim1 && d != dim2) y.shape[y.rank] = x.shape[d], y.strides[y.rank++] = x.strides[d];
    y.shape[y.rank] = std::max<std::int64_t>(size, 0), y.strides[y.rank++] = x.strides[dim1] + x.strides[dim2];
  }
  void gradient(Gradient& g) const { scatter_view(g, *this); }
};
struct Unfold {
  static constexpr Operation op = operation("unfold");
  int dim;
  std::int64_t size, step;
  NEURA_FIELDS(dim, size, step)
  void infer(const Spec& x, Spec& y) const {
    y = x;
    const std::int64_t stride = x.rank ? x.strides[dim] : 1, length = x.rank ? x.shape[dim] : 1;
    if (x.rank) y.shape[dim] = (length - size) / step + 1, y.strides[dim] = stride * step;
    y.shape[y.rank] = size, y.strides[y.rank] = stride, ++y.rank;
  }
  void gradient(Gradient& g) const { scatter_view(g, *this); }
};
struct ViewAsReal {
  static constexpr Operation op = operation("view_as_real");
  NEURA_FIELDS()
  void infer(const Spec& x, Spec& y) const {
    y = x, y.dtype = to_real(x.dtype), y.offset *= 2;
    for (int d = 0; d < y.rank; ++d) y.strides[d] *= 2;
    y.shape[y.rank] = 2, y.strides[y.rank] = 1, ++y.rank;
  }
  void gradient(Gradient& g) const {  // which may begin at an odd place of its storage
    const Tensor flat = contiguous(g.g[0]);
    g.result[0] = view_as_complex(flat.storage_offset() % 2 ? clone(flat) : flat);
  }
};
struct ViewAsComplex {
  static constexpr Operation op = operation("view_as_complex");
  NEURA_FIELDS()
  void infer(const Spec& x, Spec& y) const {
    y = x, y.dtype = to_complex(x.dtype), y.offset /= 2, --y.rank;
    for (int d = 0; d < y.rank; ++d) y.strides[d] /= 2;
  }
  void gradient(Gradient& g) const { g.result[0] = view_as_real(g.g[0]); }
};
struct ViewDtype {  // other bits have no derivative
  static constexpr Operation op = operation("view_dtype").locks_views();
  DType dtype;
  NEURA_FIELDS(dtype)
  void infer(const Spec& x, Spec& y) const {
    y = x;
    const std::int64_t from = size_of(x.dtype), to = size_of(dtype);
    const int last = x.rank - 1;
    y.dtype = dtype;
    if (from == to) return;
    bool fits = x.rank > 0 && (x.strides[last] == 1 || x.shape[last] == 1);
    if (from > to) {
      const std::int64_t parts = from / to;
      for (int d = 0; d < y.rank; ++d) y.strides[d] *= parts;
      y.offset *= parts;
      if (fits) y.shape[last] *= parts, y.strides[last] = 1;
    } else {
      const std::int64_t parts = to / from;
      fits = fits && x.shape[last] % parts == 0 && x.offset % parts == 0;
      for (int d = 0; d < last; ++d)
        fits = fits && (x.strides[d] % parts == 0 || x.shape[d] == 1), y.strides[d] /= parts;
      y.offset /= parts;
      if (fits) y.shape[last] /= parts, y.strides[last] = 1;
    }
    check<ShapeError>(fits, [&] {
      return std::string("view: expected elements side by side in a last dimension that ") + name(dtype) +
             " divides, got " + x.str() + " with strides " + Shape(x.strides, x.rank).str() +
             "; use to() for other values, or contiguous() first";
    });
  }
};

}  // namespace

Tensor diagonal(const Tensor& input, int offset, int dim1, int dim2) {
  const int a = wrap_dim("diagonal", dim1, input.dim()), b = wrap_dim("diagonal", dim2, input.dim());
  check<ShapeError>(a != b && input.dim() >= 2,
                    [&] { return "diagonal: expected two different dimensions of " + input.spec().str(); });
  return apply(Diagonal{offset, a, b}, input);
}
Tensor unfold(const Tensor& input, int dimension, std::int64_t size, std::int64_t step) {
  const int d = wrap_dim("unfold", dimension, input.dim());
  const std::int64_t length = input.dim() ? input.size(d) : 1;
  check<ValueError>(size >= 0 && size <= length && step > 0, [&] {
    return "unfold: expected a size of at most " + std::to_string(length) + " and a step of 1 or more, got size " +
           std::to_string(size) + " and step " + std::to_string(step);
  });
  return apply(Unfold{d, size, step}, input);
}

Tensor as_strided(const Tensor& input, const Shape& size, const Shape& stride,
                  std::optional<std::int64_t> storage_offset) {
  check<ShapeError>(size.size() == stride.size(), [&] {
    return "as_strided: expected as many strides as sizes, got " + size.str() + " and " + stride.str();
  });
  Spec view = Spec::dense(input.dtype(), size, input.device());
  view.offset = storage_offset.value_or(input.storage_offset());
  bool fits = view.offset >= 0;
  std::int64_t last = view.offset;
  for (int d = 0; d < size.size(); ++d) {
    view.strides[d] = stride[d];
    std::int64_t reach = 0;
    fits = fits && stride[d] >= 0 &&
           !__builtin_mul_overflow(std::max<std::int64_t>(size[d] - 1, 0), stride[d], &reach) &&
           !__builtin_add_overflow(last, reach, &last);
  }
  const std::int64_t room = std::int64_t(input.impl()->storage->bytes) / size_of(input.dtype());
  check<ValueError>(fits && (view.numel == 0 || last < room), [&] {
    return "as_strided: expected a window within the storage of " + std::to_string(room) + " elements, got sizes " +
           size.str() + ", strides " + stride.str() + " and offset " + std::to_string(view.offset);
  });
  view.finish();
  return apply(AsStrided{input.spec(), view}, input);
}

Tensor view_as_real(const Tensor& input) {
  check<DTypeError>(is_complex(input.dtype()),
                    [&] { return "view_as_real: expected a complex tensor, got " + input.spec().str(); });
  check<ShapeError>(input.dim() < kMaxRank,
                    [&] { return "view_as_real: expected fewer dimensions than " + std::to_string(kMaxRank); });
  return apply(ViewAsReal{}, input);
}
Tensor view_as_complex(const Tensor& input) {
  if (const amp::CastScope cast{amp::Name::view_as_complex, input}) return view_as_complex(cast(input));
  const Spec& s = input.spec();
  check<DTypeError>(s.dtype == DType::float32 || s.dtype == DType::float64,
                    [&] { return "view_as_complex: expected float32 or float64, got " + s.str(); });
  bool even = s.rank > 0 && s.shape[s.rank - 1] == 2 && s.strides[s.rank - 1] == 1 && s.offset % 2 == 0;
  for (int d = 0; d + 1 < s.rank; ++d) even = even && (s.strides[d] % 2 == 0 || s.shape[d] == 1);
  check<ShapeError>(even, [&] {
    return "view_as_complex: expected a last dimension of size 2, its elements side by side, got " + s.str();
  });
  return apply(ViewAsComplex{}, input);
}

Tensor view(const Tensor& input, DType dtype) {
  if (dtype == input.dtype()) return view(input, input.shape());
  if (dtype == DType::boolean) {
    const Tensor fit = le(view(input, DType::uint8), 1);
    if (!host_looks(fit)) expect(Rule::bytes, fit);
    else
      check<ValueError>(all(fit).item<bool>(),
                        [] { return std::string("view: expected bytes 0 and 1 for bool, got others; use to()"); });
  }
  return apply(ViewDtype{dtype}, input);
}
Tensor real(const Tensor& input) { return is_complex(input.dtype()) ? select(view_as_real(input), -1, 0) : input; }
Tensor imag(const Tensor& input) {
  check<DTypeError>(is_complex(input.dtype()),
                    [&] { return "imag: expected a complex tensor, got " + input.spec().str(); });
  return select(view_as_real(input), -1, 1);
}

}  // namespace neura

NEURA_DEFINE_OPERATION(diagonal, Diagonal);
NEURA_DEFINE_OPERATION(unfold, Unfold);
NEURA_DEFINE_OPERATION(view_as_real, ViewAsReal);
NEURA_DEFINE_OPERATION(view_as_complex, ViewAsComplex);
NEURA_DEFINE_OPERATION(view_dtype, ViewDtype);
