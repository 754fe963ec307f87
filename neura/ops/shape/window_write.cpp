// Writes into a window of a tensor: diagonals, the scatter forms of views, padding.
#include "neura/core/checked_int.h"
#include "neura/op/cast_scope.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/strided.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

Spec diagonal_window(const char* op, Spec s, std::int64_t offset, int dim1, int dim2) {
  const int a = wrap_dim(op, dim1, s.rank), b = wrap_dim(op, dim2, s.rank);
  check<ValueError>(a != b && s.rank >= 2,
                    [&] { return std::string(op) + ": expected two different dimensions of " + s.str(); });
  const std::int64_t rows = s.shape[a], cols = s.shape[b];
  const std::int64_t n =
      std::max<std::int64_t>(0, offset >= 0 ? std::min(rows, cols - offset) : std::min(rows + offset, cols));
  const std::int64_t step = s.strides[a] + s.strides[b];
  if (n) s.offset += offset >= 0 ? offset * s.strides[b] : -offset * s.strides[a];
  int rank = 0;
  for (int d = 0; d < s.rank; ++d)
    if (d != a && d != b) s.shape[rank] = s.shape[d], s.strides[rank++] = s.strides[d];
  s.shape[rank] = n, s.strides[rank++] = step;
  s.rank = std::uint8_t(rank);
  s.finish();
  return s;
}

Tensor put_window(const char* op, const Tensor& input, const Tensor& src, const Spec& base, const Spec& window) {
  check<ShapeError>(src.spec().same_shape(window), [&] {
    return std::string(op) + ": expected src of shape " + window.sizes().str() + ", got " + src.spec().str();
  });
  return apply(StridedPut{base, window}, input, src.dtype() == input.dtype() ? src : src.to(input.dtype()));
}
Spec whole(const Tensor& t) { return Spec::dense(t.dtype(), t.shape(), t.device()); }

// Positions in a dimension of `size` that each element of the padded one is copied from.
std::vector<std::int64_t> sources(std::string_view mode, std::int64_t size, std::int64_t before, std::int64_t after) {
  std::vector<std::int64_t> at;
  at.reserve(std::size_t(before + size + after));
  for (std::int64_t i = -before; i < size + after; ++i) {
    if (mode == "replicate") at.push_back(std::clamp<std::int64_t>(i, 0, size - 1));
    else if (mode == "reflect") at.push_back(i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i);
    else at.push_back((i % size + size) % size);
  }
  return at;
}

std::string text(const std::vector<std::int64_t>& pad) { return str(std::span<const std::int64_t>(pad)); }

}  // namespace

Tensor diag_embed(const Tensor& input, std::int64_t offset, int dim1, int dim2) {
  check<ShapeError>(input.dim() >= 1,
                    [&] { return "diag_embed: expected at least one dimension, got " + input.spec().str(); });
  const int rank = input.dim() + 1, a = wrap_dim("diag_embed", dim1, rank), b = wrap_dim("diag_embed", dim2, rank);
  check<ValueError>(
      a != b, [&] { return "diag_embed: expected two different dimensions, got " + std::to_string(dim1) + " twice"; });
  const std::int64_t n = (input.size(-1) + (offset < 0 ? 0 - CheckedInt(offset) : offset)).of("diag_embed");
  Shape size = input.shape();
  size.erase(input.dim() - 1);
  size.insert(std::min(a, b), n), size.insert(std::max(a, b), n);
  const Spec base = Spec::dense(input.dtype(), size, input.device());
  return apply(StridedSum{base, diagonal_window("diag_embed", base, offset, a, b)}, input);
}
Tensor diag(const Tensor& input, std::int64_t diagonal) {
  check<ShapeError>(input.dim() == 1 || input.dim() == 2,
                    [&] { return "diag: expected one or two dimensions, got " + input.spec().str(); });
  return input.dim() == 1 ? diag_embed(input, diagonal) : clone(neura::diagonal(input, int(diagonal)));
}
Tensor diagflat(const Tensor& input, std::int64_t offset) { return diag_embed(reshape(input, {-1}), offset); }

