// Elements by their places: gather, scatter, order, rearrangement of blocks.
#include <algorithm>
#include <cmath>

#include "neura/onnx/operators.h"
#include "neura/op/defer.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/reduce/expect.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/sort/sort.h"

namespace neura::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

// Places counted from the end count from the front.
Tensor from_front(const Tensor& index, std::int64_t size) {
  const Tensor i = index.to(int64);
  return where(lt(i, 0), add(i, size), i);
}

BoundNode gathered(const Node& n) {
  const std::int64_t axis = n.integer("axis", 0);
  return [axis](const Operands& x) -> Results {
    const Tensor index = x[1];
    if (x.value(0).text) {
      const Text& t = x.text(0);
      if (t.shape.size() != 1)
        throw NotImplementedError("Gather of texts of more than one dimension is not implemented");
      Text out{index.shape(), {}};
      for (std::int64_t i : integers_of(from_front(index, t.shape[0]))) {
        check<IndexError>(i >= 0 && i < t.shape[0],
                          [&] { return "Gather: index " + std::to_string(i) + " is out of range"; });
        out.items.push_back(t.items[std::size_t(i)]);
      }
      return Value(std::move(out));
    }
    const Tensor t = x[0];
    const int dim = axis_of("Gather", axis, t.dim());
    Shape shape;
    for (int i = 0; i < dim; ++i) shape.push_back(t.size(i));
    for (std::int64_t s : index.shape()) shape.push_back(s);
    for (int i = dim + 1; i < t.dim(); ++i) shape.push_back(t.size(i));
    return reshape(index_select(t, dim, from_front(index, t.size(dim)).reshape({index.numel()})), shape);
  };
}
BoundNode gathered_elements(const Node& n) {
  const std::int64_t axis = n.integer("axis", 0);
  return [axis](const Operands& x) -> Results {
    const int dim = axis_of("GatherElements", axis, x[0].dim());
    return gather(x[0], dim, from_front(x[1], x[0].size(dim)));
  };
}

// The places that rows of coordinates mean, over the first dimensions of `shape`.
Tensor linear_places(const Tensor& coordinates, const Shape& shape, int first) {
  const int depth = int(coordinates.shape().back());
  Tensor at = zeros(Shape(coordinates.shape().data(), std::size_t(coordinates.dim() - 1)),
                    {int64, coordinates.device(), false});
  for (int i = 0; i < depth; ++i)
    at = add(mul(at, shape[first + i]), from_front(select(coordinates, coordinates.dim() - 1, i), shape[first + i]));
  return at;
}
// Every coordinate within its dimension: a linear place alone would not tell.
void check_places(const char* op, const Value& places, const Shape& shape, int first) {
  const Tensor& coordinates = places.tensor;
  const int depth = int(coordinates.shape().back());
  const Untraced alone(places.host);
  for (int i = 0; i < depth && coordinates.numel(); ++i) {
    const Tensor c = select(coordinates, coordinates.dim() - 1, i);
    const std::int64_t size = shape[first + i];
    if (!host_looks(c)) {
      expect(Rule::coordinates, logical_and(ge(c, -size), lt(c, size)));
      continue;
    }
    check<IndexError>(amin(c).item<std::int64_t>() >= -size && amax(c).item<std::int64_t>() < size, [&] {
      return std::string(op) + ": expected indices within " + shape.str() +
             ", got others; the model or its input is damaged";
    });
  }
}
std::int64_t product(const Shape& s, int from, int to) {
  std::int64_t p = 1;
  for (int i = from; i < to; ++i) p *= s[i];
  return p;
}

