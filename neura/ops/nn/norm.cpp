// layer_norm and rms_norm.
#include "neura/ops/nn/norm.h"

#include <limits>

#include "neura/op/registry.h"
#include "neura/op/safe.h"
#include "neura/ops/nn/norm_common.h"
#include "neura/ops/reduce/reduce.h"

namespace neura {
namespace {

Dims trailing(int first, int rank) {
  Dims d;
  for (int i = first; i < rank; ++i) d.push_back(i);
  return d;
}
// The sum over the dimensions before the normalised ones. (sum over no dimension would be over all.)
Tensor sum_leading(const Tensor& t, int first) { return first ? sum(t, trailing(0, first)) : t; }

Spec statistics(const Spec& x, int first) {  // leading sizes, then ones
  Shape sizes = x.sizes();
  for (int i = first; i < x.rank; ++i) sizes[i] = 1;
  return Spec::dense(accumulation(x.dtype), sizes, x.device);
}

// A contiguous x, and the parameters have its sizes from `first` on.
bool is_safe_row_norm(int first, const Spec& x, std::initializer_list<const Spec*> parameters) {
  if (!safe::contiguous(x) || !safe::is_between(first, 0, x.rank - 1)) return false;
  const Shape row(x.shape + first, std::size_t(x.rank - first));
  for (const Spec* p : parameters)
    if (safe::is_given(*p) && (!p->contiguous || p->sizes() != row)) return false;
  return true;
}

template <bool centred> struct RowNormBackward {
  using In = RowNormBackwardOperands::In;
  static constexpr Operation op = operation(centred ? "layer_norm_backward" : "rms_norm_backward")
                                      .optional(centred ? in(In::weight) : in(In::mean, In::weight));
  int first;
  bool needs_x, needs_w, needs_b;
  DType parameter;
  NEURA_FIELDS(first, needs_x, needs_w, needs_b, parameter)
  void infer(const Spec& g, const Spec& x, const Spec&, const Spec&, const Spec&, Spec& gx, Spec& gw, Spec& gb) const {
    const Shape row(x.shape + first, std::size_t(x.rank - first));
    gx = Spec::dense(g.dtype, needs_x ? x.sizes() : Shape{0}, x.device);
    gw = Spec::dense(parameter, needs_w ? row : Shape{0}, x.device);
    gb = Spec::dense(parameter, needs_b ? row : Shape{0}, x.device);
  }
  void run(Context& c, View g, View x, View mean, View rstd, View w, View gx, View gw, View gb) const {
    const View dx = needs_x ? gx : View(), dw = needs_w ? gw : View(), db = needs_b ? gb : View();
    if constexpr (centred) c.backend.norm->layer_norm_backward(c, g, x, mean, rstd, w, first, dx, dw, db);
    else c.backend.norm->rms_norm_backward(c, g, x, rstd, w, first, dx, dw);
  }
};

struct LayerNorm {
  using In = NormOperands::In;
  NEURA_RESULTS(y, mean, rstd)
  static constexpr Operation op = operation("layer_norm")
                                      .optional(in(In::weight, In::bias))
                                      .saves(In::input, in(In::input, In::weight), out(Out::mean, Out::rstd))
                                      .saves(In::weight, in(In::input), out(Out::mean, Out::rstd));
  int first;
  double eps;
  NEURA_FIELDS(first, eps)
  bool is_safe(const Spec& x, const Spec& w, const Spec& b) const { return is_safe_row_norm(first, x, {&w, &b}); }
  void infer(const Spec& x, const Spec& w, const Spec& b, Spec& y, Spec& mean, Spec& rstd) const {
    check_norm_dtypes(op.name, x, w, b);
    y = Spec::dense(x.dtype, x.sizes(), x.device);
    mean = rstd = statistics(x, first);
  }
  void run(Context& c, View x, View w, View b, View y, View mean, View rstd) const {
    c.backend.norm->layer_norm(c, x, w, b, first, eps, y, mean, rstd);
  }
  std::array<Tensor, 3> define(const Tensor& x, const Tensor& w, const Tensor& b) const {
    const Dims dims = trailing(first, x.dim());
    const Tensor wide = to(x, accumulation(x.dtype())), d = around_mean(wide, dims);
    const Tensor rstd = rsqrt(mean(d * d, dims, true) + eps);
    return {scaled(d * rstd, w, b, x.dtype()), mean(wide, dims, true), rstd};
  }
  void gradient(Gradient& g) const {
    if (!g.needs(In::input) && !g.needs(In::weight)) {
      g.result[In::bias] = sum_leading(g.g[Out::y], first);
      return;
    }
    const Tensor& x = g.input(In::input);
    const RowNormBackward<true> backward{first, g.needs(In::input), g.needs(In::weight), g.needs(In::bias),
                                         parameter_dtype(g, x.dtype())};
    auto r = apply(backward, laid_out(g.g[Out::y], first), laid_out(x, first), g.output(Out::mean), g.output(Out::rstd),
                   g.needs(In::input) ? g.input(In::weight) : Tensor());
    for (int i = 0; i < In::count; ++i)
      if (g.needs(i)) g.result[i] = r[std::size_t(i)];
  }
};

struct RmsNorm {
  NEURA_OPERANDS(input, weight)
  NEURA_RESULTS(y, rstd)
  static constexpr Operation op = operation("rms_norm")
                                      .optional(in(In::weight))
                                      .saves(In::input, in(In::input, In::weight), out(Out::rstd))
                                      .saves(In::weight, in(In::input), out(Out::rstd));
  int first;
  double eps;
  NEURA_FIELDS(first, eps)
  bool is_safe(const Spec& x, const Spec& w) const { return is_safe_row_norm(first, x, {&w}); }
  void infer(const Spec& x, const Spec& w, Spec& y, Spec& rstd) const {
    check_norm_dtypes(op.name, x, w, absent());
    y = Spec::dense(x.dtype, x.sizes(), x.device);
    rstd = statistics(x, first);
  }
  void run(Context& c, View x, View w, View y, View rstd) const {
    c.backend.norm->rms_norm(c, x, w, first, eps, y, rstd);
  }
  std::array<Tensor, 2> define(const Tensor& x, const Tensor& w) const {
    const Tensor wide = to(x, accumulation(x.dtype()));
    const Tensor rstd = rsqrt(mean(wide * wide, trailing(first, x.dim()), true) + eps);
    return {scaled(wide * rstd, w, {}, x.dtype()), rstd};
  }
  void gradient(Gradient& g) const {
    const Tensor& x = g.input(In::input);
    const RowNormBackward<false> backward{first, g.needs(In::input), g.needs(In::weight), false,
                                          parameter_dtype(g, x.dtype())};
    auto r = apply(backward, laid_out(g.g[Out::y], first), laid_out(x, first), Operand(), g.output(Out::rstd),
                   g.needs(In::input) ? g.input(In::weight) : Tensor());
    for (int i = 0; i < In::count; ++i)
      if (g.needs(i)) g.result[i] = r[std::size_t(i)];
  }
};

// The first normalised dimension, after all checks of shape.
int first_dimension(const char* op, const Tensor& x, const Shape& sizes, const Tensor& w, const Tensor& b) {
  check<ShapeError>(!sizes.empty(),
                    [&] { return std::string(op) + ": expected normalized_shape to have at least one size, got []"; });
  const int first = x.dim() - sizes.size();
  bool fits = first >= 0;
  for (int i = 0; fits && i < sizes.size(); ++i) fits = x.shape()[first + i] == sizes[i];
  check<ShapeError>(fits, [&] {
    return std::string(op) + ": expected an input whose last sizes are normalized_shape " + sizes.str() + ", got " +
           x.shape().str();
  });
  for (const Tensor* p : {&w, &b})
    check<ShapeError>(!*p || p->shape() == sizes, [&] {
      return std::string(op) + ": expected a " + (p == &w ? "weight" : "bias") + " of normalized_shape " + sizes.str() +
             ", got " + p->shape().str();
    });
  return first;
}

std::array<Tensor, 3> layer_norm_of(const Tensor& input, const Shape& sizes, const Tensor& weight, const Tensor& bias,
                                    double eps) {
  const int first = first_dimension("layer_norm", input, sizes, weight, bias);
  return apply(LayerNorm{first, eps}, laid_out(input, first), weight, bias);
}

double epsilon_of(DType d) {
  switch (d) {
    case DType::float64:
    case DType::complex128:
      return std::numeric_limits<double>::epsilon();
    case DType::float16:
      return 0x1p-10;
    case DType::bfloat16:
      return 0x1p-7;
    default:
      return double(std::numeric_limits<float>::epsilon());
  }
}

}  // namespace

Tensor layer_norm(const Tensor& input, const Shape& normalized_shape, const Tensor& weight, const Tensor& bias,
                  NormOptions o) {
  return std::move(layer_norm_of(input, normalized_shape, weight, bias, o.eps)[0]);
}
std::array<Tensor, 3> native_layer_norm(const Tensor& input, const Shape& normalized_shape, const Tensor& weight,
                                        const Tensor& bias, double eps) {
  auto r = layer_norm_of(input, normalized_shape, weight, bias, eps);
  return {r[0], to(r[1].detach(), input.dtype()), to(r[2].detach(), input.dtype())};
}

Tensor rms_norm(const Tensor& input, const Shape& normalized_shape, const Tensor& weight, RmsNormOptions o) {
  const int first = first_dimension("rms_norm", input, normalized_shape, weight, {});
  const double eps = o.eps ? *o.eps : epsilon_of(input.dtype());
  if (is_complex(input.dtype())) {
    const Tensor y = input * rsqrt(mean(input * input, trailing(first, input.dim()), true) + eps);
    return weight ? y * weight : y;
  }
  return std::move(apply(RmsNorm{first, eps}, laid_out(input, first), weight)[0]);
}

}  // namespace neura

NEURA_DEFINE_OPERATION(layer_norm_backward, RowNormBackward<true>);
NEURA_DEFINE_OPERATION(rms_norm_backward, RowNormBackward<false>);
NEURA_DEFINE_OPERATION(layer_norm, LayerNorm);
NEURA_DEFINE_OPERATION(rms_norm, RmsNorm);
