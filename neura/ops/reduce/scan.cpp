#include "neura/ops/reduce/scan.h"

#include "neura/backend/kernels/scan.h"
#include "neura/op/cast_scope.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/op/safe.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/reduce/reduce_common.h"
#include "neura/ops/reduce/scan_common.h"
#include "neura/ops/shape/join.h"

namespace neura {
namespace {

Spec like(const Spec& x, DType d) { return Spec::dense(d, x.sizes(), x.device); }

struct CumSum {
  static constexpr Operation op = operation("cumsum").linear();
  int dim;
  bool reverse;
  NEURA_FIELDS(dim, reverse)
  bool is_safe(const Spec& x) const { return safe::contiguous(x) && safe::has_dim(x, dim); }
  void infer(const Spec& x, Spec& y) const { y = like(x, x.dtype); }
  void run(Context& c, View x, View y) const { c.backend.scan->cumulate(c, false, dim, reverse, x, y); }
  void gradient(Gradient& g) const { g.result[0] = apply(CumSum{dim, !reverse}, contiguous(g.g[0])); }
};
struct CumProd {
  static constexpr Operation op = operation("cumprod").saves(0, in(0));
  int dim;
  NEURA_FIELDS(dim)
  void infer(const Spec& x, Spec& y) const { y = like(x, x.dtype); }
  void run(Context& c, View x, View y) const { c.backend.scan->cumulate(c, true, dim, false, x, y); }
  void gradient(Gradient& g) const { g.result[0] = cumprod_gradient(g.g[0], g.input(0), dim); }
};
struct Shift {
  static constexpr Operation op = operation("shift");
  int dim;
  bool back;
  double fill;
  NEURA_FIELDS(dim, back, fill)
  void infer(const Spec& x, Spec& y) const { y = like(x, x.dtype); }
  void run(Context& c, View x, View y) const { c.backend.scan->shift(c, dim, back, fill, x, y); }
  void gradient(Gradient& g) const { g.result[0] = apply(Shift{dim, !back, 0}, contiguous(g.g[0])); }
};
Tensor shift(const Tensor& x, int dim, double fill = 0) { return apply(Shift{dim, false, fill}, contiguous(x)); }

// y[k] = b[k] + a[k] y[k - 1]; reverse: y[k] = b[k] + a[k + 1] y[k + 1]. Each is the adjoint of the other.
struct Recurrence {
  static constexpr Operation op = operation("recurrence").saves(0, in(0), out(0)).saves(1, in(0));
  int dim;
  bool reverse;
  NEURA_FIELDS(dim, reverse)
  void infer(const Spec& a, const Spec& b, Spec& y) const {
    check<DTypeError>(a.dtype == b.dtype, [&] {
      return std::string("recurrence: expected operands of one dtype, got ") + a.str() + " and " + b.str();
    });
    y = like(a, a.dtype);
  }
  void run(Context& c, View a, View b, View y) const { c.backend.scan->recurrence(c, dim, reverse, a, b, y); }
  void gradient(Gradient& g) const {
    const Tensor s = apply(Recurrence{dim, !reverse}, contiguous(conj(g.input(0))), contiguous(g.g[0]));
    if (g.needs(1)) g.result[1] = s;
    if (!g.needs(0)) return;
    const Tensor y = conj(g.output());
    g.result[0] = reverse ? shift(s, dim) * y : s * shift(y, dim);
  }
};
Tensor recurrence(const Tensor& a, const Tensor& b, int dim, bool reverse) {
  return apply(Recurrence{dim, reverse}, contiguous(a), contiguous(b));
}

struct RunningExtreme {
  bool largest;
  int dim;
  NEURA_FIELDS(largest, dim)
  void infer(const Spec& x, Spec& values, Spec& indices) const {
    values = like(x, x.dtype), indices = like(x, DType::int64);
  }
  void run(Context& c, View x, View values, View indices) const {
    c.backend.scan->extreme(c, largest, dim, x, values, indices);
  }
  void gradient(Gradient& g) const {
    const Tensor to = zeros(g.g[0].shape(), {.dtype = g.g[0].dtype(), .device = g.g[0].device()});
    g.result[0] = to.dim() ? scatter_add(to, dim, g.output(1), g.g[0]) : g.g[0];
  }
};
struct CumMax : RunningExtreme {
  static constexpr Operation op = operation("cummax").saves(0, out(1));
};
struct CumMin : RunningExtreme {
  static constexpr Operation op = operation("cummin").saves(0, out(1));
};

struct LogCumSumExp {
  static constexpr Operation op = operation("logcumsumexp").saves(0, in(0), out(0));
  int dim;
  NEURA_FIELDS(dim)
  void infer(const Spec& x, Spec& y) const { y = like(x, x.dtype); }
  void run(Context& c, View x, View y) const { c.backend.scan->logcumsumexp(c, dim, x, y); }
  void gradient(Gradient& g) const {  // sum over j >= k of g[j] exp(x[k] - y[j]), by factors that are at most 1
    const Tensor y = where(isinf(g.output()), 0.0, g.output());
    const Tensor step = y - apply(Shift{dim, true, 0}, contiguous(y));  // y[k] - y[k + 1]
    g.result[0] = conj(exp(g.input(0) - y)) * recurrence(conj(exp(shift(step, dim))), g.g[0], dim, true);
  }
};

int scan_dim(const char* op, const Tensor& x, int dim) { return wrap_dim(op, dim, std::max(x.dim(), 1)); }

// Converts to the dtype a scan computes in, runs, converts back.
template <class F> Tensor converted(const char* op, const Tensor& x, std::optional<DType> dtype, F f) {
  const DType result = dtype ? *dtype : is_integral(x.dtype()) ? DType::int64 : x.dtype();
  check<DTypeError>(bit(result) & dtypes::all, [&] {
    return std::string(op) + ": expected a dtype that can be computed with, got " + name(result);
  });
  const Tensor first = dtype ? to(x, *dtype) : x;
  return to(f(contiguous(to(first, is_integral(result) ? DType::int64 : accumulation(result)))), result);
}
template <class Op> CumulativeResult running(bool largest, const Tensor& x, int dim) {
  dim = scan_dim(Op::op.name, x, dim);
  check_dtype(Op::op.name, x.spec(), dtypes::ordered, "real");
  const DType computed = is_integral(x.dtype()) ? DType::int64 : accumulation(x.dtype());
  auto [values, indices] = apply(Op{{largest, dim}}, contiguous(to(x, computed)));
  return {to(values, x.dtype()), indices};
}
}  // namespace

Tensor cumprod_gradient(const Tensor& g, const Tensor& x, int dim) {
  const DType computed = accumulation(promote(g.dtype(), x.dtype()));  // scans have kernels for no halves
  const Tensor factor = conj(to(x, computed));
  return shift(cumprod(factor, dim), dim, 1) * recurrence(factor, to(g, computed), dim, true);
}

Tensor product_gradient(const Tensor& g, const Tensor& x, unsigned dims) {
  if (!x.dim() || !x.numel()) return expand(g, x.shape());
  Dims order;
  Shape kept;
  for (int d = 0; d < x.dim(); ++d)
    if (!(dims >> d & 1)) order.push_back(d), kept.push_back(x.size(d));
  for (int d = 0; d < x.dim(); ++d)
    if (dims >> d & 1) order.push_back(d);
  Dims back = order;
  for (int i = 0; i < order.size(); ++i) back[int(order[i])] = i;

  const Tensor moved = permute(x, order);
  const std::int64_t n = reduced_count(x.shape(), dims);
  Shape flat = kept, one = kept;
  flat.push_back(n), one.push_back(1);
  const Tensor last = zeros({n}, {.dtype = g.dtype(), .device = g.device()});  // only the last product has a gradient
  Tensor end = narrow(last, 0, n - 1, 1);
  fill_(end, 1);
  const Tensor up = expand(reshape(permute(g, order), one), flat) * last;
  return permute(reshape(cumprod_gradient(up, reshape(moved, flat), flat.size() - 1), moved.shape()), back);
}

Tensor cumsum(const Tensor& input, int dim, std::optional<DType> dtype) {
  if (const amp::CastScope cast{amp::Name::cumsum, input}; !dtype && cast) return cumsum(cast(input), dim, dtype);
  dim = scan_dim("cumsum", input, dim);
  return converted("cumsum", input, dtype, [&](const Tensor& x) { return apply(CumSum{dim, false}, x); });
}
Tensor cumprod(const Tensor& input, int dim, std::optional<DType> dtype) {
  if (const amp::CastScope cast{amp::Name::cumprod, input}; !dtype && cast) return cumprod(cast(input), dim, dtype);
  dim = scan_dim("cumprod", input, dim);
  return converted("cumprod", input, dtype, [&](const Tensor& x) { return apply(CumProd{dim}, x); });
}
CumulativeResult cummax(const Tensor& input, int dim) { return running<CumMax>(true, input, dim); }
CumulativeResult cummin(const Tensor& input, int dim) { return running<CumMin>(false, input, dim); }
Tensor logcumsumexp(const Tensor& input, int dim) {
  dim = scan_dim("logcumsumexp", input, dim);
  check_dtype("logcumsumexp", input.spec(), dtypes::floating | dtypes::complexes, "floating or complex");
  return converted("logcumsumexp", input, {}, [&](const Tensor& x) { return apply(LogCumSumExp{dim}, x); });
}

Tensor diff(const Tensor& input, int n, int dim, const Tensor& prepend, const Tensor& append) {
  check<ShapeError>(input.dim() > 0,
                    [] { return std::string("diff: expected at least one dimension, got a 0-d tensor"); });
  check<ValueError>(n >= 0, [&] { return "diff: expected n of 0 or more, got " + std::to_string(n); });
  dim = wrap_dim("diff", dim, input.dim());
  if (n == 0) return clone(input);  // without what is prepended or appended, as in torch
  TensorList parts;
  if (prepend) parts.push_back(prepend);
  parts.push_back(input);
  if (append) parts.push_back(append);
  Tensor x = parts.size() > 1 ? cat(parts, dim) : input;
  for (int i = 0; i < n && x.size(dim) > 0; ++i) {
    const std::int64_t size = x.size(dim) - 1;
    const Tensor high = narrow(x, dim, 1, size), low = narrow(x, dim, 0, size);
    x = x.dtype() == DType::boolean ? ne(high, low) : high - low;
  }
  return x;
}

namespace {
// The two ends of each strip along `dim`.
struct Strips {
  Tensor low, high;
  Strips(const char* op, const Tensor& y, int dim) {
    dim = wrap_dim(op, dim, y.dim());
    const std::int64_t n = std::max<std::int64_t>(0, y.size(dim) - 1);
    low = narrow(y, dim, 0, n), high = narrow(y, dim, std::min<std::int64_t>(1, y.size(dim)), n);
  }
};
// Widths of the strips, to be multiplied with y's.
Tensor widths(const char* op, const Tensor& y, const Tensor& x, int& dim) {
  dim = wrap_dim(op, dim, y.dim());
  if (x.dim() == 1 && y.dim() > 1) {
    check<ShapeError>(x.size(0) == y.size(dim), [&] {
      return std::string(op) + ": expected as many points x as y has along dim " + std::to_string(dim) + ", got " +
             x.spec().str() + " and " + y.spec().str();
    });
    Shape sizes = Shape::filled(y.dim(), 1);
    sizes[dim] = x.size(0);
    return widths(op, y, reshape(x, sizes), dim);
  }
  const Strips s(op, x, dim - y.dim());
  return s.high - s.low;
}
void check_area(const char* op, const Tensor& y) {
  check<ShapeError>(y.dim() > 0,
                    [&] { return std::string(op) + ": expected y with at least one dimension, got a 0-d tensor"; });
}
}  // namespace

Tensor trapezoid(const Tensor& y, double dx, int dim) {
  check_area("trapezoid", y);
  const Strips s("trapezoid", y, dim);
  return sum(s.low + s.high, dim) * (dx / 2);
}
Tensor trapezoid(const Tensor& y, const Tensor& x, int dim) {
  check_area("trapezoid", y);
  const Tensor w = widths("trapezoid", y, x, dim);
  const Strips s("trapezoid", y, dim);
  return sum(w * (s.low + s.high), dim - y.dim()) / 2.0;
}
Tensor cumulative_trapezoid(const Tensor& y, double dx, int dim) {
  check_area("cumulative_trapezoid", y);
  const Strips s("cumulative_trapezoid", y, dim);
  return cumsum(s.low + s.high, dim) * (dx / 2);
}
Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, int dim) {
  check_area("cumulative_trapezoid", y);
  const Tensor w = widths("cumulative_trapezoid", y, x, dim);
  const Strips s("cumulative_trapezoid", y, dim);
  return cumsum(w * (s.low + s.high), dim - y.dim()) / 2.0;
}

}  // namespace neura

NEURA_DEFINE_OPERATION(cumsum, CumSum);
NEURA_DEFINE_OPERATION(cumprod, CumProd);
NEURA_DEFINE_OPERATION(shift, Shift);
NEURA_DEFINE_OPERATION(recurrence, Recurrence);
NEURA_DEFINE_OPERATION(cummax, CumMax);
NEURA_DEFINE_OPERATION(cummin, CumMin);
NEURA_DEFINE_OPERATION(logcumsumexp, LogCumSumExp);
