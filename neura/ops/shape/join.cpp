#include "neura/ops/shape/join.h"

#include "neura/backend/kernels/create.h"
#include "neura/core/checked_int.h"
#include "neura/core/state.h"
#include "neura/op/apply.h"
#include "neura/op/registry.h"
#include "neura/op/safe.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

// Parts of one dtype. More than a list may have are joined in groups: see `joined`.
struct Cat {
  static constexpr Operation op = operation("cat").linear().list(1);
  int dim;
  std::vector<std::int64_t> sizes;  // of the parts along dim
  NEURA_FIELDS(dim, sizes)

  bool is_safe(std::span<const Spec* const> parts) const {
    if (parts.empty() || sizes.size() != parts.size()) return false;
    const Spec& first = *parts[0];
    if (!first.rank || !safe::has_dim(first, dim)) return false;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i]->rank != first.rank || parts[i]->dtype != first.dtype) return false;
      Shape same = parts[i]->sizes();
      if (same[dim] != sizes[i]) return false;
      same[dim] = first.shape[dim];
      if (same != first.sizes()) return false;
    }
    return true;
  }
  void infer(std::span<const Spec* const> parts, Spec& out) const {
    Shape size = parts[0]->sizes();
    size[dim] = 0;
    for (const std::int64_t n : sizes) size[dim] += n;
    out = Spec::dense(parts[0]->dtype, size, parts[0]->device);
  }
  void run(Context& c, std::span<const View> parts, View out) const {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < parts.size(); at += sizes[i++]) {
      Spec window = *out.spec;
      window.shape[dim] = sizes[i];
      window.finish();
      c.backend.create->copy(c, parts[i], View{out.data + at * out.stride(dim) * size_of(out.dtype()), &window});
    }
  }
  void gradient(Gradient& g) const {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < sizes.size(); at += sizes[i++])
      if (g.needs(int(i))) g.result[i] = narrow(g.g[0], dim, at, sizes[i]);
  }
};

Tensor cat_group(const Tensor* parts, std::size_t n, int dim) {
  if (n == 1) return parts[0];
  Cat op{dim, {}};
  for (std::size_t i = 0; i < n; ++i) op.sizes.push_back(parts[i].size(dim));
  return apply_list(op, std::span(parts, n));
}

bool recorded(const TensorList& parts) {
  if (state.active & (kNoGrad | kInference)) return false;
  for (const Tensor& t : parts)
    if (t.requires_grad()) return true;
  return false;
}

// Parts of one dtype whose other sizes agree.
Tensor joined(TensorList parts, int dim) {
  constexpr std::size_t group = kMaxList;
  if (parts.size() > group && !recorded(parts)) {  // nothing to differentiate: each into its place
    Shape size = parts[0].shape();
    size[dim] = 0;
    for (const Tensor& t : parts) size[dim] += t.size(dim);
    Tensor out = empty(size, {.dtype = parts[0].dtype(), .device = parts[0].device()});
    std::int64_t at = 0;
    for (const Tensor& t : parts) {
      Tensor window = narrow(out, dim, at, t.size(dim));
      copy_(window, t);
      at += t.size(dim);
    }
    return out;
  }
  while (parts.size() > group) {
    TensorList groups;
    for (std::size_t i = 0; i < parts.size(); i += group)
      groups.push_back(cat_group(&parts[i], std::min(group, parts.size() - i), dim));
    parts = std::move(groups);
  }
  return parts.size() == 1 ? clone(parts[0]) : cat_group(parts.data(), parts.size(), dim);
}

// Splits before each of `at`, counted from the back where negative, clamped as slices are.
TensorList pieces(const Tensor& x, const std::vector<std::int64_t>& at, int dim) {
  TensorList out;
  std::int64_t from = 0;
  for (std::int64_t to : at) {
    out.push_back(slice(x, dim, from, to));
    from = to;
  }
  out.push_back(slice(x, dim, from));
  return out;
}

int split_dim(const char* op, const Tensor& x, int dim, int least) {
  check<ShapeError>(x.dim() >= least, [&] {
    return std::string(op) + ": expected at least " + std::to_string(least) + " dimensions, got " + x.spec().str();
  });
  return x.dim() == 1 ? 0 : dim;
}
TensorList equal_parts(const char* op, const Tensor& x, std::int64_t sections, int dim) {
  check<ShapeError>(sections > 0 && x.size(dim) % sections == 0, [&] {
    return std::string(op) + ": expected a size along dimension " + std::to_string(dim) + " that is a multiple of " +
           std::to_string(sections) + ", got " + x.spec().str();
  });
  check_room(op, sections, kTensorBytes);
  return tensor_split(x, sections, dim);
}
void check_some(const char* op, const TensorList& tensors) {
  check<ValueError>(!tensors.empty(),
                    [&] { return std::string(op) + ": expected at least one tensor, got an empty list"; });
}
template <class F> TensorList each(const TensorList& tensors, F f) {
  TensorList out;
  for (const Tensor& t : tensors) out.push_back(f(t));
  return out;
}

}  // namespace

