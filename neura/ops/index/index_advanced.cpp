// Indexing by square brackets, flat positions and masks; nonzero.
#include "neura/core/meta.h"
#include "neura/core/wrapped.h"
#include "neura/op/overwrite.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/index/index_ops.h"
#include "neura/ops/reduce/expect.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

enum class By { index, index_put, take, put, take_along_dim };
constexpr const char* kByNames[] = {"index", "index_put", "take", "put", "take_along_dim"};
constexpr const char* kLinearNames[] = {"positions_index", "positions_index_put", "positions_take", "positions_put",
                                        "positions_take_along_dim"};

// Coordinates become positions; int64 of the common shape.
template <By by> struct Linear {
  static constexpr Operation op = operation(kLinearNames[int(by)]).optional(in(1, 2, 3));
  std::int64_t sizes[4];
  int count;
  NEURA_FIELDS(sizes, count)
  void infer(const Spec& a, const Spec&, const Spec&, const Spec&, Spec& out) const {
    out = Spec::dense(DType::int64, a.sizes(), a.device);
  }
  void run(Context& c, View a, View b, View d, View e, View out) const {
    const View all[] = {a, b, d, e};
    Context told(c.backend, c.device, kByNames[int(by)]);  // the name in errors about an index is the caller's
    c.backend.index->linear(told, all, sizes, count, out);
    hand_on(c, told);
  }
};

// Of up to any number of coordinates, four at a time; they have one shape.
template <By by> Tensor linear(const std::vector<Tensor>& coordinates, const std::vector<std::int64_t>& sizes) {
  Tensor position;
  std::size_t k = 0;
  std::int64_t reached = 1;
  while (!position || k < coordinates.size()) {
    Linear<by> op{{}, 0};
    Tensor in[4];
    if (position) in[op.count] = position, op.sizes[op.count++] = reached;
    for (; op.count < 4 && k < coordinates.size(); ++k) {
      in[op.count] = coordinates[k], op.sizes[op.count++] = sizes[k], reached *= sizes[k];
    }
    position = apply(op, in[0], in[1], in[2], in[3]);
  }
  return position;
}
Tensor flat_positions(By by, const Tensor& index, std::int64_t numel) {
  check<DTypeError>(index.dtype() == DType::int64 || index.dtype() == DType::int32, [&] {
    return std::string(kByNames[int(by)]) + ": expected index of int64, got " + index.spec().str();
  });
  if (by == By::put) return linear<By::put>({index}, {numel});
  return by == By::take ? linear<By::take>({index}, {numel}) : linear<By::take_along_dim>({index}, {numel});
}

// The number of rows of the result, read by the host.
struct CountNonzero {
  static constexpr Operation op = operation("count_nonzero").dynamic();
  NEURA_FIELDS()
  void infer(const Spec&, Spec& count) const { count = Spec::dense(DType::int64, {}); }
  void run(Context& c, View x, View count) const { *count.as<std::int64_t>() = c.backend.index->count_nonzero(c, x); }
};
struct Nonzero {
  static constexpr Operation op = operation("nonzero").dynamic();
  std::int64_t count;
  NEURA_FIELDS(varying(count))
  void infer(const Spec& x, Spec& out) const { out = Spec::dense(DType::int64, Shape{count, x.rank}, x.device); }
  void run(Context& c, View x, View out) const { c.backend.index->nonzero(c, x, out); }
};

// Positions where a mask is set, in the flattened order.
Tensor positions(const Tensor& mask) { return reshape(nonzero(reshape(mask, {-1})), {-1}); }

void check_mask(const char* op, const Tensor& mask) {
  check<DTypeError>(mask.dtype() == DType::boolean, [&] {
    return std::string(op) + ": expected a mask of bool, got " + mask.spec().str() + "; convert it with .to(boolean)";
  });
}

