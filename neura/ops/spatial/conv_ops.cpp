#include "neura/ops/spatial/conv_ops.h"

#include <algorithm>

#include "neura/core/checked_int.h"
#include "neura/op/registry.h"
#include "neura/op/safe.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

std::int64_t out_size(const ConvolutionShape& s, int d, std::int64_t in, std::int64_t kernel) {
  return (in + s.before[d] + s.after[d] - s.dilation[d] * (kernel - 1) - 1) / s.stride[d] + 1;
}
CheckedInt product(const Shape& sizes) {
  CheckedInt n = 1;
  for (const std::int64_t s : sizes) n = n * s;
  return n;
}
CheckedInt windows(const ConvolutionShape& s, const std::int64_t* in, const Shape& kernel) {
  CheckedInt n = 1;
  for (int d = 0; d < s.dims; ++d) n = n * out_size(s, d, in[d], kernel[d]);
  return n;
}
// What kernels see: three spatial dimensions, leading ones of size 1.
ConvShape for_kernel(const ConvolutionShape& s, std::int64_t n, std::int64_t channels, std::int64_t filters,
                     const std::int64_t* in, const std::int64_t* kernel, const std::int64_t* out) {
  ConvShape c;
  c.n = n, c.channels = channels, c.filters = filters, c.groups = s.groups;
  for (int d = 0; d < s.dims; ++d) {
    const int to = 3 - s.dims + d;
    c.in[to] = in[d], c.kernel[to] = kernel[d], c.out[to] = out ? out[d] : out_size(s, d, in[d], kernel[d]);
    c.stride[to] = s.stride[d], c.padding[to] = s.before[d], c.dilation[to] = s.dilation[d];
  }
  return c;
}
ConvShape for_kernel(const ConvolutionShape& s, const Spec& x, const Spec& w, const Spec& y) {
  return for_kernel(s, x.shape[0], x.shape[1], w.shape[0], x.shape + 2, w.shape + 2, y.shape + 2);
}
void check_dtypes(const char* op, const Spec& a, const Spec& b, const Spec* bias = nullptr) {
  const bool biased = bias && bias->rank != kAbsent;
  check<DTypeError>(a.dtype == b.dtype && (!biased || bias->dtype == a.dtype) && (bit(a.dtype) & dtypes::numbers), [&] {
    return std::string(op) + ": expected numbers of one dtype, got " + a.str() + (biased ? ", " : " and ") + b.str() +
           (biased ? " and " + bias->str() : "") + "; convert with .to()";
  });
}
Shape spatial(const GradientSpec& m) { return {m.shape + 2, std::size_t(m.rank - 2)}; }

// f(op(a), op(b)) is linear in both; the derivative with respect to a is that of f at the conjugate of op(b), itself
// conjugated where op(a) conjugates. In the order (gradient, b).
Conjugated left(Conjugated c) { return {c.first, c.second == c.first}; }
Conjugated right(Conjugated c) { return {c.second, c.first == c.second}; }
Conjugated swapped(Conjugated c) { return {c.second, c.first}; }

// Are these attributes a convolution's, of operands that are both contiguous?
bool fits(const ConvolutionShape& s, const Spec& x, const Spec& w) {
  const auto each = [&](const Shape& numbers, std::int64_t least) {
    return numbers.size() == s.dims && std::all_of(numbers.begin(), numbers.end(), [&](std::int64_t n) {
             return safe::is_between(n, least, safe::kMost);
           });
  };
  return safe::contiguous(x, w) && safe::one_dtype(x, w) && safe::is_between(s.dims, 1, 3) &&
         safe::is_between(s.groups, 1, safe::kMost) && each(s.stride, 1) && each(s.dilation, 1) && each(s.before, 0) &&
         each(s.after, 0) && x.rank == s.dims + 2 && w.rank == s.dims + 2 && w.numel > 0 &&
         w.shape[0] % s.groups == 0 && (CheckedInt(w.shape[1]) * s.groups).fits();
}
// Results along dimension d; -1 where the window does not fit in.
std::int64_t fitting(const ConvolutionShape& s, int d, std::int64_t in, std::int64_t kernel) {
  if (!safe::is_between(in, 1, safe::kMost) || !safe::is_between(kernel, 1, safe::kMost)) return -1;
  const std::int64_t room = in + s.before[d] + s.after[d] - s.dilation[d] * (kernel - 1) - 1;
  return room < 0 ? -1 : room / s.stride[d] + 1;
}