Tensor diagonal_scatter(const Tensor& input, const Tensor& src, std::int64_t offset, int dim1, int dim2) {
  const Spec base = whole(input);
  return put_window("diagonal_scatter", input, src, base,
                    diagonal_window("diagonal_scatter", base, offset, dim1, dim2));
}
Tensor select_scatter(const Tensor& input, const Tensor& src, int dim, std::int64_t index) {
  check<ShapeError>(input.dim() > 0,
                    [&] { return "select_scatter: expected a tensor with dimensions, got a 0-d one"; });
  const Spec base = whole(input);
  const int d = wrap_dim("select_scatter", dim, input.dim());
  const std::int64_t size = input.size(d), at = index < 0 ? index + size : index;
  check<IndexError>(at >= 0 && at < size, [&] {
    return "select_scatter: expected an index from " + std::to_string(-size) + " to " + std::to_string(size - 1) +
           ", got " + std::to_string(index);
  });
  Spec window = base;
  window.offset += at * base.strides[d], --window.rank;
  std::copy(base.shape + d + 1, base.shape + base.rank, window.shape + d);
  std::copy(base.strides + d + 1, base.strides + base.rank, window.strides + d);
  window.finish();
  return put_window("select_scatter", input, src, base, window);
}
Tensor slice_scatter(const Tensor& input, const Tensor& src, int dim, std::optional<std::int64_t> start,
                     std::optional<std::int64_t> end, std::int64_t step) {
  check<ShapeError>(input.dim() > 0, [&] { return "slice_scatter: expected a tensor with dimensions, got a 0-d one"; });
  check<ValueError>(step > 0, [&] { return "slice_scatter: expected a step above 0, got " + std::to_string(step); });
  const Spec base = whole(input);
  const int d = wrap_dim("slice_scatter", dim, input.dim());
  const std::int64_t size = input.size(d);
  const auto clamped = [&](std::int64_t i) { return std::clamp<std::int64_t>(i < 0 ? i + size : i, 0, size); };
  const std::int64_t from = clamped(start.value_or(0)), to = std::max(from, clamped(end.value_or(size)));
  Spec window = base;
  window.offset += from * base.strides[d];
  window.shape[d] = (to - from + step - 1) / step, window.strides[d] *= step;
  window.finish();
  return put_window("slice_scatter", input, src, base, window);
}
Tensor as_strided_scatter(const Tensor& input, const Tensor& src, const Shape& size, const Shape& stride,
                          std::int64_t storage_offset) {
  check<ShapeError>(size.size() == stride.size(), [&] {
    return "as_strided_scatter: expected as many strides as sizes, got " + size.str() + " and " + stride.str();
  });
  const Spec base = whole(input);
  Spec window = Spec::dense(input.dtype(), size, input.device());
  std::copy(stride.begin(), stride.end(), window.strides);
  window.offset = storage_offset;
  window.finish();
  bool inside = storage_offset >= 0;
  CheckedInt end = CheckedInt(storage_offset) + 1;
  for (int d = 0; d < size.size(); ++d) {
    inside = inside && stride[d] >= 0;
    end = end + CheckedInt(std::max<std::int64_t>(size[d] - 1, 0)) * stride[d];
  }
  inside = inside && end.fits();
  check<ShapeError>(inside && (!window.numel || end.of("as_strided_scatter") <= base.numel), [&] {
    return "as_strided_scatter: expected a window inside of " + base.str() + ", got size " + size.str() + ", stride " +
           stride.str() + ", storage_offset " + std::to_string(storage_offset);
  });
  return put_window("as_strided_scatter", input, src, base, window);
}

Tensor constant_pad_nd(const Tensor& input, const std::vector<std::int64_t>& pad, Scalar value) {
  check<ShapeError>(pad.size() % 2 == 0 && pad.size() <= 2 * std::size_t(input.dim()), [&] {
    return "pad: expected pairs of numbers for at most " + std::to_string(input.dim()) + " dimensions, got " +
           text(pad) + " for " + input.spec().str();
  });
  Shape size = input.shape();
  Tensor part = input;
  std::int64_t before[kMaxRank] = {};
  for (std::size_t i = 0; i < pad.size() / 2; ++i) {
    const int d = input.dim() - 1 - int(i);
    const std::int64_t b = pad[2 * i], a = pad[2 * i + 1];
    size[d] = (size[d] + CheckedInt(a) + b).of("pad");
    check<ShapeError>(size[d] >= 0 && a >= -input.size(d) && b >= -input.size(d), [&] {
      return "pad: expected to cut off no more than there is, got " + input.spec().str() + " and " + text(pad);
    });
    // The overlap of the input and the result.
    const std::int64_t from = std::max<std::int64_t>(0, -b),
                       to = std::max(from, std::min(input.size(d), input.size(d) + a));
    if (from || to != input.size(d)) part = narrow(part, d, from, to - from);
    before[d] = std::max<std::int64_t>(0, b);
  }
  const Spec base = Spec::dense(input.dtype(), size, input.device());
  Spec window = base;
  for (int d = 0; d < base.rank; ++d) window.shape[d] = part.size(d), window.offset += before[d] * base.strides[d];
  window.finish();
  if (window.numel == 0) window.offset = 0;
  if (part.shape() == size) return clone(part);
  if (!value.is_complex() && value.real() == 0) return apply(StridedSum{base, window}, part);
  return apply(StridedPut{base, window}, full(size, value, {.dtype = input.dtype(), .device = input.device()}), part);
}