// A parsed index: a view, and integer tensors for some of its dimensions.
struct Brackets {
  Tensor view;
  std::vector<int> dims;        // increasing
  std::vector<Tensor> indices;  // one per entry of dims

  Brackets(const Tensor& input, const std::vector<Index>& list);
  bool advanced() const { return !dims.empty(); }
  void gather_dims();  // the indexed dimensions side by side, from `at`, and the indices of one shape
  Tensor positions(By by) const {
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i < dims.size(); ++i) sizes.push_back(view.size(at + int(i)));
    return by == By::index ? linear<By::index>(indices, sizes) : linear<By::index_put>(indices, sizes);
  }
  Shape sizes(const Shape& middle) const {  // of the view, with the indexed dimensions replaced
    Shape s;
    for (int d = 0; d < at; ++d) s.push_back(view.size(d));
    for (std::int64_t n : middle) s.push_back(n);
    for (int d = at + int(dims.size()); d < view.dim(); ++d) s.push_back(view.size(d));
    return s;
  }
  int at = 0;
  Shape common;  // of the indices

 private:
  void add(int& dim, const Index&);
  void add_tensor(int& dim, const Tensor&);
};

bool is_mask(const Tensor& t) { return t.dtype() == DType::boolean || t.dtype() == DType::uint8; }

Brackets::Brackets(const Tensor& input, const std::vector<Index>& list) : view(input) {
  int used = 0, ellipses = 0;
  for (const Index& i : list) {
    used += i.kind == Index::Kind::integer || i.kind == Index::Kind::slice ? 1 : 0;
    if (i.kind == Index::Kind::tensor) used += is_mask(i.array) ? i.array.dim() : 1;
    ellipses += i.kind == Index::Kind::ellipsis;
  }
  check<IndexError>(ellipses <= 1, [] { return "index: expected at most one Ellipsis, got several"; });
  check<IndexError>(used <= input.dim(), [&] {
    return "index: expected at most " + std::to_string(input.dim()) + " indices for " + input.spec().str() + ", got " +
           std::to_string(used);
  });
  int dim = 0;
  for (const Index& i : list) {
    if (i.kind == Index::Kind::ellipsis) dim += input.dim() - used;
    else add(dim, i);
  }
}

void Brackets::add(int& dim, const Index& i) {
  switch (i.kind) {
    case Index::Kind::none:
      view = unsqueeze(view, dim++);
      break;
    case Index::Kind::integer:
      view = select(view, dim, i.value);
      break;
    case Index::Kind::boolean:
      view = unsqueeze(view, dim);
      dims.push_back(dim++), indices.push_back(zeros({i.value ? 1 : 0}, {.dtype = int64, .device = view.device()}));
      break;
    case Index::Kind::slice:
      check<ValueError>(i.range.step > 0, [&] {
        return "index: expected a slice with a step above 0, got " + std::to_string(i.range.step) + "; use flip";
      });
      view = slice(view, dim++, i.range.start, i.range.stop, i.range.step);
      break;
    default:
      add_tensor(dim, i.array);
  }
}

void Brackets::add_tensor(int& dim, const Tensor& t) {
  check<IndexError>(is_integral(t.dtype()), [&] {
    return "index: expected tensors of integers or bool as indices, got " + t.spec().str() +
           "; convert it with .to(int64)";
  });
  if (!is_mask(t)) {
    if (t.dim() == 0 && !is_wrapped(t)) return add(dim, Index(t.item<std::int64_t>()));
    dims.push_back(dim++);
    indices.push_back(t.dtype() == DType::int64 || t.dtype() == DType::int32 ? t : t.to(DType::int64));
    return;
  }
  if (t.dim() == 0) return add(dim, Index(t.item<bool>()));
  for (int d = 0; d < t.dim(); ++d)
    check<IndexError>(t.size(d) == view.size(dim + d), [&] {
      return "index: expected a mask of the shape of the dimensions it indexes, got mask " + t.spec().str() +
             " at dimension " + std::to_string(dim) + " of " + view.spec().str();
    });
  for (const Tensor& column : nonzero_as_tuple(t)) dims.push_back(dim++), indices.push_back(column);
}