Tensor forward(const ConvolutionShape& s, const Tensor& x, const Tensor& w, Conjugated c) {
  return apply(ConvolutionOp{s, c}, x.contiguous(), w.contiguous(), Operand());
}
Tensor input_gradient(const ConvolutionShape& s, const Shape& in, const Tensor& g, const Tensor& w, Conjugated c) {
  return apply(ConvolutionBackwardInput{s, in, c}, g.contiguous(), w.contiguous());
}
Tensor weight_gradient(const ConvolutionShape& s, const Shape& kernel, const Tensor& x, const Tensor& g, Conjugated c) {
  return apply(ConvolutionBackwardWeight{s, kernel, c}, x.contiguous(), g.contiguous());
}

}  // namespace

bool ConvolutionOp::is_safe(const Spec& x, const Spec& w, const Spec& bias) const {
  if (!fits(s, x, w) || !safe::contiguous(bias) || !safe::one_dtype(x, bias)) return false;
  for (int d = 0; d < s.dims; ++d)
    if (fitting(s, d, x.shape[d + 2], w.shape[d + 2]) < 0) return false;
  return w.shape[1] * s.groups == x.shape[1] && safe::absent_or_vector(bias, w.shape[0]);
}
void ConvolutionOp::infer(const Spec& x, const Spec& w, const Spec& bias, Spec& y) const {
  check_dtypes(op.name, x, w, &bias);
  Shape shape = {x.shape[0], w.shape[0]};
  for (int d = 0; d < s.dims; ++d) shape.push_back(out_size(s, d, x.shape[d + 2], w.shape[d + 2]));
  y = Spec::dense(x.dtype, shape, x.device);
}
void ConvolutionOp::run(Context& c, View x, View w, View bias, View y) const {
  c.backend.conv->forward(c, x, w, bias, y, for_kernel(s, *x.spec, *w.spec, *y.spec), conj);
}
void ConvolutionOp::gradient(Gradient& g) const {
  const Tensor& up = g.g[0];
  if (g.needs(In::input))
    g.result[In::input] = input_gradient(s, spatial(*g.meta[In::input]), up, g.input(In::weight), left(conj));
  if (g.needs(In::weight))
    g.result[In::weight] =
        weight_gradient(s, spatial(*g.meta[In::weight]), g.input(In::input), up, swapped(right(conj)));
  if (g.needs(In::bias)) {
    Dims others = {0};
    for (int d = 0; d < s.dims; ++d) others.push_back(d + 2);
    g.result[In::bias] = up.sum(others);
  }
}

bool ConvolutionBackwardInput::is_safe(const Spec& g, const Spec& w) const {
  if (!fits(s, g, w) || input.size() != s.dims) return false;
  for (int d = 0; d < s.dims; ++d)
    if (fitting(s, d, input[d], w.shape[d + 2]) != g.shape[d + 2]) return false;
  return g.shape[1] == w.shape[0];
}
void ConvolutionBackwardInput::infer(const Spec& g, const Spec& w, Spec& x) const {
  check_dtypes(op.name, g, w);
  Shape shape = {g.shape[0], (CheckedInt(w.shape[1]) * s.groups).of(op.name)};
  for (std::int64_t size : input) shape.push_back(size);
  x = Spec::dense(g.dtype, shape, g.device);
}
void ConvolutionBackwardInput::run(Context& c, View g, View w, View x) const {
  c.backend.conv->input_gradient(c, g, w, x, for_kernel(s, *x.spec, *w.spec, *g.spec), conj);
}
void ConvolutionBackwardInput::gradient(Gradient& g) const {
  if (g.needs(In::grad_output)) g.result[In::grad_output] = forward(s, g.g[0], g.input(In::weight), left(conj));
  if (g.needs(In::weight))
    g.result[In::weight] =
        weight_gradient(s, spatial(*g.meta[In::weight]), g.g[0], g.input(In::grad_output), right(conj));
}

