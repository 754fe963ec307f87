#include "neura/ops/shape/view.h"

#include <string>

#include "neura/core/checked_int.h"
#include "neura/op/registry.h"
#include "neura/op/safe.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/shape/strided.h"

namespace neura {
namespace {

struct Permute {
  static constexpr Operation op = operation("permute");
  Shape dims;  // a permutation
  NEURA_FIELDS(dims)
  bool is_safe(const Spec& x) const { return dims.size() == x.rank && safe::has_dims(x, dims); }
  void infer(const Spec& x, Spec& y) const {
    y = x;
    for (int i = 0; i < dims.size(); ++i) y.shape[i] = x.shape[dims[i]], y.strides[i] = x.strides[dims[i]];
  }
  void gradient(Gradient& g) const {
    Shape back = dims;
    for (int i = 0; i < dims.size(); ++i) back[int(dims[i])] = i;
    g.result[0] = apply(Permute{back}, g.g[0]);
  }
};
struct Select {
  static constexpr Operation op = operation("select");
  int dim;
  std::int64_t index;
  NEURA_FIELDS(dim, index)
  bool is_safe(const Spec& x) const {
    return x.rank && safe::has_dim(x, dim) && safe::is_between(index, 0, x.shape[dim] - 1);
  }
  void infer(const Spec& x, Spec& y) const {
    y = x, y.offset += index * x.strides[dim], --y.rank;
    std::copy(x.shape + dim + 1, x.shape + x.rank, y.shape + dim);
    std::copy(x.strides + dim + 1, x.strides + x.rank, y.strides + dim);
  }
  void gradient(Gradient& g) const { scatter_view(g, *this); }
};
struct Unbind : Select {
  static constexpr Operation op = operation("unbind").locks_views();
};
struct Slice {
  static constexpr Operation op = operation("slice");
  int dim;
  std::int64_t start, end, step;
  NEURA_FIELDS(dim, start, end, step)
  bool is_safe(const Spec& x) const {
    return x.rank && safe::has_dim(x, dim) && safe::is_between(end, 0, x.shape[dim]) &&
           safe::is_between(start, 0, end) && safe::is_between(step, 1, safe::kMost) &&
           (CheckedInt(x.strides[dim]) * step).fits();
  }
  void infer(const Spec& x, Spec& y) const {
    y = x, y.offset += start * x.strides[dim];
    y.shape[dim] = (end - start + step - 1) / step, y.strides[dim] *= step;
  }
  void gradient(Gradient& g) const { scatter_view(g, *this); }
};
struct Split : Slice {
  static constexpr Operation op = operation("split").locks_views();
};
struct ViewOp {
  static constexpr Operation op = operation("view");
  Shape to;
  NEURA_FIELDS(to)
  bool is_safe(const Spec& x) const {
    CheckedInt n = 1;
    for (const std::int64_t size : to) {
      if (size < 0) return false;
      n = n * size;
    }
    return n.fits() && n.of(op.name) == x.numel && (x.contiguous || view_strides(x, to));
  }
  void infer(const Spec& x, Spec& y) const {
    y = Spec::dense(x.dtype, to, x.device), y.offset = x.offset;
    if (x.contiguous) return;
    const Shape strides = *view_strides(x, to);  // the function has seen that there are some
    std::copy(strides.begin(), strides.end(), y.strides);
  }
  void gradient(Gradient& g) const { g.result[0] = reshape(g.g[0], g.meta[0]->sizes()); }
};
struct Expand {
  static constexpr Operation op = operation("expand");
  Shape to;
  NEURA_FIELDS(to)
  bool is_safe(const Spec& x) const {
    if (to.size() < x.rank) return false;
    for (int d = 0; d < x.rank; ++d)
      if (x.shape[d] != 1 && x.shape[d] != to[to.size() - x.rank + d]) return false;
    return true;
  }
  void infer(const Spec& x, Spec& y) const {
    y = Spec::dense(x.dtype, to, x.device), y.offset = x.offset;
    for (int i = 0; i < to.size(); ++i) {
      const int j = i - (to.size() - x.rank);
      y.strides[i] = j < 0 || (x.shape[j] == 1 && to[i] != 1) ? 0 : x.strides[j];
    }
  }
  void gradient(Gradient& g) const { g.result[0] = g.g[0]; }  // fit_gradient sums
};
}  // namespace

Shape infer_size(const char* op, const Shape& shape, std::int64_t numel) {
  Shape out = shape;
  int open = -1;
  CheckedInt product = 1;
  const auto refuse = [&](bool ok) {
    check<ShapeError>(ok, [&] {
      return std::string(op) + ": expected sizes with " + std::to_string(numel) +
             " elements, at most one of them -1, got " + shape.str();
    });
  };
  for (int i = 0; i < out.size(); ++i) {
    refuse(out[i] >= 0 || (out[i] == -1 && open < 0));
    if (out[i] < 0) open = i;
    else product = product * out[i];
  }
  refuse(product.fits());
  const std::int64_t known = product.of(op);
  if (open >= 0) refuse(known != 0 && numel % known == 0), out[open] = numel / known;
  else refuse(known == numel);
  return out;
}

std::optional<Shape> view_strides(const Spec& x, const Shape& shape) {
  Shape strides = calculate_strides(shape), sizes, steps;
  if (x.contiguous) return strides;
  for (int d = 0; d < x.rank; ++d)
    if (x.shape[d] != 1) sizes.push_back(x.shape[d]), steps.push_back(x.strides[d]);  // a size of 1 joins any run
  int to = shape.size() - 1;
  std::int64_t elements = 1, step = steps.back();  // of a run of x's dimensions that are mergeable
  for (int d = sizes.size() - 1; d >= 0; --d) {
    elements *= sizes[d];
    if (d > 0 && steps[d - 1] == sizes[d] * steps[d]) continue;
    std::int64_t taken = 1;
    while (to >= 0 && (taken < elements || shape[to] == 1)) strides[to] = taken * step, taken *= shape[to--];
    if (taken != elements) return {};
    if (d > 0) elements = 1, step = steps[d - 1];
  }
  return strides;
}

Tensor view(const Tensor& input, const Shape& shape) {
  const Shape to = infer_size("view", shape, input.numel());
  check<ShapeError>(input.is_contiguous() || view_strides(input.spec(), to), [&] {
    return "view: expected sizes that the strides allow, got " + to.str() + " of " + input.spec().str() +
           " with strides " + input.strides().str() +
           "; use reshape, which copies where it must, or contiguous() first";
  });
  return apply(ViewOp{to}, input);
}
Tensor reshape(const Tensor& input, const Shape& shape, bool strict) {
  const Shape to = infer_size("reshape", shape, input.numel());
  if (strict || input.is_contiguous() || view_strides(input.spec(), to)) return view(input, to);
  return apply(ViewOp{to}, contiguous(input));
}
Tensor flatten(const Tensor& input, int start_dim, int end_dim) {
  const int a = wrap_dim("flatten", start_dim, input.dim()), b = wrap_dim("flatten", end_dim, input.dim());
  check<ShapeError>(a <= b, [&] {
    return "flatten: expected start_dim before end_dim, got " + std::to_string(a) + " and " + std::to_string(b);
  });
  if (input.dim() == 0) return reshape(input, {1});
  if (a == b) return input;
  Shape to;
  std::int64_t merged = 1;
  for (int d = 0; d < input.dim(); ++d) {
    if (d < a || d > b) to.push_back(input.size(d));
    else if (merged *= input.size(d); d == b) to.push_back(merged);
  }
  return reshape(input, to);
}
Tensor unflatten(const Tensor& input, int dim, const Shape& sizes) {
  const int d = wrap_dim("unflatten", dim, input.dim());
  check<ValueError>(!sizes.empty(), [] { return "unflatten: expected at least one size, got none"; });
  const Shape inner = infer_size("unflatten", sizes, input.size(d));
  Shape to;
  for (int i = 0; i < input.dim(); ++i) {
    if (i != d) to.push_back(input.size(i));
    else
      for (std::int64_t s : inner) to.push_back(s);
  }
  return view(input, to);
}

Tensor permute(const Tensor& input, const Dims& dims) {
  Shape order;
  check<ShapeError>(dims.size() == input.dim(), [&] {
    return "permute: expected each of " + std::to_string(input.dim()) + " dimensions once, got " + dims.str();
  });
  for (std::int64_t d : dims) {
    const int at = wrap_dim("permute", d, input.dim());
    check<ShapeError>(!order.contains(at), [&] { return "permute: expected each dimension once, got " + dims.str(); });
    order.push_back(at);
  }
  return apply(Permute{order}, input);
}
Tensor transpose(const Tensor& input, int dim0, int dim1) {
  const int a = wrap_dim("transpose", dim0, input.dim()), b = wrap_dim("transpose", dim1, input.dim());
  Shape order;
  for (int d = 0; d < input.dim(); ++d) order.push_back(d);
  if (input.dim()) std::swap(order[a], order[b]);
  return apply(Permute{order}, input);
}
Tensor t(const Tensor& input) {
  check<ShapeError>(input.dim() <= 2, [&] {
    return "t: expected at most two dimensions, got " + input.spec().str() + "; use mT or permute";
  });
  return input.dim() < 2 ? apply(Permute{input.dim() ? Shape{0} : Shape{}}, input) : transpose(input, 0, 1);
}
Tensor mT(const Tensor& input) {
  check<ShapeError>(input.dim() >= 2,
                    [&] { return "mT: expected at least two dimensions, got " + input.spec().str(); });
  return transpose(input, -2, -1);
}
Tensor movedim(const Tensor& input, const Dims& source, const Dims& destination) {
  check<ShapeError>(source.size() == destination.size(), [&] {
    return "movedim: expected as many destinations as sources, got " + source.str() + " and " + destination.str();
  });
  const int rank = input.dim();
  Shape order = Shape::filled(rank, -1), moved;
  for (int i = 0; i < source.size(); ++i) {
    const int from = wrap_dim("movedim", source[i], rank), to = wrap_dim("movedim", destination[i], rank);
    if (rank == 0) continue;
    check<ShapeError>(!moved.contains(from) && order[to] < 0, [&] {
      return "movedim: expected each dimension once, got " + source.str() + " and " + destination.str();
    });
    order[to] = from, moved.push_back(from);
  }
  int next = 0;
  for (int d = 0; d < rank; ++d) {
    if (order[d] >= 0) continue;
    while (moved.contains(next)) ++next;
    order[d] = next++;
  }
  return apply(Permute{order}, input);
}

Tensor expand(const Tensor& input, const Shape& shape) {
  Shape to = shape;
  const auto refuse = [&](bool ok) {
    check<ShapeError>(ok, [&] {
      return "expand: expected sizes that " + input.spec().str() + " broadcasts to, got " + shape.str() +
             "; only a size of 1 grows, -1 keeps one";
    });
  };
  refuse(to.size() >= input.dim());
  for (int i = 0; i < to.size(); ++i) {
    const int j = i - (to.size() - input.dim());
    if (to[i] == -1) refuse(j >= 0), to[i] = input.size(j);
    refuse(to[i] >= 0 && (j < 0 || input.size(j) == 1 || input.size(j) == to[i]));
  }
  return apply(Expand{to}, input);
}
Tensor unsqueeze(const Tensor& input, int dim) {
  const int d = wrap_dim("unsqueeze", dim, input.dim() + 1);
  Shape to = input.shape();
  to.insert(d, 1);
  return apply(ViewOp{to}, input);
}
Tensor squeeze(const Tensor& input, const Dims& dim) {
  bool named[kMaxRank] = {};
  for (std::int64_t d : dim) {
    const int at = wrap_dim("squeeze", d, input.dim());
    check<ShapeError>(!named[at], [&] { return "squeeze: expected each dimension once, got " + dim.str(); });
    named[at] = true;
  }
  Shape to;
  for (int d = 0; d < input.dim(); ++d)
    if (input.size(d) != 1 || (!dim.empty() && !named[d])) to.push_back(input.size(d));
  return apply(ViewOp{to}, input);
}

Tensor select(const Tensor& input, int dim, std::int64_t index) {
  check<IndexError>(input.dim() > 0,
                    [] { return "select: expected a tensor with dimensions, got a 0-d one; use item()"; });
  const int d = wrap_dim("select", dim, input.dim());
  const std::int64_t size = input.size(d), at = index < 0 ? index + size : index;
  check<IndexError>(at >= 0 && at < size, [&] {
    return "select: expected an index from " + std::to_string(-size) + " to " + std::to_string(size - 1) +
           " for dimension " + std::to_string(d) + " of " + input.spec().str() + ", got " + std::to_string(index);
  });
  return apply(Select{d, at}, input);
}
Tensor slice(const Tensor& input, int dim, std::int64_t start, std::int64_t end, std::int64_t step) {
  check<ShapeError>(input.dim() > 0, [] { return "slice: expected a tensor with dimensions, got a 0-d one"; });
  const int d = wrap_dim("slice", dim, input.dim());
  check<ValueError>(step > 0, [&] {
    return "slice: expected a step of 1 or more, got " + std::to_string(step) + "; use flip to go backwards";
  });
  const std::int64_t size = input.size(d);
  start = std::clamp<std::int64_t>(start < 0 ? start + size : start, 0, size);
  end = std::clamp<std::int64_t>(end < 0 ? end + size : end, start, size);
  return apply(Slice{d, start, end, std::min(step, std::max<std::int64_t>(size, 1))}, input);
}
Tensor narrow(const Tensor& input, int dim, std::int64_t start, std::int64_t length) {
  check<ShapeError>(input.dim() > 0, [] { return "narrow: expected a tensor with dimensions, got a 0-d one"; });
  const int d = wrap_dim("narrow", dim, input.dim());
  const std::int64_t size = input.size(d), at = start < 0 ? start + size : start;
  check<IndexError>(at >= 0 && length >= 0 && at <= size && length <= size - at, [&] {
    return "narrow: expected start and length within dimension " + std::to_string(d) + " of " + input.spec().str() +
           ", got start " + std::to_string(start) + " and length " + std::to_string(length);
  });
  return apply(Slice{d, at, at + length, 1}, input);
}
std::vector<Tensor> unbind(const Tensor& input, int dim) {
  check<IndexError>(input.dim() > 0, [] { return "unbind: expected a tensor with dimensions, got a 0-d one"; });
  const int d = wrap_dim("unbind", dim, input.dim());
  std::vector<Tensor> parts;
  check_room("unbind", input.dim() ? input.size(d) : 1, kTensorBytes);
  for (std::int64_t i = 0; i < input.size(d); ++i) parts.push_back(apply(Unbind{{d, i}}, input));
  return parts;
}
std::vector<Tensor> split(const Tensor& input, const std::vector<std::int64_t>& sizes, int dim) {
  check<ShapeError>(input.dim() > 0, [] { return "split: expected a tensor with dimensions, got a 0-d one"; });
  const int d = wrap_dim("split", dim, input.dim());
  CheckedInt sum = 0;
  bool valid = true;
  for (std::int64_t s : sizes) valid = valid && s >= 0, sum = sum + s;
  check<ValueError>(valid && sum.fits() && sum.of("split") == input.size(d), [&] {
    return "split: expected sizes that add up to " + std::to_string(input.size(d)) + ", got " +
           str(std::span<const std::int64_t>(sizes));
  });
  std::vector<Tensor> parts;
  std::int64_t at = 0;
  for (std::int64_t s : sizes) parts.push_back(apply(Split{{d, at, at + s, 1}}, input)), at += s;
  return parts;
}
std::vector<Tensor> split(const Tensor& input, std::int64_t split_size, int dim) {
  check<ShapeError>(input.dim() > 0, [] { return "split: expected a tensor with dimensions, got a 0-d one"; });
  const std::int64_t size = input.size(wrap_dim("split", dim, input.dim()));
  check<ValueError>(split_size > 0 || (split_size == 0 && size == 0),
                    [&] { return "split: expected a size of 1 or more, got " + std::to_string(split_size); });
  std::vector<std::int64_t> sizes;
  if (split_size) check_room("split", size / split_size, kTensorBytes);
  for (std::int64_t at = 0; at < size; at += split_size) sizes.push_back(std::min(split_size, size - at));
  if (sizes.empty()) sizes.push_back(0);
  return split(input, sizes, dim);
}
std::vector<Tensor> chunk(const Tensor& input, std::int64_t chunks, int dim) {
  check<ShapeError>(input.dim() > 0, [] { return "chunk: expected a tensor with dimensions, got a 0-d one"; });
  check<ValueError>(chunks > 0, [&] { return "chunk: expected 1 chunk or more, got " + std::to_string(chunks); });
  const std::int64_t size = input.size(wrap_dim("chunk", dim, input.dim()));
  if (size) return split(input, size / chunks + (size % chunks ? 1 : 0), dim);
  check_room("chunk", chunks, kTensorBytes);
  return split(input, std::vector<std::int64_t>(std::size_t(chunks), 0), dim);
}

}  // namespace neura

NEURA_DEFINE_OPERATION(permute, Permute);
NEURA_DEFINE_OPERATION(select, Select);
NEURA_DEFINE_OPERATION(unbind, Unbind);
NEURA_DEFINE_OPERATION(slice, Slice);
NEURA_DEFINE_OPERATION(split, Split);
NEURA_DEFINE_OPERATION(view, ViewOp);
NEURA_DEFINE_OPERATION(expand, Expand);