Tensor pad(const Tensor& input, const std::vector<std::int64_t>& pad, std::string_view mode, Scalar value) {
  if (mode == "constant") return constant_pad_nd(input, pad, value);
  check<ValueError>(mode == "reflect" || mode == "replicate" || mode == "circular", [&] {
    return "pad: expected mode constant, reflect, replicate or circular, got " + std::string(mode);
  });
  const int n = int(pad.size() / 2);
  check<ShapeError>(pad.size() % 2 == 0 && n >= 1 && n <= 3 && (input.dim() == n + 1 || input.dim() == n + 2), [&] {
    return "pad: expected, for mode " + std::string(mode) +
           ", pairs of numbers for the last one to three dimensions of an " +
           "input with one or two dimensions more, got " + text(pad) + " for " + input.spec().str();
  });
  if (mode == "replicate" || (mode == "reflect" && n < 3))
    if (const amp::CastScope cast{mode == "reflect" ? amp::Name::reflection_pad2d : amp::Name::replication_pad, input})
      return neura::pad(cast(input), pad, mode);
  Tensor x = input;
  for (int i = 0; i < n; ++i) {
    const int d = input.dim() - 1 - i;
    std::int64_t before = pad[std::size_t(2 * i)], after = pad[std::size_t(2 * i + 1)];
    const bool circular = mode == "circular";
    const std::int64_t padded = (CheckedInt(input.size(d)) + before + after).of("pad");
    const std::int64_t size =
        input.size(d) + (circular ? std::min<std::int64_t>(before, 0) + std::min<std::int64_t>(after, 0) : 0);
    const std::int64_t limit = mode == "reflect" ? size - 1 : circular ? size : INT64_MAX;
    check<ShapeError>(size > 0 && before <= limit && after <= limit && padded > 0, [&] {
      return "pad: expected, for mode " + std::string(mode) + ", padding of at most " + std::to_string(limit) +
             " for size " + std::to_string(size) + " and a result that is not empty, got " + text(pad) + " for " +
             input.spec().str();
    });
    if (circular && size < input.size(d)) {  // elements that are cut off do not reappear on the other side
      x = narrow(x, d, std::max<std::int64_t>(-before, 0), size);
      before = std::max<std::int64_t>(before, 0), after = std::max<std::int64_t>(after, 0);
    }
    check_room("pad", padded, sizeof padded);
    if (before || after) x = index_select(x, d, tensor(sources(mode, size, before, after), {.device = input.device()}));
  }
  return x.impl()->storage == input.impl()->storage ? clone(x) : x;
}

Tensor& fill_diagonal_(Tensor& self, Scalar fill_value, bool wrap) {
  const int rank = self.dim();
  const std::int64_t rows = rank ? self.size(0) : 0;
  bool square = true;
  for (int d = 0; d < rank; ++d) square = square && self.size(d) == rows;
  check<ShapeError>(rank == 2 || (rank > 2 && square), [&] {
    return "fill_diagonal_: expected a matrix, or more dimensions of one size, got " + self.spec().str();
  });
  const std::int64_t columns = self.size(1), offset = self.storage_offset();
  std::int64_t step = 0;
  for (const std::int64_t s : self.strides()) step += s;
  const auto fill = [&](const Shape& size, const Shape& stride, std::int64_t at) {
    Tensor diagonal = as_strided(self, size, stride, at);
    fill_(diagonal, fill_value);
  };
  if (!wrap || rank > 2 || rows <= columns + 1) {
    fill({std::min(rows, columns)}, {step}, offset);
    return self;
  }
  // One diagonal for every columns + 1 rows, and what is left of another one.
  const std::int64_t blocks = rows / (columns + 1), below = self.strides()[0] * (columns + 1);
  fill({blocks, columns}, {below, step}, offset);
  if (const std::int64_t rest = rows % (columns + 1)) fill({std::min(rest, columns)}, {step}, offset + blocks * below);
  return self;
}

}  // namespace neura