BoundNode gathered_nd(const Node& n) {
  const int batch = int(n.integer("batch_dims", 0));
  return [batch](const Operands& x) -> Results {
    const Tensor t = x[0], index = x[1].to(int64);
    const Shape s = t.shape(), is = index.shape();
    const bool fits = batch >= 0 && is.size() > batch && batch + is.back() <= s.size();
    if (!fits) throw ShapeError("GatherND: expected indices that fit " + s.str() + ", got " + is.str());
    const int depth = int(is.back());
    check_places("GatherND", x.value(1), s, batch);
    const std::int64_t batches = product(s, 0, batch), rows = product(s, batch, batch + depth);
    Tensor at = linear_places(index, s, batch).reshape({batches, -1});
    at = add(at, mul(arange(batches, {int64, t.device(), false}).unsqueeze(1), rows));
    const Tensor picked =
        index_select(reshape(t, {batches * rows, product(s, batch + depth, s.size())}), 0, at.reshape({at.numel()}));
    Shape shape(is.data(), std::size_t(is.size() - 1));
    for (int i = batch + depth; i < s.size(); ++i) shape.push_back(s[i]);
    return reshape(picked, shape);
  };
}

const char* reduction_of(const Node& n) {
  const std::string r = n.text("reduction", "none");
  for (auto [onnx, ours] : {std::pair("none", ""), {"add", "sum"}, {"mul", "prod"}, {"max", "amax"}, {"min", "amin"}})
    if (r == onnx) return ours;
  refuse(n.op, "a reduction of ONNX", r);
}
BoundNode scattered_elements(const Node& n) {
  const std::int64_t axis = n.integer("axis", 0);
  const std::string reduce = reduction_of(n);
  return [=](const Operands& x) -> Results {
    const int dim = axis_of("ScatterElements", axis, x[0].dim());
    const Tensor index = from_front(x[1], x[0].size(dim));
    return reduce.empty() ? scatter(x[0], dim, index, x[2]) : scatter_reduce(x[0], dim, index, x[2], reduce);
  };
}
BoundNode scattered_nd(const Node& n) {
  const std::string reduce = reduction_of(n);
  return [reduce](const Operands& x) -> Results {
    const Tensor t = x[0], index = x[1].to(int64);
    const Shape s = t.shape(), is = index.shape();
    if (is.empty() || is.back() > s.size())
      throw ShapeError("ScatterND: expected indices that fit " + s.str() + ", got " + is.str());
    const int depth = int(is.back());
    check_places("ScatterND", x.value(1), s, 0);
    const std::int64_t rows = product(s, 0, depth), width = product(s, depth, s.size());
    const Tensor at = linear_places(index, s, 0).reshape({-1});
    const Tensor flat = reshape(t, {rows, width}), updates = reshape(x[2], {at.numel(), width});
    Tensor out;
    if (reduce.empty()) out = index_copy(flat, 0, at, updates);
    else if (reduce == "sum") out = index_add(flat, 0, at, updates);
    else out = index_reduce(flat, 0, at, updates, reduce);
    return reshape(out, s);
  };
}

// Rows of the batch take `update` from their own place on.
BoundNode scattered_rows(const Node& n) {
  const std::string mode = n.text("mode", "linear");
  const std::int64_t axis = n.integer("axis", -2);
  return [=](const Operands& x) -> Results {
    const Tensor cache = x[0], update = x[1];
    const int dim = axis_of("TensorScatter", axis, cache.dim());
    if (dim == 0) refuse("TensorScatter", "an axis after the batch", "0");
    const std::int64_t batch = cache.size(0), length = update.size(dim), size = cache.size(dim);
    const Tensor first = x.has(2) ? x[2].to(int64) : zeros({batch}, {int64, cache.device(), false});
    Tensor places = add(first.reshape({batch, 1}), arange(length, {int64, cache.device(), false}));
    if (mode == "circular") places = remainder(places, size);
    Shape shape = Shape::filled(cache.dim(), 1);
    shape[0] = batch, shape[dim] = length;
    return scatter(cache, dim, expand(places.reshape(shape), update.shape()).contiguous(), update);
  };
}

