// Activations, softmax, dropout, random numbers.
#include <cmath>

#include "neura/onnx/operators.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/nn/softmax.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/random/dropout.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"

namespace neura::onnx {
namespace {

BoundNode hard_sigmoid(const Node& n) {
  const double alpha = n.real("alpha", 0.2), beta = n.real("beta", 0.5);
  return [alpha, beta](const Operands& x) -> Results { return clamp(add(mul(x[0], alpha), beta), {0.0, 1.0}); };
}
BoundNode leaky(const Node& n) {
  const double alpha = n.real("alpha", 0.01);
  return [alpha](const Operands& x) -> Results { return leaky_relu(x[0], {alpha}); };
}
BoundNode exponential_linear(const Node& n) {
  const double alpha = n.real("alpha", 1);
  return [alpha](const Operands& x) -> Results { return elu(x[0], {alpha}); };
}
BoundNode continuous_linear(const Node& n) {
  const double alpha = n.real("alpha", 1);
  return [alpha](const Operands& x) -> Results { return celu(x[0], {alpha}); };
}
BoundNode scaled_linear(const Node& n) {
  const double alpha = n.real("alpha", 1.6732632423543772), gamma = n.real("gamma", 1.0507009873554805);
  return [alpha, gamma](const Operands& x) -> Results { return mul(elu(x[0], {alpha}), gamma); };
}
BoundNode thresholded(const Node& n) {
  const double alpha = n.real("alpha", 1);
  return [alpha](const Operands& x) -> Results { return threshold(x[0], alpha, 0.0); };
}
BoundNode shrunk(const Node& n) {
  const double bias = n.real("bias", 0), lambda = n.real("lambd", 0.5);
  return [bias, lambda](const Operands& x) -> Results {
    const Tensor t = x[0];
    const bool whole = is_integral(t.dtype()) && bias == std::floor(bias);
    const auto by = [&](double b) { return whole ? Scalar(std::int64_t(b)) : Scalar(b); };
    const Tensor y = where(lt(t, -lambda), add(t, by(bias)), where(gt(t, lambda), sub(t, by(bias)), zeros_like(t)));
    return y.to(t.dtype());
  };
}
BoundNode swish(const Node& n) {
  const double alpha = n.real("alpha", 1);
  return [alpha](const Operands& x) -> Results { return mul(x[0], sigmoid(mul(x[0], alpha))); };
}
BoundNode gelu_of(const Node& n) {
  const bool tanh_form = n.text("approximate", "none") == "tanh";
  return [tanh_form](const Operands& x) -> Results { return gelu(x[0], {tanh_form ? "tanh" : "none"}); };
}
// The slope broadcasts to the input.
Results parametric(const Operands& x) {
  const Tensor t = x[0], slope = x[1];
  return where(lt(t, 0), mul(t, slope), t);
}

// Before version 7, a slope of one dimension is the channels'.
Results parametric_by_channel(const Operands& x) {
  const Tensor t = x[0];
  Tensor slope = x[1];
  Shape shape = Shape::filled(t.dim(), 1);
  if (slope.dim() == 1 && slope.numel() > 1 && t.dim() > 1) shape[1] = slope.numel(), slope = slope.reshape(shape);
  return where(lt(t, 0), mul(t, slope), t);
}

// One dimension, or (before version 13) all from the axis on, as if they were one.
template <Tensor (*f)(const Tensor&, int)> BoundNode along(const Node& n) {
  const std::int64_t axis = n.integer("axis", -1);
  return [axis](const Operands& x) -> Results { return f(x[0], axis_of("softmax", axis, x[0].dim())); };
}
template <Tensor (*f)(const Tensor&, int)> BoundNode flattened(const Node& n) {
  const std::int64_t axis = n.integer("axis", 1);
  return [axis](const Operands& x) -> Results {
    const Tensor t = x[0];
    const int from = axis == t.dim() ? t.dim() : axis_of("softmax", axis, t.dim());
    std::int64_t rows = 1;
    for (int i = 0; i < from; ++i) rows *= t.size(i);
    return f(t.reshape({rows, rows ? t.numel() / rows : 0}), 1).reshape(t.shape());
  };
}
Tensor soft(const Tensor& x, int dim) { return softmax(x, dim); }
Tensor log_soft(const Tensor& x, int dim) { return log_softmax(x, dim); }
Tensor hard(const Tensor& x, int dim) {
  const Tensor places = arange(x.size(dim), {DType::int64, x.device(), false});
  Shape shape = Shape::filled(x.dim(), 1);
  shape[dim] = x.size(dim);
  return eq(places.reshape(shape), argmax(x, dim, true)).to(x.dtype());
}

// A model in training mode drops; from version 12 on, also one whose file says so.
BoundNode dropped(const Node& n) {
  const double ratio = n.real("ratio", 0.5);
  const bool mask = n.wants(1), by_operands = n.version >= 12;
  return [=](const Operands& x) -> Results {
    const double p = by_operands ? (x.has(1) ? x.real(1) : 0.5) : ratio;
    const bool training = x.training() || (by_operands && x.has(2) && x.integer(2));
    if (!training || p == 0) {
      if (mask) return {Value(x[0]), Value(ones_like(x[0], {DType::boolean, {}, false}))};
      return x[0];
    }
    const Tensor keep = bernoulli(ones_like(x[0]), 1 - p);
    const Tensor y = mul(mul(x[0], keep), p < 1 ? 1 / (1 - p) : 0.0);
    return mask ? Results{Value(y), Value(keep.to(DType::boolean))} : Results(y);
  };
}

DType dtype_of_attribute(const Node& n, DType otherwise) {
  return n.has("dtype") ? dtype_for(Type(n.integer("dtype"))) : otherwise;
}
// A seed makes a generator of its own, which continues from call to call.
Generator* generator_of(const std::shared_ptr<Generator>& g) { return g.get(); }
std::shared_ptr<Generator> seeded(const Node& n) {
  if (!n.has("seed")) return nullptr;
  return std::make_shared<Generator>(std::uint64_t(std::int64_t(n.real("seed", 0) * 1e3)));
}
template <bool normal> BoundNode drawn(const Node& n) {
  const double a = n.real(normal ? "mean" : "low", 0), b = n.real(normal ? "scale" : "high", 1);
  const Shape fixed = shape_from(n.integers("shape"));
  const bool like = n.op.size() > 4 && n.op.substr(n.op.size() - 4) == "Like";
  const DType dtype = dtype_of_attribute(n, float32);
  const bool given = n.has("dtype");
  return [=, g = seeded(n)](const Operands& x) -> Results {
    const DType d = like && !given ? x[0].dtype() : dtype;
    Tensor t = empty(like ? x[0].shape() : fixed, {is_floating(d) ? d : float32, x.device(), false});
    if (normal) normal_(t, a, b, generator_of(g));
    else uniform_(t, a, b, generator_of(g));
    return t.to(d);
  };
}
BoundNode coin(const Node& n) {
  const bool given = n.has("dtype");
  const DType dtype = dtype_of_attribute(n, float32);
  return [=, g = seeded(n)](const Operands& x) -> Results {
    return bernoulli(x[0], generator_of(g)).to(given ? dtype : x[0].dtype());
  };
}
BoundNode several(const Node& n) {  // operands are logarithms of probabilities
  const std::int64_t count = n.integer("sample_size", 1);
  const DType dtype = dtype_of_attribute(n, int32);
  return [=, g = seeded(n)](const Operands& x) -> Results {
    return multinomial(softmax(x[0], 1), count, true, generator_of(g)).to(dtype);
  };
}

}  // namespace

std::span<const Operator> activation_operators() {
  constexpr Types plain = Types::plain;
  constexpr Folding never = Folding::never;
  static const Operator rows[] = {
      {"Relu", 1, kNewest, AS(relu(x[0]))},
      {"Sigmoid", 1, kNewest, AS(sigmoid(x[0]))},
      {"Tanh", 1, kNewest, AS(tanh(x[0]))},
      {"Softplus", 1, kNewest, AS(softplus(x[0]))},
      {"Softsign", 1, kNewest, AS(softsign(x[0]))},
      {"HardSwish", 14, kNewest, AS(hardswish(x[0]))},
      {"Mish", 18, kNewest, AS(mish(x[0]))},
      {"HardSigmoid", 6, kNewest, hard_sigmoid},
      {"LeakyRelu", 6, kNewest, leaky},
      {"PRelu", 1, 6, parametric_by_channel},
      {"PRelu", 7, kNewest, parametric},
      {"Elu", 6, kNewest, exponential_linear},
      {"Celu", 12, kNewest, continuous_linear},
      {"Selu", 6, kNewest, scaled_linear},
      {"ThresholdedRelu", 10, kNewest, thresholded},
      {"Shrink", 9, kNewest, shrunk},
      {"Gelu", 20, kNewest, gelu_of},
      {"Gelu", 1, kNewest, gelu_of, plain, Folding::allowed, "com.microsoft"},
      {"Swish", 24, kNewest, swish},
      {"Softmax", 1, 12, flattened<soft>},
      {"Softmax", 13, kNewest, along<soft>},
      {"LogSoftmax", 1, 12, flattened<log_soft>},
      {"LogSoftmax", 13, kNewest, along<log_soft>},
      {"Hardmax", 1, 12, flattened<hard>},
      {"Hardmax", 13, kNewest, along<hard>},
      {"Dropout", 7, kNewest, dropped, plain, never},
      {"RandomNormal", 1, kNewest, drawn<true>, plain, never},
      {"RandomNormalLike", 1, kNewest, drawn<true>, plain, never},
      {"RandomUniform", 1, kNewest, drawn<false>, plain, never},
      {"RandomUniformLike", 1, kNewest, drawn<false>, plain, never},
      {"Bernoulli", 15, kNewest, coin, plain, never},
      {"Multinomial", 7, kNewest, several, plain, never},
  };
  return rows;
}

}  // namespace neura::onnx
