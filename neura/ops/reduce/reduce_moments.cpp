// Variance, deviation, logsumexp and norms.
#include <cmath>
#include <limits>

#include "neura/op/cast_scope.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/op/safe.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/reduce/reduce_common.h"

namespace neura {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Dims named(unsigned dims) {
  Dims list;
  for (int d = 0; dims >> d; ++d)
    if (dims >> d & 1) list.push_back(d);
  return list;
}
Tensor mean_over(const Tensor& x, unsigned dims) { return dims ? mean(x, named(dims), true) : x; }
Tensor sum_over(const Tensor& x, unsigned dims) { return dims ? sum(x, named(dims), true) : x; }
// g / y where y is not 0, and 0 where it is; so are its own derivatives.
Tensor divided(const Tensor& g, const Tensor& y) { return g / where(eq(y, 0), kInf, y); }

struct MomentsBase {
  unsigned dims;
  bool keepdim;
  double correction;
  NEURA_FIELDS(dims, keepdim, correction)
  bool is_safe(const Spec& x) const { return is_floating(x.dtype) && safe::has_mask(x, dims); }
  void infer(const Spec& x, Spec& y, Spec& mean) const {
    y = mean = Spec::dense(x.dtype, reduced_sizes(x.sizes(), dims, keepdim), x.device);
  }
  void add_gradient(Gradient& g, const Tensor& of_variance) const {
    const Tensor& x = g.input(0);
    const Shape sizes = x.shape();
    const double n = double(reduced_count(sizes, dims)), freedom = n - correction;
    if (of_variance) {
      const Tensor distance = x - restore(g.output(1), sizes, dims), up = restore(of_variance, sizes, dims);
      if (freedom > 0) {  // the mean was rounded: the mean of the distances is what rounding took
        const Tensor factor = up * (2 / freedom);
        g.result[0] = addcmul(-factor * mean_over(distance, dims), factor, distance);
      } else g.result[0] = up * where(eq(distance, 0), std::numeric_limits<double>::quiet_NaN(), kInf);
    }
    if (g.g[1]) {
      const Tensor part = expand(restore(g.g[1] / n, sizes, dims), sizes);
      g.result[0] = g.result[0] ? g.result[0] + part : part;
    }
  }
};
struct Var : MomentsBase {
  static constexpr Operation op = operation("var").saves(0, in(0), out(1));
  void run(Context& c, View x, View y, View mean) const {
    c.backend.reduce->moments(c, correction, false, dims, x, y, mean);
  }
  void gradient(Gradient& g) const { add_gradient(g, g.g[0]); }
};
struct Std : MomentsBase {
  static constexpr Operation op = operation("std").saves(0, in(0), out(0, 1));
  void run(Context& c, View x, View y, View mean) const {
    c.backend.reduce->moments(c, correction, true, dims, x, y, mean);
  }
  void gradient(Gradient& g) const { add_gradient(g, g.g[0] ? divided(g.g[0] / 2.0, g.output()) : Tensor()); }
};

template <class Op> MomentsResult moments(const Tensor& x, const Dims& dim, double correction, bool keepdim) {
  check_dtype(Op::op.name, x.spec(), dtypes::floating | dtypes::complexes, "floating or complex");
  const unsigned dims = dims_mask(Op::op.name, dim, x.dim());
  auto [spread, mean] = apply(Op{{dims, keepdim, correction}}, x);
  return {spread, mean};
}
// The variances or deviations of both parts of complex numbers, which are real: [..., 2].
template <class Op> Tensor of_parts(const Tensor& x, const Dims& dim, double correction, bool keepdim) {
  const Tensor parts = view_as_real(contiguous(x));
  const unsigned dims = dims_mask(Op::op.name, dim, x.dim());
  if (x.dim() == 0) return moments<Op>(unsqueeze(parts, 0), 0, correction, false).spread;
  return moments<Op>(parts, named(dims), correction, keepdim).spread;
}

struct LogSumExp {
  static constexpr Operation op = operation("logsumexp").saves(0, in(0), out(0));
  unsigned dims;
  bool keepdim;
  NEURA_FIELDS(dims, keepdim)
  bool is_safe(const Spec& x) const {
    return is_floating(x.dtype) && safe::has_mask(x, dims) && safe::is_not_empty(x, dims);
  }
  void infer(const Spec& x, Spec& y) const {
    y = Spec::dense(x.dtype, reduced_sizes(x.sizes(), dims, keepdim), x.device);
  }
  void run(Context& c, View x, View y) const { c.backend.reduce->logsumexp(c, dims, x, y); }
  void gradient(Gradient& g) const {
    const Shape sizes = g.input(0).shape();
    Tensor y = g.output();  // of nothing but -inf it is -inf, and -inf - -inf would be NaN
    if (!is_complex(y.dtype())) y = masked_fill(y, y == -kInf, 0);
    g.result[0] = restore(g.g[0], sizes, dims) * exp(g.input(0) - restore(y, sizes, dims));
  }
};

struct Norm {
  static constexpr Operation op = operation("norm").saves(0, in(0), out(0));
  double ord;
  DType result;
  unsigned dims;
  bool keepdim;
  NEURA_FIELDS(ord, result, dims, keepdim)