Results largest(const Tensor& x, std::int64_t k, std::int64_t axis, bool largest) {
  const int dim = axis_of("TopK", axis, x.dim());
  if (k < 0 || k > x.size(dim)) refuse("TopK", "k within the dimension", std::to_string(k));
  const SortResult r = sort(x, dim, largest, true);  // of equals, the first ones
  return {Value(narrow(r.values, dim, 0, k)), Value(narrow(r.indices, dim, 0, k))};
}
BoundNode top_by_attribute(const Node& n) {
  const std::int64_t k = n.integer("k"), axis = n.integer("axis", -1);
  return [=](const Operands& x) { return largest(x[0], k, axis, true); };
}
BoundNode top_by_operand(const Node& n) {
  const std::int64_t axis = n.integer("axis", -1);
  const bool high = n.flag("largest", true);
  return [=](const Operands& x) {
    Results r = largest(x[0], x.integer(1), axis, high);
    if (is_foreign(x.type(0))) r[0] = Value(r[0].tensor, x.type(0));
    return r;
  };
}

BoundNode compressed(const Node& n) {
  const bool flat = !n.has("axis");
  const std::int64_t axis = n.integer("axis", 0);
  return [=](const Operands& x) -> Results {
    const Tensor t = flat ? x[0].reshape({x[0].numel()}) : x[0];
    const int dim = axis_of("Compress", axis, t.dim());
    const Tensor at = nonzero(x[1].reshape({x[1].numel()})).reshape({-1});
    return index_select(t, dim, at);
  };
}
BoundNode one_hot(const Node& n) {
  const std::int64_t axis = n.integer("axis", -1);
  return [axis](const Operands& x) -> Results {
    const auto depth = std::int64_t(x.real(1));
    if (depth <= 0) refuse("OneHot", "a positive depth", std::to_string(depth));
    const Tensor index = from_front(x[0], depth), values = x[2];
    const int dim = axis_of("OneHot", axis, index.dim() + 1);
    Shape shape = Shape::filled(index.dim() + 1, 1);
    shape[dim] = depth;
    const Tensor hot = eq(unsqueeze(index, dim), arange(depth, {int64, index.device(), false}).reshape(shape));
    return where(hot, select(values, 0, 1), select(values, 0, 0));
  };
}
BoundNode unique_of(const Node& n) {
  const bool flat = !n.has("axis"), sorted = n.flag("sorted", true);
  const std::int64_t axis = n.integer("axis", 0);
  return [=](const Operands& x) -> Results {
    const Tensor t = flat ? x[0].reshape({x[0].numel()}) : x[0];
    const int dim = axis_of("Unique", axis, t.dim());
    UniqueResult u = unique(t, true, true, true, dim);
    const std::int64_t count = u.values.size(dim), n = t.size(dim);
    const Tensor places = arange(n, {int64, t.device(), false});
    Tensor first = scatter_reduce(neura::full({count}, n, {int64, t.device(), false}), 0, u.inverse, places, "amin");
    if (sorted) return {Value(u.values), Value(first), Value(u.inverse), Value(u.counts)};
    const Tensor order = argsort(first);  // of their first appearance
    const Tensor rank = scatter(zeros_like(order), 0, order, arange(count, {int64, t.device(), false}));
    return {Value(index_select(u.values, dim, order)), Value(index_select(first, 0, order)),
            Value(index_select(rank, 0, u.inverse)), Value(index_select(u.counts, 0, order))};
  };
}

std::int64_t block_of(const Node& n) {  // whose square can be counted
  const std::int64_t b = n.integer("blocksize");
  if (b < 1 || b > 32767) refuse(n.op, "a blocksize of 1 to 32767", std::to_string(b));
  return b;
}
BoundNode depth_to_space(const Node& n) {
  const std::int64_t b = block_of(n);
  const bool columns_first = n.text("mode", "DCR") == "CRD";
  return [=](const Operands& x) -> Results {
    const Tensor t = x[0];
    if (t.dim() != 4 || t.size(1) % (b * b))
      throw ShapeError("DepthToSpace: expected [N, C * block^2, H, W], got " + t.shape().str());
    const std::int64_t N = t.size(0), c = t.size(1) / (b * b), H = t.size(2), W = t.size(3);
    const Tensor parts = columns_first ? permute(reshape(t, {N, c, b, b, H, W}), {0, 1, 4, 2, 5, 3})
                                       : permute(reshape(t, {N, b, b, c, H, W}), {0, 3, 4, 1, 5, 2});
    return reshape(parts, {N, c, H * b, W * b});
  };
}
BoundNode space_to_depth(const Node& n) {
  const std::int64_t b = block_of(n);
  const bool columns_first = n.text("mode", "DCR") == "CRD";
  return [=](const Operands& x) -> Results {
    const Tensor t = x[0];
    if (t.dim() != 4 || t.size(2) % b || t.size(3) % b)
      throw ShapeError("SpaceToDepth: expected [N, C, H * block, W * block], got " + t.shape().str());
    const std::int64_t N = t.size(0), c = t.size(1), H = t.size(2) / b, W = t.size(3) / b;
    const Tensor parts = reshape(t, {N, c, H, b, W, b});
    return reshape(columns_first ? permute(parts, {0, 1, 3, 5, 2, 4}) : permute(parts, {0, 3, 5, 1, 2, 4}),
                   {N, c * b * b, H, W});
  };
}