void Brackets::gather_dims() {
  common = indices[0].shape();
  for (const Tensor& t : indices) {
    try {
      common = broadcast_shapes("index", common, t.shape());
    } catch (const ShapeError& e) {  // of indices, not of values: NumPy and torch tell them apart
      throw IndexError(e.what());
    }
  }
  for (Tensor& t : indices) t = expand(t.device().is_cpu() ? t.to(view.device()) : t, common);
  at = dims[0];
  const int n = int(dims.size());
  if (dims.back() - dims[0] + 1 == n) return;
  Dims order;  // not side by side: they come first, as in NumPy
  for (int d : dims) order.push_back(d);
  for (int d = 0; d < view.dim(); ++d)
    if (!order.contains(d)) order.push_back(d);
  view = permute(view, order), at = 0;
}

// In place along the flattened dimensions [at, at + n) of target, or, where these cannot be one, of a copy.
Tensor& write_positions(Write name, Tensor& target, int at, int n, const Tensor& position, const Tensor& source,
                        bool accumulate) {
  const Overwriter by = name == Write::put              ? Overwriter::put
                        : name == Write::masked_scatter ? Overwriter::masked_scatter
                                                        : Overwriter::index_put;
  check_overwrite(by, target);
  Shape flat;
  for (int d = 0; d < at; ++d) flat.push_back(target.size(d));
  flat.push_back(1);
  for (int d = at; d < at + n; ++d) flat[at] *= target.size(d);
  for (int d = at + n; d < target.dim(); ++d) flat.push_back(target.size(d));
  const auto write = [&](Tensor t) { write_as(name, t, at, position, source, accumulate); };
  if (flat == target.shape()) return write(target), target;
  if (view_strides(target.spec(), flat)) return write(neura::view(target, flat)), target;
  const Tensor changed = accumulate ? index_add(reshape(target, flat), at, position, source)
                                    : index_copy(reshape(target, flat), at, position, source);
  return overwrite(by, target, reshape(changed, target.shape()));
}

// value broadcast to `whole` and reshaped to `flat`; a single number stays a single number.
Tensor spread(const char* op, const Tensor& value, const Shape& whole, const Shape& flat) {
  Tensor v = value;
  while (v.dim() > whole.size() && v.size(0) == 1) v = squeeze(v, 0);
  if (v.numel() == 1) return expand(reshape(v, {}), flat);
  check<ShapeError>(v.dim() <= whole.size() && broadcast_shapes(op, v.shape(), whole) == whole, [&] {
    return std::string(op) + ": expected a value that broadcasts to " + whole.str() + ", got " + value.spec().str();
  });
  return reshape(expand(v, whole), flat);
}

}  // namespace

Slice::Slice(std::optional<std::int64_t> from, std::optional<std::int64_t> to, std::int64_t by)
    : start(from.value_or(0)), stop(to.value_or(INT64_MAX)), step(by) {}

Tensor index(const Tensor& input, const std::vector<Index>& list) {
  Brackets b(input, list);
  if (!b.advanced()) return b.view.is_same(input) ? view(input, input.shape()) : b.view;
  b.gather_dims();
  const Tensor position = b.positions(By::index);
  const int last = b.at + int(b.dims.size()) - 1;
  const Tensor flat = last > b.at ? flatten(b.view, b.at, last) : b.view;
  const Tensor out = index_select(flat, b.at, reshape(position, {-1}));
  return b.common.size() == 1 ? out : reshape(out, b.sizes(b.common));
}