Tensor cat(const TensorList& tensors, int dim) {
  check_some("cat", tensors);
  const auto legacy = [](const Tensor& t) { return t.dim() == 1 && t.size(0) == 0; };
  const Tensor* like = &tensors[0];
  DType dtype = tensors[0].dtype();
  for (const Tensor& t : tensors) {
    check<ShapeError>(t.dim() > 0, [&] { return "cat: expected tensors with dimensions, got a 0-d one; use stack"; });
    dtype = promote(dtype, t.dtype());
    if (legacy(*like)) like = &t;
  }
  const int d = wrap_dim("cat", dim, like->dim());
  TensorList parts;
  for (const Tensor& t : tensors) {
    if (legacy(t) && like->dim() != 1) continue;
    bool fits = t.dim() == like->dim();
    for (int i = 0; fits && i < t.dim(); ++i) fits = i == d || t.size(i) == like->size(i);
    check<ShapeError>(fits, [&] {
      return "cat: expected tensors of equal sizes except along dimension " + std::to_string(d) + ", got " +
             like->spec().str() + " and " + t.spec().str();
    });
    check<DeviceError>(t.device() == like->device(), [&] {
      return "cat: expected all tensors on the same device, got " + like->device().str() + " and " + t.device().str() +
             "; move one with .to()";
    });
    parts.push_back(t.dtype() == dtype ? t : t.to(dtype));
  }
  return joined(std::move(parts), d);
}
Tensor concat(const TensorList& tensors, int dim) { return cat(tensors, dim); }
Tensor concatenate(const TensorList& tensors, int dim) { return cat(tensors, dim); }

Tensor stack(const TensorList& tensors, int dim) {
  check_some("stack", tensors);
  const int d = wrap_dim("stack", dim, tensors[0].dim() + 1);
  TensorList parts;
  for (const Tensor& t : tensors) {
    check<ShapeError>(t.spec().same_shape(tensors[0].spec()), [&] {
      return "stack: expected tensors of equal shapes, got " + tensors[0].spec().str() + " and " + t.spec().str();
    });
    parts.push_back(unsqueeze(t, d));
  }
  return cat(parts, d);
}
Tensor hstack(const TensorList& tensors) {
  check_some("hstack", tensors);
  const TensorList parts = each(tensors, atleast_1d);
  return cat(parts, parts[0].dim() == 1 ? 0 : 1);
}
Tensor vstack(const TensorList& tensors) {
  check_some("vstack", tensors);
  return cat(each(tensors, atleast_2d), 0);
}
Tensor dstack(const TensorList& tensors) {
  check_some("dstack", tensors);
  return cat(each(tensors, atleast_3d), 2);
}
Tensor column_stack(const TensorList& tensors) {
  check_some("column_stack", tensors);
  return cat(each(tensors, [](const Tensor& t) { return t.dim() <= 1 ? reshape(t, {t.numel(), 1}) : t; }), 1);
}

Tensor block_diag(const TensorList& tensors) {
  if (tensors.empty()) return empty({1, 0});
  std::int64_t width = 0, at = 0;
  TensorList parts;
  for (const Tensor& t : tensors) {
    check<ShapeError>(t.dim() <= 2,
                      [&] { return "block_diag: expected at most two dimensions, got " + t.spec().str(); });
    parts.push_back(atleast_2d(t));
    width += parts.back().size(1);
  }
  for (Tensor& t : parts) {
    const std::int64_t own = t.size(1);
    t = constant_pad_nd(t, {at, width - at - own});
    at += own;
  }
  return cat(parts, 0);
}

