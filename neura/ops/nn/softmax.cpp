#include "neura/ops/nn/softmax.h"

#include <algorithm>

#include "neura/backend/kernels/softmax.h"
#include "neura/core/error_details.h"
#include "neura/op/apply.h"
#include "neura/op/cast_scope.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/op/safe.h"
#include "neura/ops/nn/norm_common.h"
#include "neura/ops/reduce/reduce.h"

namespace neura {
namespace {

void check_floating(const char* op, const Spec& x) {
  check<UnsupportedDTypeError>(is_floating(x.dtype), [&] {
    return std::string(op) + ": expected a floating dtype, got " + x.str() + "; give dtype = float32, or convert it";
  });
}

template <SoftmaxKind kind> struct Softmax {
  static constexpr bool logarithm = kind == SoftmaxKind::log_softmax;
  static constexpr Operation op = operation(logarithm                      ? "log_softmax"
                                            : kind == SoftmaxKind::softmax ? "softmax"
                                                                           : "_safe_softmax")
                                      .saves(0, out(0));
  int dim;
  NEURA_FIELDS(dim)
  bool is_safe(const Spec& x) const { return safe::contiguous(x) && safe::has_dim(x, dim); }
  void infer(const Spec& x, Spec& y) const {
    check_floating(op.name, x);
    y = Spec::dense(x.dtype, x.sizes(), x.device);
  }
  void run(Context& c, View x, View y) const { c.backend.softmax->softmax(c, x, dim, kind, y); }
  void gradient(Gradient& g) const {
    g.result[0] = logarithm ? log_softmax_backward(g.g[0], g.output(), dim) : softmax_backward(g.g[0], g.output(), dim);
  }
};

template <bool logarithm> struct SoftmaxBackward {
  static constexpr Operation op =
      operation(logarithm ? "log_softmax_backward" : "softmax_backward").saves(0, in(1)).saves(1, in(0, 1));
  int dim;
  NEURA_FIELDS(dim)
  void infer(const Spec& g, const Spec& y, Spec& gx) const {
    check_floating(op.name, y);
    check<ShapeError>(g.same_shape(y), [&] {
      return std::string(op.name) + ": expected a grad_output of the output's sizes " + y.sizes().str() + ", got " +
             g.sizes().str();
    });
    check<DTypeError>(g.dtype == y.dtype, [&] {
      return std::string(op.name) + ": expected a grad_output of the output's dtype " + neura::name(y.dtype) +
             ", got " + neura::name(g.dtype);
    });
    gx = Spec::dense(y.dtype, y.sizes(), y.device);
  }
  void run(Context& c, View g, View y, View gx) const {
    c.backend.softmax->softmax_backward(c, g, y, dim, logarithm, gx);
  }
  void gradient(Gradient& g) const {
    const Tensor &h = g.g[0], &y = g.input(1);
    if constexpr (logarithm) {  // g - exp(y) sum(g)
      const Tensor p = exp(y);
      if (g.needs(0)) g.result[0] = h - sum(h * p, dim, true);
      if (g.needs(1)) g.result[1] = -(h * p) * sum(g.input(0), dim, true);
    } else {  // y (g - sum(g y)), symmetric in g and what comes in
      if (g.needs(0)) g.result[0] = softmax_backward(h, y, dim);
      if (g.needs(1)) {
        const Tensor& first = g.input(0);
        g.result[1] = h * (first - sum(first * y, dim, true)) - first * sum(h * y, dim, true);
      }
    }
  }
};

template <SoftmaxKind kind> Tensor softmax_of(const Tensor& input, int dim, std::optional<DType> dtype) {
  dim = wrap_dim(Softmax<kind>::op.name, dim, std::max(input.dim(), 1));
  const Tensor x = dtype ? to(input, *dtype) : input;
  return apply(Softmax<kind>{dim}, laid_out(x, dim));
}
template <bool logarithm> Tensor backward_of(const Tensor& grad_output, const Tensor& output, int dim) {
  dim = wrap_dim(SoftmaxBackward<logarithm>::op.name, dim, std::max(output.dim(), 1));
  return apply(SoftmaxBackward<logarithm>{dim}, laid_out(grad_output, dim), laid_out(output, dim));
}

}  // namespace

Tensor softmax(const Tensor& input, int dim, std::optional<DType> dtype) {
  if (const amp::CastScope cast{amp::Name::softmax, input}; !dtype && cast) return softmax(cast(input), dim, dtype);
  return softmax_of<SoftmaxKind::softmax>(input, dim, dtype);
}
Tensor log_softmax(const Tensor& input, int dim, std::optional<DType> dtype) {
  if (const amp::CastScope cast{amp::Name::log_softmax, input}; !dtype && cast)
    return log_softmax(cast(input), dim, dtype);
  return softmax_of<SoftmaxKind::log_softmax>(input, dim, dtype);
}
Tensor softmin(const Tensor& input, int dim, std::optional<DType> dtype) { return softmax(neg(input), dim, dtype); }
Tensor _safe_softmax(const Tensor& input, int dim, std::optional<DType> dtype) {
  // (torch) integers become the default float here, unlike in softmax
  if (!dtype && is_integral(input.dtype())) dtype = default_dtype();
  return softmax_of<SoftmaxKind::safe_softmax>(input, dim, dtype);
}

Tensor softmax_backward(const Tensor& grad_output, const Tensor& output, int dim) {
  return backward_of<false>(grad_output, output, dim);
}
Tensor log_softmax_backward(const Tensor& grad_output, const Tensor& output, int dim) {
  return backward_of<true>(grad_output, output, dim);
}

}  // namespace neura

NEURA_DEFINE_OPERATION(softmax, Softmax<SoftmaxKind::softmax>);
NEURA_DEFINE_OPERATION(log_softmax, Softmax<SoftmaxKind::log_softmax>);
NEURA_DEFINE_OPERATION(_safe_softmax, Softmax<SoftmaxKind::safe_softmax>);
NEURA_DEFINE_OPERATION(log_softmax_backward, SoftmaxBackward<true>);
NEURA_DEFINE_OPERATION(softmax_backward, SoftmaxBackward<false>);