  bool is_safe(const Spec& x) const {
    return is_floating(x.dtype) && result == x.dtype && safe::has_mask(x, dims) && safe::is_not_empty(x, dims);
  }
  void infer(const Spec& x, Spec& y) const {
    y = Spec::dense(result, reduced_sizes(x.sizes(), dims, keepdim), x.device);
  }
  void run(Context& c, View x, View y) const {
    const ReduceOp fold = ord == 0       ? ReduceOp::norm0
                          : ord == 1     ? ReduceOp::norm1
                          : ord == 2     ? ReduceOp::norm2
                          : ord == kInf  ? ReduceOp::norm_inf
                          : ord == -kInf ? ReduceOp::norm_neg_inf
                                         : ReduceOp::normp;
    const DType computed = accumulation(result);
    alignas(8) char exponent[8];
    Scalar(ord).store(computed, exponent);
    const Spec number = Spec::dense(computed, {});
    c.backend.reduce->fold(c, fold, computed, dims, x, fold == ReduceOp::normp ? View{exponent, &number} : View{}, y);
  }
  void gradient(Gradient& g) const {
    if (ord == 0) return;  // a count has no derivative
    const Tensor& x = g.input(0);
    const Shape sizes = x.shape();
    const Tensor y = restore(g.output(), sizes, dims), up = restore(g.g[0], sizes, dims);
    if (ord == 1) g.result[0] = sgn(x) * up;
    else if (std::isinf(ord)) {
      const Tensor best = eq(abs(x), y);
      g.result[0] = sgn(x) * (up / sum_over(best, dims) * best);
    } else if (ord < 1) {
      const Tensor a = abs(x), size = where(eq(a, 0), kInf, a);
      g.result[0] = sgn(x) * pow(size / y, ord - 1) * up;
    } else {  // powers of ratios: those of the numbers themselves may leave the range; of zeros the ratios are 0
      const Tensor ratio = x / where(eq(y, 0), kInf, y);
      if (ord == 2) g.result[0] = ratio * up;
      else if (ord < 2) g.result[0] = sgn(x) * pow(abs(ratio), ord - 1) * up;
      else g.result[0] = ratio * pow(abs(ratio), ord - 2) * up;
    }
  }
};
}  // namespace

Tensor var(const Tensor& input, const Dims& dim, double correction, bool keepdim) {
  if (is_complex(input.dtype())) return sum(of_parts<Var>(input, dim, correction, keepdim), -1);
  return moments<Var>(input, dim, correction, keepdim).spread;
}
Tensor std(const Tensor& input, const Dims& dim, double correction, bool keepdim) {
  if (is_complex(input.dtype())) return vector_norm(of_parts<Std>(input, dim, correction, keepdim), 2, -1);
  return moments<Std>(input, dim, correction, keepdim).spread;
}
MomentsResult var_mean(const Tensor& input, const Dims& dim, double correction, bool keepdim) {
  if (is_complex(input.dtype())) return {var(input, dim, correction, keepdim), mean(input, dim, keepdim)};
  return moments<Var>(input, dim, correction, keepdim);
}
MomentsResult std_mean(const Tensor& input, const Dims& dim, double correction, bool keepdim) {
  if (is_complex(input.dtype())) return {std(input, dim, correction, keepdim), mean(input, dim, keepdim)};
  return moments<Std>(input, dim, correction, keepdim);
}

