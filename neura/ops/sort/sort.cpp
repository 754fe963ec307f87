#include "neura/ops/sort/sort.h"

#include "neura/core/wrapped.h"

#include "neura/backend/kernels/sort.h"
#include "neura/op/cast_scope.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/reduce/expect.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/reduce/reduce_common.h"

namespace neura {
namespace {

constexpr Operation selection_op(const char* name) { return operation(name).saves(0, out(1)); }
struct SelectionOp {  // an operation adds its name
  Selection selection;
  int dim;
  std::int64_t k, room;  // room: results along dim
  bool keepdim;
  NEURA_FIELDS(selection, dim, k, room, keepdim)

  void infer(const Spec& x, Spec& values, Spec& indices) const {
    Shape sizes = x.sizes();
    if (sizes.size() && keepdim) sizes[dim] = room;
    else if (sizes.size()) sizes.erase(dim);
    values = Spec::dense(x.dtype, sizes, x.device), indices = Spec::dense(DType::int64, sizes, x.device);
  }
  void run(Context& c, View x, View values, View indices) const {
    c.backend.sort->select(c, selection, dim, k, x, values, indices);
  }
  void gradient(Gradient& g) const {
    const GradientSpec& m = *g.meta[0];
    if (!m.rank) return void(g.result[0] = g.g[0]);
    const Tensor to = zeros(m.sizes(), {.dtype = g.g[0].dtype(), .device = m.device});
    g.result[0] = keepdim ? scatter_add(to, dim, g.output(1), g.g[0])
                          : scatter_add(to, dim, unsqueeze(g.output(1), dim), unsqueeze(g.g[0], dim));
  }
};
struct Sort : SelectionOp {
  static constexpr Operation op = selection_op("sort");
};
struct TopK : SelectionOp {
  static constexpr Operation op = selection_op("topk");
};
struct KthValue : SelectionOp {
  static constexpr Operation op = selection_op("kthvalue");
};
struct Median : SelectionOp {
  static constexpr Operation op = selection_op("median");
};
struct NanMedian : SelectionOp {
  static constexpr Operation op = selection_op("nanmedian");
};
struct Mode : SelectionOp {
  static constexpr Operation op = selection_op("mode");
};

template <class Op>
SortResult select(Selection selection, const Tensor& x, int dim, std::int64_t k, std::int64_t room, bool keepdim) {
  auto [values, indices] = apply(Op{{selection, dim, k, room, keepdim}}, contiguous(x));
  return {values, indices};
}
int ordered_dim(const char* op, const Tensor& x, int dim) {
  check_dtype(op, x.spec(), dtypes::ordered, "real");
  return wrap_dim(op, dim, std::max(x.dim(), 1));
}
std::int64_t size_along(const Tensor& x, int dim) { return x.dim() ? x.size(dim) : 1; }
template <class Op> SortResult chosen(Selection selection, const Tensor& x, int dim, bool keepdim) {
  dim = ordered_dim(Op::op.name, x, dim);
  check_not_empty(Op::op.name, x.spec(), x.dim() ? 1u << dim : 0);
  return select<Op>(selection, x, dim, 0, 1, keepdim);
}

// The median of all elements: those equal to it share the gradient.
struct MedianOfAll {
  static constexpr Operation op = operation("median_of_all").saves(0, in(0), out(0));
  bool skip_nan;
  NEURA_FIELDS(skip_nan)
  void infer(const Spec& x, Spec& y) const { y = Spec::dense(x.dtype, {}, x.device); }
  void run(Context& c, View x, View y) const {
    const Spec flat = Spec::dense(x.dtype(), Shape{x.numel()}), one = Spec::dense(DType::int64, {});
    c.backend.sort->select(c, skip_nan ? Selection::nanmedian : Selection::median, 0, 0, View{x.data, &flat}, y,
                           {nullptr, &one});
  }
  void gradient(Gradient& g) const {
    const Tensor &x = g.input(0), &y = g.output();
    const Tensor best = eq(x, y) | (isnan(x) & isnan(y));
    g.result[0] = g.g[0] / sum(best) * best;
  }
};
Tensor median_of_all(const Tensor& x, bool skip_nan) {
  check_dtype("median", x.spec(), dtypes::ordered, "real");
  if (x.numel()) return apply(MedianOfAll{skip_nan}, contiguous(x));
  check_not_empty("median", x.spec(), is_floating(x.dtype()) ? 0 : (1u << x.dim()) - 1);
  return full({}, std::numeric_limits<double>::quiet_NaN(), {.dtype = x.dtype(), .device = x.device()});
}
}  // namespace

SortResult sort(const Tensor& input, int dim, bool descending, bool) {  // every sort here is stable
  dim = ordered_dim("sort", input, dim);
  return select<Sort>(descending ? Selection::largest : Selection::smallest, input, dim, 0, size_along(input, dim),
                      true);
}
Tensor argsort(const Tensor& input, int dim, bool descending, bool stable) {
  return sort(input.detach(), dim, descending, stable).indices;
}
Tensor msort(const Tensor& input) { return sort(input, 0).values; }

SortResult topk(const Tensor& input, std::int64_t k, int dim, bool largest, bool) {
  dim = ordered_dim("topk", input, dim);
  const std::int64_t n = size_along(input, dim);
  check<ValueError>(k >= 0 && k <= n, [&] {
    return "topk: expected k from 0 to " + std::to_string(n) + ", the size of dim " + std::to_string(dim) + ", got " +
           std::to_string(k);
  });
  return select<TopK>(largest ? Selection::largest : Selection::smallest, input, dim, 0, k, true);
}
SortResult kthvalue(const Tensor& input, std::int64_t k, int dim, bool keepdim) {
  dim = ordered_dim("kthvalue", input, dim);
  const std::int64_t n = size_along(input, dim);
  check<ValueError>(k >= 1 && k <= n, [&] {
    return "kthvalue: expected k from 1 to " + std::to_string(n) + ", the size of dim " + std::to_string(dim) +
           ", got " + std::to_string(k);
  });
  return select<KthValue>(Selection::kth, input, dim, k - 1, 1, keepdim);
}

Tensor median(const Tensor& input) { return median_of_all(input, false); }
Tensor nanmedian(const Tensor& input) { return median_of_all(input, true); }
SortResult median(const Tensor& input, int dim, bool keepdim) {
  return chosen<Median>(Selection::median, input, dim, keepdim);
}
SortResult nanmedian(const Tensor& input, int dim, bool keepdim) {
  return chosen<NanMedian>(Selection::nanmedian, input, dim, keepdim);
}
SortResult mode(const Tensor& input, int dim, bool keepdim) {
  return chosen<Mode>(Selection::mode, input, dim, keepdim);
}

namespace {
enum class Between { linear, lower, higher, midpoint, nearest };
Between between(const char* op, std::string_view word) {
  if (word == "linear") return Between::linear;
  if (word == "lower") return Between::lower;
  if (word == "higher") return Between::higher;
  if (word == "midpoint") return Between::midpoint;
  check<ValueError>(word == "nearest", [&] {
    return std::string(op) + ": expected interpolation linear, lower, higher, midpoint or nearest, got " +
           std::string(word);
  });
  return Between::nearest;
}

Tensor quantiles(const char* op, const Tensor& input, const Tensor& q, std::optional<int> dim, bool keepdim,
                 const char* interpolation, bool skip_nan) {
  check_dtype(op, input.spec(), bit(DType::float32) | bit(DType::float64), "float32 or float64");
  check<DTypeError>(q.dtype() == input.dtype(), [&] {
    return std::string(op) + ": expected q of the input's dtype, got " + q.spec().str() + " for " + input.spec().str();
  });
  check<ShapeError>(q.dim() <= 1,
                    [&] { return std::string(op) + ": expected q with at most one dimension, got " + q.spec().str(); });
  check<ValueError>(input.numel() > 0,
                    [&] { return std::string(op) + ": expected an input with elements, got " + input.spec().str(); });
  const Between how = between(op, interpolation);
  const int at = dim ? wrap_dim(op, *dim, std::max(input.dim(), 1)) : 0;
  const Tensor x = !dim ? flatten(input) : input.dim() ? movedim(input, at, -1) : reshape(input, {1});
  const Tensor sorted = sort(x, -1).values;  // [..., n]
  const Tensor bad = isnan(sorted.detach());

  Tensor last = full({}, double(x.size(-1) - 1), {.dtype = q.dtype(), .device = q.device()});
  if (skip_nan) last = to(sum(logical_not(bad), -1, true) - 1, q.dtype());
  Tensor place = q * last;                                // [..., of q], where they fall in the sorted line
  if (skip_nan) place = where(lt(place, 0), 0.0, place);  // of NaN alone there is no last
  if (!skip_nan) place = where(any(bad, -1, true), last, place);
  const Tensor low = how == Between::higher ? ceil(place) : how == Between::nearest ? round(place) : floor(place);
  Tensor y = gather(sorted, -1, contiguous(to(low, DType::int64)));
  if (how == Between::linear || how == Between::midpoint) {
    const Tensor next = gather(sorted, -1, contiguous(to(ceil(place), DType::int64)));
    const Tensor half = full({}, 0.5, {.dtype = q.dtype(), .device = q.device()});
    y = where(eq(place, low), y, lerp(y, next, how == Between::midpoint ? half : place - low));  // inf - inf is NaN
  }
  y = q.dim() ? movedim(y, -1, 0) : squeeze(y, -1);  // [of q, kept...]
  if (!keepdim || !input.dim()) return y;
  Shape sizes = dim ? input.shape() : Shape::filled(input.dim(), 1);
  if (dim) sizes[at] = 1;
  if (q.dim()) sizes.insert(0, q.numel());
  return reshape(y, sizes);
}
void check_fraction(const char* op, bool holds) {
  check<ValueError>(holds, [&] { return std::string(op) + ": expected q between 0 and 1"; });
}
const Tensor& fractions(const char* op, const Tensor& q) {
  const Tensor fit = ge(q.detach(), 0) & le(q.detach(), 1);
  if (host_looks(q)) check_fraction(op, all(fit).item<bool>());
  else expect(Rule::quantiles, fit);
  return q;
}
Tensor fractions(const char* op, double q, const Tensor& like) {
  check_fraction(op, q >= 0 && q <= 1);
  return full({}, q, {.dtype = like.dtype(), .device = like.device()});
}
}  // namespace

Tensor quantile(const Tensor& input, const Tensor& q, std::optional<int> dim, bool keepdim, const char* interpolation) {
  if (const amp::CastScope cast{amp::Name::quantile, input, q})
    return quantile(cast(input), cast(q), dim, keepdim, interpolation);
  return quantiles("quantile", input, fractions("quantile", q), dim, keepdim, interpolation, false);
}
Tensor quantile(const Tensor& input, double q, std::optional<int> dim, bool keepdim, const char* interpolation) {
  if (const amp::CastScope cast{amp::Name::quantile, input})
    return quantile(cast(input), q, dim, keepdim, interpolation);
  return quantiles("quantile", input, fractions("quantile", q, input), dim, keepdim, interpolation, false);
}
Tensor nanquantile(const Tensor& input, const Tensor& q, std::optional<int> dim, bool keepdim,
                   const char* interpolation) {
  if (const amp::CastScope cast{amp::Name::nanquantile, input, q})
    return nanquantile(cast(input), cast(q), dim, keepdim, interpolation);
  return quantiles("nanquantile", input, fractions("nanquantile", q), dim, keepdim, interpolation, true);
}
Tensor nanquantile(const Tensor& input, double q, std::optional<int> dim, bool keepdim, const char* interpolation) {
  if (const amp::CastScope cast{amp::Name::nanquantile, input})
    return nanquantile(cast(input), q, dim, keepdim, interpolation);
  return quantiles("nanquantile", input, fractions("nanquantile", q, input), dim, keepdim, interpolation, true);
}

}  // namespace neura

NEURA_DEFINE_OPERATION(sort, Sort);
NEURA_DEFINE_OPERATION(topk, TopK);
NEURA_DEFINE_OPERATION(kthvalue, KthValue);
NEURA_DEFINE_OPERATION(median, Median);
NEURA_DEFINE_OPERATION(nanmedian, NanMedian);
NEURA_DEFINE_OPERATION(mode, Mode);
NEURA_DEFINE_OPERATION(median_of_all, MedianOfAll);