// Cuts or pads around the middle; what does not divide goes after.
BoundNode centred(const Node& n) {
  const Integers given = n.integers("axes");
  return [given](const Operands& x) -> Results {
    Tensor t = x[0];
    const Integers sizes = x.integers(1);
    if (!given.empty() && given.size() != sizes.size())
      refuse("CenterCropPad", "a size per axis", std::to_string(sizes.size()) + " and " + std::to_string(given.size()));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const int dim = axis_of("CenterCropPad", given.empty() ? std::int64_t(i) : given[i], t.dim());
      const std::int64_t have = t.size(dim), want = sizes[i];
      if (want < 0) refuse("CenterCropPad", "sizes from 0 on", std::to_string(want));
      if (want < have) t = narrow(t, dim, (have - want) / 2, want);
      if (want <= have) continue;
      Integers pads(std::size_t(2 * t.dim()), 0);
      const auto at = 2 * std::size_t(t.dim() - 1 - dim);
      pads[at] = (want - have) / 2, pads[at + 1] = want - have - pads[at];
      t = constant_pad_nd(t, pads);
    }
    return t;
  };
}
BoundNode reversed(const Node& n) {
  const std::int64_t batch = n.integer("batch_axis", 1), time = n.integer("time_axis", 0);
  return [=](const Operands& x) -> Results {
    const Tensor t = x[0];
    const int b = axis_of("ReverseSequence", batch, t.dim()), s = axis_of("ReverseSequence", time, t.dim());
    Shape shape = Shape::filled(t.dim(), 1), lengths = shape;
    shape[s] = t.size(s), lengths[b] = t.size(b);
    const Tensor place = arange(t.size(s), {int64, t.device(), false}).reshape(shape);
    const Tensor length = x[1].to(int64).reshape(lengths);
    const Tensor from = where(lt(place, length), sub(sub(length, 1), place), place);
    return gather(t, s, expand(from, t.shape()).contiguous());
  };
}

}  // namespace

std::span<const Operator> index_operators() {
  constexpr Types plain = Types::plain, same = Types::same;
  static const Operator rows[] = {
      {"Gather", 1, kNewest, gathered, same},
      {"GatherElements", 11, kNewest, gathered_elements, same},
      {"GatherND", 11, kNewest, gathered_nd, same},
      {"Scatter", 9, kNewest, scattered_elements},
      {"ScatterElements", 11, kNewest, scattered_elements, same},
      {"ScatterND", 11, kNewest, scattered_nd, same},
      {"TensorScatter", 24, kNewest, scattered_rows, same},
      {"TopK", 1, 9, top_by_attribute},
      {"TopK", 10, kNewest, top_by_operand, Types::any},
      {"Compress", 9, kNewest, compressed, same},
      {"OneHot", 9, kNewest, one_hot, plain, Folding::never},
      {"NonZero", 9, kNewest, AS(nonzero(x[0]).t())},
      {"Unique", 11, kNewest, unique_of},
      {"DepthToSpace", 1, kNewest, depth_to_space, same},
      {"SpaceToDepth", 1, kNewest, space_to_depth, same},
      {"CenterCropPad", 18, kNewest, centred, same, Folding::never},
      {"ReverseSequence", 10, kNewest, reversed, same},
  };
  return rows;
}

}  // namespace neura::onnx