void ConvolutionBackwardWeight::infer(const Spec& x, const Spec& g, Spec& w) const {
  check_dtypes(op.name, x, g);
  Shape shape = {g.shape[1], x.shape[1] / s.groups};
  for (std::int64_t size : kernel) shape.push_back(size);
  w = Spec::dense(x.dtype, shape, x.device);
}
void ConvolutionBackwardWeight::run(Context& c, View x, View g, View w) const {
  c.backend.conv->weight_gradient(c, x, g, w, for_kernel(s, *x.spec, *w.spec, *g.spec), conj);
}
void ConvolutionBackwardWeight::gradient(Gradient& g) const {
  if (g.needs(In::input))
    g.result[In::input] =
        input_gradient(s, spatial(*g.meta[In::input]), g.input(In::grad_output), g.g[0], swapped(left(conj)));
  if (g.needs(In::grad_output))
    g.result[In::grad_output] = forward(s, g.input(In::input), g.g[0], swapped(right(conj)));
}

void Im2Col::infer(const Spec& x, Spec& columns) const {
  const std::int64_t rows = (x.shape[1] * product(kernel)).of("unfold");
  columns = Spec::dense(x.dtype, Shape{x.shape[0], rows, windows(s, x.shape + 2, kernel).of("unfold")}, x.device);
}
void Im2Col::run(Context& c, View x, View columns) const {
  c.backend.conv->unfold(c, x, columns,
                         for_kernel(s, x.size(0), x.size(1), 1, x.spec->shape + 2, kernel.data(), nullptr));
}
void Im2Col::gradient(Gradient& g) const {
  g.result[0] = apply(FoldOp{s, kernel, spatial(*g.meta[0])}, g.g[0].contiguous());
}

void FoldOp::infer(const Spec& columns, Spec& x) const {
  const std::int64_t window = product(kernel).of("fold"), count = windows(s, input.data(), kernel).of("fold");
  check<DTypeError>(differentiable(columns.dtype),
                    [&] { return "fold: expected a floating or complex dtype, got " + columns.str(); });
  check<ShapeError>(columns.shape[1] % window == 0 && columns.shape[2] == count, [&] {
    return "fold: expected [n, channels * " + std::to_string(window) + ", " + std::to_string(count) + "], got " +
           columns.str();
  });
  Shape shape = {columns.shape[0], columns.shape[1] / window};
  for (std::int64_t size : input) shape.push_back(size);
  x = Spec::dense(columns.dtype, shape, columns.device);
}
void FoldOp::run(Context& c, View columns, View x) const {
  c.backend.conv->fold(c, columns, x, for_kernel(s, x.size(0), x.size(1), 1, input.data(), kernel.data(), nullptr));
}
void FoldOp::gradient(Gradient& g) const { g.result[0] = apply(Im2Col{s, kernel}, g.g[0].contiguous()); }

}  // namespace neura

NEURA_DEFINE_OPERATION(convolution, ConvolutionOp);
NEURA_DEFINE_OPERATION(convolution_backward_input, ConvolutionBackwardInput);
NEURA_DEFINE_OPERATION(convolution_backward_weight, ConvolutionBackwardWeight);
NEURA_DEFINE_OPERATION(im2col, Im2Col);
NEURA_DEFINE_OPERATION(fold, FoldOp);