// A value of one element under a mask is filled in as a number of any dtype, as in torch.
static bool fills_by_mask(const std::vector<Index>& list, const Tensor& value) {
  if (value.numel() != 1) return false;
  int masks = 0, others = 0;
  for (const Index& i : list)
    if (i.kind == Index::Kind::tensor) ++(i.array.dtype() == DType::boolean ? masks : others);
  return masks == 1 && !others;
}
Tensor& index_put_(Tensor& self, const std::vector<Index>& list, const Tensor& value, bool accumulate) {
  Brackets b(self, list);
  if (!b.advanced()) {
    const Tensor v = spread("index_put", value, b.view.shape(), b.view.shape());
    Tensor target = b.view;
    if (accumulate) add_(target, v);
    else copy_(target, v);
    return self;
  }
  if (value.dtype() != self.dtype() && !accumulate && fills_by_mask(list, value) &&
      (is_complex(self.dtype()) || !is_complex(value.dtype())))
    return index_put_(self, list, to(value, self.dtype()));
  check<DTypeError>(value.dtype() == self.dtype(), [&] {
    return "index_put: expected a value of the dtype of self, got " + self.spec().str() + " and " + value.spec().str() +
           "; convert it with .to()";
  });
  b.gather_dims();
  const Tensor position = reshape(b.positions(By::index_put), {-1});
  const Tensor source = spread("index_put", value, b.sizes(b.common), b.sizes({position.numel()}));
  check_overwrite(Overwriter::index_put, self);
  Tensor target = b.view;
  write_positions(Write::index_put, target, b.at, int(b.dims.size()), position, source, accumulate);
  return self;
}

Tensor take(const Tensor& input, const Tensor& index) {
  const Tensor position = flat_positions(By::take, index, input.numel());
  return reshape(index_select(reshape(input, {-1}), 0, reshape(position, {-1})), index.shape());
}
Tensor& put_(Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  check<ShapeError>(index.numel() == source.numel(), [&] {
    return "put: expected as many elements in index and source, got " + index.spec().str() + " and " +
           source.spec().str();
  });
  const Tensor position = reshape(flat_positions(By::put, index, self.numel()), {-1});
  if (!position.numel()) return self;
  if (self.dim()) return write_positions(Write::put, self, 0, self.dim(), position, reshape(source, {-1}), accumulate);
  check_overwrite(Overwriter::put, self);
  Tensor line = view(self, {1});
  write_positions(Write::put, line, 0, 1, position, reshape(source, {-1}), accumulate);
  return self;
}
Tensor put(const Tensor& input, const Tensor& index, const Tensor& source, bool accumulate) {
  Tensor out = clone(input);
  return put_(out, index, source, accumulate);
}

Tensor take_along_dim(const Tensor& input, const Tensor& indices, std::optional<int> dim) {
  if (!dim) return take_along_dim(reshape(input, {-1}), reshape(indices, {-1}), 0);
  check<ShapeError>(input.dim() == indices.dim(), [&] {
    return "take_along_dim: expected as many dimensions in input and indices, got " + input.spec().str() + " and " +
           indices.spec().str();
  });
  const int d = wrap_dim("take_along_dim", *dim, input.dim());
  const Tensor at = flat_positions(By::take_along_dim, indices, input.dim() ? input.size(d) : 1);
  if (!input.dim()) return gather(input, 0, at);
  Shape a = input.shape(), b = indices.shape();
  a[d] = b[d] = 1;
  Shape whole = broadcast_shapes("take_along_dim", a, b);
  Shape from = whole, to = whole;
  from[d] = input.size(d), to[d] = indices.size(d);
  return gather(expand(input, from), d, expand(at, to));
}

Tensor masked_select(const Tensor& input, const Tensor& mask) {
  check_mask("masked_select", mask);
  const Shape size = broadcast_shapes("masked_select", input.shape(), mask.shape());
  return index_select(reshape(expand(input, size), {-1}), 0, positions(expand(mask, size)));
}

