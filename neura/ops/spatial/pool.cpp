#include "neura/ops/spatial/pool.h"

#include "neura/backend/kernels/pool.h"
#include "neura/core/checked_int.h"
#include "neura/op/apply.h"
#include "neura/op/cast_scope.h"
#include "neura/op/registry.h"
#include "neura/op/safe.h"

namespace neura {
NEURA_FIELDS_OF(PoolShape, in, out, kernel, stride, padding, dilation, adaptive, count_include_pad, divisor)

namespace {

// The spatial sizes that a pooling leaves: of the result, or (back) of the input.
Spec resized(const Spec& x, int dims, const std::int64_t* sizes, DType dtype) {
  Shape shape = x.sizes();
  for (int d = 0; d < dims; ++d) shape[x.rank - dims + d] = sizes[3 - dims + d];
  return Spec::dense(dtype, shape, x.device);
}

// Has every window along dimension d an element of the input?
bool meets(const PoolShape& s, int d) {
  const std::int64_t in = s.in[d], out = s.out[d], kernel = s.kernel[d], dilation = s.dilation[d];
  if (!safe::is_between(kernel, 1, safe::kMost) || !safe::is_between(s.stride[d], 1, safe::kMost) ||
      !safe::is_between(dilation, 1, safe::kMost) ||
      !safe::is_between(s.padding[d], 0, ((kernel - 1) * dilation + 1) / 2) ||
      (out - 1) * s.stride[d] >= in + s.padding[d])
    return false;
  for (std::int64_t o = 0; o < out; ++o) {
    if (s.begin(d, o) >= s.end(d, o)) return false;
    if (o * s.stride[d] >= s.padding[d] && dilation == 1) break;  // and so have all after it: the last begins inside
  }
  return true;
}
bool is_safe_pool(const PoolShape& s, int dims, const Spec& x) {
  if (!safe::contiguous(x) || !safe::is_between(dims, 1, 3) || !safe::is_between(x.rank, dims + 1, dims + 2))
    return false;
  for (int d = 0; d < 3; ++d) {
    const int own = d - (3 - dims);  // leading sizes of 1 make it three dimensions
    if (s.in[d] != (own < 0 ? 1 : x.shape[x.rank - dims + own]) ||
        !safe::is_between(s.out[d], 1, own < 0 ? 1 : safe::kMost / 64) || !safe::is_between(s.in[d], 1, safe::kMost))
      return false;
    if (!s.adaptive && !meets(s, d)) return false;
  }
  return true;
}

// Each is linear in its floating operand; scatter and gather, and the mean and its gradient, are adjoint to one
// another.
struct MaxPoolBackward {
  static constexpr Operation op = operation("max_pool_backward").saves(0, in(1));
  PoolShape s;
  int dims;
  NEURA_FIELDS(s, dims)
  void infer(const Spec& g, const Spec&, Spec& x) const { x = resized(g, dims, s.in, g.dtype); }
  void run(Context& c, View g, View places, View x) const { c.backend.pool->scatter(c, g, places, x, s); }
  void gradient(Gradient& g) const;
};
struct MaxPoolGather {
  static constexpr Operation op = operation("max_pool_gather").saves(0, in(1));
  PoolShape s;
  int dims;
  NEURA_FIELDS(s, dims)
  void infer(const Spec& x, const Spec&, Spec& y) const { y = resized(x, dims, s.out, x.dtype); }
  void run(Context& c, View x, View places, View y) const { c.backend.pool->gather(c, x, places, y, s); }
  void gradient(Gradient& g) const {
    if (g.needs(0)) g.result[0] = apply(MaxPoolBackward{s, dims}, g.g[0].contiguous(), g.input(1));
  }
};
void MaxPoolBackward::gradient(Gradient& g) const {
  if (g.needs(0)) g.result[0] = apply(MaxPoolGather{s, dims}, g.g[0].contiguous(), g.input(1));
}

struct MaxPoolOp {  // values, places
  static constexpr Operation op = operation("max_pool").saves(0, out(1));
  PoolShape s;
  int dims;
  bool compact;  // positions within windows, in a byte: only the derivative sees them
  NEURA_FIELDS(s, dims, compact)
  bool is_safe(const Spec& x) const {
    if (!is_safe_pool(s, dims, x)) return false;
    const std::int64_t* k = s.kernel;
    return !compact || (!s.adaptive && std::max({k[0], k[1], k[2]}) <= 256 && k[0] * k[1] * k[2] <= 256);
  }
  void infer(const Spec& x, Spec& y, Spec& places) const {
    check<DTypeError>(bit(x.dtype) & (dtypes::floating | dtypes::integers),
                      [&] { return "max_pool: expected real numbers, got " + x.str() + "; convert it with .to()"; });
    y = resized(x, dims, s.out, x.dtype);
    places = resized(x, dims, s.out, compact ? DType::uint8 : DType::int64);
  }
  void run(Context& c, View x, View y, View places) const { c.backend.pool->max(c, x, y, places, s); }
  void gradient(Gradient& g) const {
    if (g.g[0]) g.result[0] = apply(MaxPoolBackward{s, dims}, g.g[0].contiguous(), g.output(1));
  }
};

struct AvgPoolBackward;
struct AvgPoolOp {
  static constexpr Operation op = operation("avg_pool").linear();
  PoolShape s;
  int dims;
  NEURA_FIELDS(s, dims)
  bool is_safe(const Spec& x) const {
    return is_safe_pool(s, dims, x) && safe::is_between(s.divisor, -safe::kMost, safe::kMost);
  }
  void infer(const Spec& x, Spec& y) const {
    check<DTypeError>(is_floating(x.dtype) || (x.dtype == DType::int64 && !s.adaptive), [&] {
      return std::string(s.adaptive ? "adaptive_avg_pool" : "avg_pool") + ": expected a floating dtype, got " +
             x.str() + "; convert it with .to()";
    });
    y = resized(x, dims, s.out, x.dtype);
  }
  void run(Context& c, View x, View y) const { c.backend.pool->mean(c, x, y, s); }
  void gradient(Gradient& g) const;
};
struct AvgPoolBackward {
  static constexpr Operation op = operation("avg_pool_backward").linear();
  PoolShape s;
  int dims;
  NEURA_FIELDS(s, dims)
  void infer(const Spec& g, Spec& x) const { x = resized(g, dims, s.in, g.dtype); }
  void run(Context& c, View g, View x) const { c.backend.pool->mean_gradient(c, g, x, s); }
  void gradient(Gradient& g) const { g.result[0] = apply(AvgPoolOp{s, dims}, g.g[0].contiguous()); }
};
void AvgPoolOp::gradient(Gradient& g) const { g.result[0] = apply(AvgPoolBackward{s, dims}, g.g[0].contiguous()); }

// [n, c, spatial..] or [c, spatial..]; only the batch may be empty.
void check_input(const char* op, const Tensor& x, int dims) {
  bool fits = x.dim() == dims + 1 || x.dim() == dims + 2;
  for (int d = x.dim() == dims + 2 ? 1 : 0; fits && d < x.dim(); ++d) fits = x.size(d) > 0;
  check<ShapeError>(fits, [&] {
    return std::string(op) + ": expected [n, channels, " +
           (dims == 1   ? "l"
            : dims == 2 ? "h, w"
                        : "d, h, w") +
           "] or the same without n, with no size of 0 but n, got " + x.spec().str();
  });
}

struct Window {
  Shape kernel, stride, padding, dilation;
  bool ceil_mode;
};
Window window(const char* op, int dims, const PerDim& kernel, const PerDim& stride, const PerDim& padding,
              const PerDim& dilation, bool ceil_mode) {
  Window w{per_dim(op, "kernel_size", kernel, dims, 1),
           {},
           per_dim(op, "padding", padding, dims, 0),
           per_dim(op, "dilation", dilation, dims, 1),
           ceil_mode};
  w.stride = stride.empty() ? w.kernel : per_dim(op, "stride", stride, dims, 1);
  for (int d = 0; d < dims; ++d)
    check<ValueError>(2 * w.padding[d] <= (w.kernel[d] - 1) * w.dilation[d] + 1, [&] {
      return std::string(op) + ": expected padding of at most half the window, got padding " + padding.str() +
             " and kernel_size " + kernel.str();
    });
  return w;
}

PoolShape geometry(const char* op, const Tensor& x, int dims, const Window& w) {
  PoolShape s;
  for (int d = 0; d < dims; ++d) {
    const int to = 3 - dims + d;
    s.in[to] = x.size(x.dim() - dims + d), s.kernel[to] = w.kernel[d], s.stride[to] = w.stride[d];
    s.padding[to] = w.padding[d], s.dilation[to] = w.dilation[d];
    const std::int64_t room = s.in[to] + 2 * w.padding[d] - w.dilation[d] * (w.kernel[d] - 1) - 1;
    const std::int64_t steps = room + (w.ceil_mode ? w.stride[d] - 1 : 0);
    s.out[to] = steps < 0 ? 0 : steps / w.stride[d] + 1;
    // The last window begins inside the input or the padding before it.
    if (w.ceil_mode && s.out[to] && (s.out[to] - 1) * w.stride[d] >= s.in[to] + w.padding[d]) --s.out[to];
    check<ShapeError>(s.out[to] > 0, [&] {
      return std::string(op) + ": expected a window no larger than the padded input, got kernel_size " +
             w.kernel.str() + " on " + x.spec().str();
    });
    for (std::int64_t o = 0; w.dilation[d] > 1 && w.padding[d] && o < s.out[to]; ++o)
      check<ShapeError>(s.begin(to, o) < s.end(to, o), [&] {
        return std::string(op) + ": expected every window to meet the input, got kernel_size " + w.kernel.str() +
               ", dilation " + w.dilation.str() + " and padding " + w.padding.str() + " on " + x.spec().str();
      });
  }
  return s;
}
PoolShape adaptive(const char* op, const Tensor& x, int dims, const PerDim& output_size) {
  check_input(op, x, dims);
  const Shape sizes = per_dim(op, "output_size", output_size, dims, INT64_MIN);
  PoolShape s;
  s.adaptive = true, s.count_include_pad = false;
  for (int d = 0; d < dims; ++d) {
    const std::int64_t in = x.size(x.dim() - dims + d);
    s.in[3 - dims + d] = in, s.out[3 - dims + d] = sizes[d] == kKeepSize ? in : sizes[d];
    check<ValueError>(sizes[d] >= 0 || sizes[d] == kKeepSize, [&] {
      return std::string(op) + ": expected output_size of at least 0, got " + output_size.str();
    });
  }
  return s;
}

std::array<Tensor, 2> max_pool(const char* op, int dims, const Tensor& x, const PerDim& kernel, const MaxPoolOptions& o,
                               bool places_wanted) {
  if (dims == 3 && !places_wanted)
    if (const amp::CastScope cast{amp::Name::max_pool3d, x}) return max_pool(op, dims, cast(x), kernel, o, false);
  const Window w = window(op, dims, kernel, o.stride, o.padding, o.dilation, o.ceil_mode);
  check_input(op, x, dims);
  CheckedInt places = 1;
  for (const std::int64_t k : w.kernel) places = places * k;
  const bool compact = !places_wanted && places.fits() && places.of(op) <= 256;
  return apply(MaxPoolOp{geometry(op, x, dims, w), dims, compact}, x.contiguous());
}
Tensor avg_pool(const char* op, int dims, const Tensor& x, const PerDim& kernel, const AvgPoolOptions& o) {
  if (dims == 3)
    if (const amp::CastScope cast{amp::Name::avg_pool3d, x}) return avg_pool(op, dims, cast(x), kernel, o);
  const Window w = window(op, dims, kernel, o.stride, o.padding, 1, o.ceil_mode);
  check_input(op, x, dims);
  check<ValueError>(o.divisor_override != 0,
                    [&] { return std::string(op) + ": expected a divisor_override other than 0"; });
  PoolShape s = geometry(op, x, dims, w);
  s.count_include_pad = o.count_include_pad, s.divisor = o.divisor_override.value_or(0);
  return apply(AvgPoolOp{s, dims}, x.contiguous());
}
Tensor adaptive_avg(const char* op, int dims, const Tensor& x, const PerDim& size) {
  if (dims == 3)
    if (const amp::CastScope cast{amp::Name::adaptive_avg_pool3d, x}) return adaptive_avg(op, dims, cast(x), size);
  return apply(AvgPoolOp{adaptive(op, x, dims, size), dims}, x.contiguous());
}
std::array<Tensor, 2> adaptive_max(const char* op, int dims, const Tensor& x, const PerDim& size) {
  if (dims == 3)
    if (const amp::CastScope cast{amp::Name::adaptive_max_pool3d, x}) return adaptive_max(op, dims, cast(x), size);
  return apply(MaxPoolOp{adaptive(op, x, dims, size), dims, false}, x.contiguous());
}

}  // namespace

PerDim detail::adaptive_sizes(const std::optional<PerDim>& output_size) {
  check<ValueError>(!output_size || !output_size->empty(),
                    [] { return std::string("output_size: expected one number or more, got an empty tuple"); });
  return output_size.value_or(kKeepSize);
}

#define NEURA_POOL(n)                                                                                      \
  Tensor max_pool##n##d(const Tensor& x, const PerDim& kernel_size, const MaxPoolOptions& o) {             \
    return max_pool("max_pool" #n "d", n, x, kernel_size, o, false)[0];                                    \
  }                                                                                                        \
  std::array<Tensor, 2> max_pool##n##d_with_indices(const Tensor& x, const PerDim& kernel_size,            \
                                                    const MaxPoolOptions& o) {                             \
    return max_pool("max_pool" #n "d", n, x, kernel_size, o, true);                                        \
  }                                                                                                        \
  Tensor avg_pool##n##d(const Tensor& x, const PerDim& kernel_size, const AvgPoolOptions& o) {             \
    return avg_pool("avg_pool" #n "d", n, x, kernel_size, o);                                              \
  }                                                                                                        \
  Tensor adaptive_avg_pool##n##d(const Tensor& x, const PerDim& output_size) {                             \
    return adaptive_avg("adaptive_avg_pool" #n "d", n, x, output_size);                                    \
  }                                                                                                        \
  Tensor adaptive_max_pool##n##d(const Tensor& x, const PerDim& output_size) {                             \
    return adaptive_max("adaptive_max_pool" #n "d", n, x, output_size)[0];                                 \
  }                                                                                                        \
  std::array<Tensor, 2> adaptive_max_pool##n##d_with_indices(const Tensor& x, const PerDim& output_size) { \
    return adaptive_max("adaptive_max_pool" #n "d", n, x, output_size);                                    \
  }
NEURA_POOL(1)
NEURA_POOL(2)
NEURA_POOL(3)
#undef NEURA_POOL

}  // namespace neura

NEURA_DEFINE_OPERATION(max_pool_backward, MaxPoolBackward);
NEURA_DEFINE_OPERATION(max_pool_gather, MaxPoolGather);
NEURA_DEFINE_OPERATION(max_pool, MaxPoolOp);
NEURA_DEFINE_OPERATION(avg_pool, AvgPoolOp);
NEURA_DEFINE_OPERATION(avg_pool_backward, AvgPoolBackward);