Tensor logsumexp(const Tensor& input, const Dims& dim, bool keepdim) {
  check_dtype("logsumexp", input.spec(), dtypes::all, "arithmetic");
  const Tensor x = is_integral(input.dtype()) ? to(input, default_dtype()) : input;
  const unsigned dims = dims_mask("logsumexp", dim, x.dim());
  if (!is_complex(x.dtype())) return apply(LogSumExp{dims, keepdim}, x);
  const Tensor top = !x.numel() ? sum_over(real(x), dims)
                     : dims     ? amax(real(x), named(dims), true)
                                : real(x);  // shifts both parts' common size away
  const Tensor shift = where(isinf(top), 0.0, top).detach();
  const Tensor sums = log(sum_over(exp(x - shift), dims)) + shift;
  return keepdim ? sums : reshape(sums, reduced_sizes(x.shape(), dims, false));
}

Tensor vector_norm(const Tensor& input, double ord, const Dims& dim, bool keepdim, std::optional<DType> dtype) {
  if (const amp::CastScope cast{amp::Name::vector_norm, input}; !dtype && cast)
    return vector_norm(cast(input), ord, dim, keepdim, dtype);
  check_dtype("norm", input.spec(), dtypes::floating | dtypes::complexes, "floating or complex");
  const DType wanted = dtype.value_or(input.dtype());
  check<DTypeError>(
      bit(wanted) & (dtypes::floating | dtypes::complexes) && is_complex(wanted) >= is_complex(input.dtype()),
      [&] { return std::string("norm: expected a floating dtype, complex for a complex input, got ") + name(wanted); });
  const Tensor x = is_complex(input.dtype()) ? abs(to(input, wanted)) : input;
  const unsigned dims = dims_mask("norm", dim, x.dim());
  if (ord < 0 || ord == kInf) check_not_empty("norm", x.spec(), dims);
  return apply(Norm{ord, to_real(wanted), dims, keepdim}, x);
}
Tensor norm(const Tensor& input, double p, const Dims& dim, bool keepdim, std::optional<DType> dtype) {
  return vector_norm(input, p, dim, keepdim, dtype);
}
Tensor dist(const Tensor& input, const Tensor& other, double p) {
  if (const amp::CastScope cast{amp::Name::dist, input, other}) return dist(cast(input), cast(other), p);
  return vector_norm(input - other, p);
}

Tensor renorm(const Tensor& input, double p, int dim, double maxnorm) {
  if (const amp::CastScope cast{amp::Name::renorm, input}) return renorm(cast(input), p, dim, maxnorm);
  check<ShapeError>(input.dim() > 1,
                    [&] { return "renorm: expected at least two dimensions, got " + input.spec().str(); });
  check<ValueError>(p > 0 && maxnorm >= 0, [&] {
    return "renorm: expected p above 0 and maxnorm of 0 or more, got " + std::to_string(p) + " and " +
           std::to_string(maxnorm);
  });
  const unsigned others = ((1u << input.dim()) - 1) & ~dim_mask("renorm", dim, input.dim());
  const Tensor size = vector_norm(input, p, named(others), true);
  return input * where(gt(size, maxnorm), maxnorm / (size + 1e-7), 1.0);
}

}  // namespace neura

NEURA_DEFINE_OPERATION(var, Var);
NEURA_DEFINE_OPERATION(std, Std);
NEURA_DEFINE_OPERATION(logsumexp, LogSumExp);
NEURA_DEFINE_OPERATION(norm, Norm);