Tensor& masked_scatter_(Tensor& self, const Tensor& mask, const Tensor& source) {
  check_mask("masked_scatter", mask);
  check<DTypeError>(self.dtype() == source.dtype(), [&] {
    return "masked_scatter: expected self and source of one dtype, got " + self.spec().str() + " and " +
           source.spec().str();
  });
  check_overwrite(Overwriter::masked_scatter, self);
  const Tensor position = positions(expand(mask, self.shape()));
  const std::int64_t n = position.numel();
  check<ShapeError>(n <= source.numel(), [&] {
    return "masked_scatter: expected at least " + std::to_string(n) + " elements in source, got " + source.spec().str();
  });
  if (!n) return self;
  const Tensor values = narrow(reshape(source, {-1}), 0, 0, n);
  if (self.dim()) return write_positions(Write::masked_scatter, self, 0, self.dim(), position, values, false);
  Tensor line = view(self, {1});
  write_positions(Write::masked_scatter, line, 0, 1, position, values, false);
  return self;
}
Tensor masked_scatter(const Tensor& input, const Tensor& mask, const Tensor& source) {
  const Shape size = broadcast_shapes("masked_scatter", input.shape(), mask.shape());
  Tensor out = clone(expand(input, size));
  if (!out.is_contiguous()) out = contiguous(out);
  return masked_scatter_(out, mask, source);
}

Tensor nonzero(const Tensor& input) {
  check_values("nonzero", input.device(), input.spec());
  const Tensor x = contiguous(input.detach());
  return apply(Nonzero{apply(CountNonzero(), x).item<std::int64_t>()}, x);
}
std::vector<Tensor> nonzero_as_tuple(const Tensor& input) {
  const Tensor x = input.dim() ? input : reshape(input, {1});
  const Tensor all = nonzero(x);
  std::vector<Tensor> columns;
  for (int d = 0; d < x.dim(); ++d) columns.push_back(select(all, 1, d));
  return columns;
}
Tensor nonzero_static(const Tensor& input, std::int64_t size, std::int64_t fill_value) {
  check<ValueError>(size >= 0,
                    [&] { return "nonzero_static: expected a size of at least 0, got " + std::to_string(size); });
  Tensor out = full({size, input.dim()}, fill_value, {.dtype = int64, .device = input.device()});
  if (is_meta(input.device())) return out;
  Tensor all = nonzero(input);
  const std::int64_t n = std::min(size, all.size(0));
  Tensor part = narrow(out, 0, 0, n);
  copy_(part, narrow(all, 0, 0, n));
  return out;
}
Tensor argwhere(const Tensor& input) { return nonzero(input); }
std::vector<Tensor> where(const Tensor& condition) { return nonzero_as_tuple(condition); }

std::vector<Tensor> unravel_index(const Tensor& indices, const Shape& shape) {
  check<DTypeError>(is_integral(indices.dtype()) && indices.dtype() != DType::boolean,
                    [&] { return "unravel_index: expected indices of an integer dtype, got " + indices.spec().str(); });
  std::vector<Tensor> out(std::size_t(shape.size()));
  Tensor rest = indices.to(DType::int64);
  for (int d = shape.size() - 1; d >= 0; --d) {
    check<ValueError>(shape[d] >= 0, [&] { return "unravel_index: expected sizes of at least 0, got " + shape.str(); });
    out[std::size_t(d)] = remainder(rest, shape[d]);
    rest = floor_divide(rest, shape[d]);
  }
  return out;
}

}  // namespace neura

NEURA_DEFINE_OPERATION(positions_index, Linear<By::index>);
NEURA_DEFINE_OPERATION(positions_index_put, Linear<By::index_put>);
NEURA_DEFINE_OPERATION(positions_take, Linear<By::take>);
NEURA_DEFINE_OPERATION(positions_put, Linear<By::put>);
NEURA_DEFINE_OPERATION(positions_take_along_dim, Linear<By::take_along_dim>);
NEURA_DEFINE_OPERATION(count_nonzero, CountNonzero);
NEURA_DEFINE_OPERATION(nonzero, Nonzero);