TensorList meshgrid(const TensorList& tensors, const char* indexing) {
  const std::string_view order = indexing;
  check<ValueError>(order == "ij" || order == "xy",
                    [&] { return "meshgrid: expected indexing to be ij or xy, got " + std::string(order); });
  check_some("meshgrid", tensors);
  Shape size;
  for (const Tensor& t : tensors) {
    check<ShapeError>(t.dim() <= 1, [&] { return "meshgrid: expected vectors or numbers, got " + t.spec().str(); });
    check<DeviceError>(t.device() == tensors[0].device(), [&] {
      return "meshgrid: expected all tensors on the same device, got " + tensors[0].device().str() + " and " +
             t.device().str() + "; move one with .to()";
    });
    size.push_back(t.numel());
  }
  const bool swap = order == "xy" && tensors.size() >= 2;
  TensorList out;
  for (int i = 0; i < size.size(); ++i) {
    Shape own = Shape::filled(size.size(), 1);
    own[i] = size[i];
    const Tensor grid = expand(reshape(tensors[std::size_t(i)], own), size);
    out.push_back(swap ? transpose(grid, 0, 1) : grid);
  }
  return out;
}
TensorList broadcast_tensors(const TensorList& tensors) {
  Shape size;
  for (const Tensor& t : tensors) size = broadcast_shapes("broadcast_tensors", size, t.shape());
  return each(tensors, [&](const Tensor& t) { return expand(t, size); });
}
Tensor cartesian_prod(const TensorList& tensors) {
  check_some("cartesian_prod", tensors);
  for (const Tensor& t : tensors)
    check<ShapeError>(t.dim() == 1, [&] { return "cartesian_prod: expected vectors, got " + t.spec().str(); });
  if (tensors.size() == 1) return tensors[0];
  return stack(each(meshgrid(tensors), [](const Tensor& t) { return reshape(t, {-1}); }), 1);
}
// The number of elements of all combinations of r of n, clamped to about 2^62, before memory is asked for.
static std::int64_t selections(std::int64_t n, std::int64_t r, bool with_replacement) {
  if (!with_replacement && r > n) return 0;
  const double most = double(INT64_MAX / 2), from = double(with_replacement ? n + r - 1 : n);
  double ways = double(r);
  for (std::int64_t i = 1, last = std::min(r, std::int64_t(from) - r); i <= last && ways < most; ++i)
    ways *= (from - double(last - i)) / double(i);
  return std::int64_t(std::min(ways, most));
}
Tensor combinations(const Tensor& input, std::int64_t r, bool with_replacement) {
  check<ShapeError>(input.dim() == 1, [&] { return "combinations: expected a vector, got " + input.spec().str(); });
  check<ValueError>(r >= 0, [&] { return "combinations: expected r of at least 0, got " + std::to_string(r); });
  if (r == 0) return empty({0}, {.dtype = input.dtype(), .device = input.device()});
  const std::int64_t n = input.size(0), step = with_replacement ? 0 : 1;
  check_room("combinations", r, 4 * sizeof r);
  check_room("combinations", selections(n, r, with_replacement), 2 * sizeof r);
  std::vector<std::int64_t> at, pick(std::size_t(r), 0);
  for (std::int64_t i = 0; i < r; ++i) pick[std::size_t(i)] = i * step;
  while (n > 0 && pick.back() < n) {  // in order: the last position that can grow does
    at.insert(at.end(), pick.begin(), pick.end());
    std::int64_t i = r - 1;
    while (i > 0 && pick[std::size_t(i)] + 1 + (r - 1 - i) * step >= n) --i;
    ++pick[std::size_t(i)];
    for (std::int64_t j = i + 1; j < r; ++j) pick[std::size_t(j)] = pick[std::size_t(j - 1)] + step;
  }
  const std::int64_t count = std::int64_t(at.size()) / r;
  return reshape(index_select(input, 0, tensor(at, {.device = input.device()})), {count, r});
}

TensorList tensor_split(const Tensor& input, std::int64_t sections, int dim) {
  check<ShapeError>(input.dim() > 0, [&] { return "tensor_split: expected a tensor with dimensions, got a 0-d one"; });
  check<ValueError>(sections > 0,
                    [&] { return "tensor_split: expected sections above 0, got " + std::to_string(sections); });
  const int d = wrap_dim("tensor_split", dim, input.dim());
  check_room("tensor_split", sections, kTensorBytes);
  const std::int64_t least = input.size(d) / sections, longer = input.size(d) % sections;
  std::vector<std::int64_t> at;
  for (std::int64_t i = 1; i < sections; ++i) at.push_back(i * least + std::min(i, longer));
  return pieces(input, at, d);
}
TensorList tensor_split(const Tensor& input, const std::vector<std::int64_t>& indices, int dim) {
  check<ShapeError>(input.dim() > 0, [&] { return "tensor_split: expected a tensor with dimensions, got a 0-d one"; });
  return pieces(input, indices, wrap_dim("tensor_split", dim, input.dim()));
}
TensorList hsplit(const Tensor& x, std::int64_t n) { return equal_parts("hsplit", x, n, split_dim("hsplit", x, 1, 1)); }
TensorList vsplit(const Tensor& x, std::int64_t n) { return equal_parts("vsplit", x, n, split_dim("vsplit", x, 0, 2)); }
TensorList dsplit(const Tensor& x, std::int64_t n) { return equal_parts("dsplit", x, n, split_dim("dsplit", x, 2, 3)); }
TensorList hsplit(const Tensor& x, const std::vector<std::int64_t>& at) {
  return tensor_split(x, at, split_dim("hsplit", x, 1, 1));
}
TensorList vsplit(const Tensor& x, const std::vector<std::int64_t>& at) {
  return tensor_split(x, at, split_dim("vsplit", x, 0, 2));
}
TensorList dsplit(const Tensor& x, const std::vector<std::int64_t>& at) {
  return tensor_split(x, at, split_dim("dsplit", x, 2, 3));
}

}  // namespace neura

NEURA_DEFINE_OPERATION(cat, Cat);
