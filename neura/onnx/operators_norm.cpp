// Normalisations.
#include <cmath>

#include "neura/onnx/operators.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/nn/norm.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"

namespace neura::onnx {
namespace {

Dims all_but_channels(const Tensor& t) {
  Dims d = 0;
  for (int i = 2; i < t.dim(); ++i) d.push_back(i);
  return d;
}
Tensor over_channels(const Tensor& v, int rank) {
  Shape s = Shape::filled(rank, 1);
  if (rank > 1) s[1] = v.numel();
  return reshape(v, s);
}

// Of a batch: y, and what the running statistics become (of the variance without correction, as ONNX has it).
Results normalise_batch(const Operands& x, double eps, double momentum) {
  const Tensor t = x[0];
  const auto [variance, mean] = var_mean(t.to(accumulation(t.dtype())), all_but_channels(t), 0);
  const Tensor y = mul(sub(t, over_channels(mean, t.dim())), rsqrt(add(over_channels(variance, t.dim()), eps)));
  const auto moved = [&](std::size_t i, const Tensor& now) {
    return add(mul(x[i], momentum), mul(now, 1 - momentum)).to(x[i].dtype());
  };
  const Tensor out = add(mul(y, over_channels(x[1], t.dim())), over_channels(x[2], t.dim()));
  return {Value(out.to(t.dtype())), Value(moved(3, mean)), Value(moved(4, variance))};
}
BoundNode batch(const Node& n) {
  const double eps = n.real("epsilon", 1e-5), momentum = n.real("momentum", 0.9);
  const bool asked = n.version < 7 ? !n.flag("is_test") : n.flag("training_mode");
  if (!n.flag("spatial", true))
    throw NotImplementedError("onnx.load: BatchNormalization with spatial=0 is not implemented");
  return [=](const Operands& x) -> Results {
    if (asked) return normalise_batch(x, eps, momentum);
    BatchNormOptions o;
    o.eps = eps, o.training = x.training(), o.momentum = 1 - momentum;  // training: the statistics are moved in place
    if (x[0].dim() < 2 || x[0].dtype() != x[1].dtype() || x[1].dtype() != x[3].dtype()) {
      const Tensor t = x[0].to(accumulation(x[0].dtype())), scale = over_channels(x[1], t.dim());
      const Tensor y = mul(sub(t, over_channels(x[3], t.dim())), rsqrt(add(over_channels(x[4], t.dim()), eps)));
      return add(mul(y, scale), over_channels(x[2], t.dim())).to(x[0].dtype());
    }
    return batch_norm(x[0], x[3], x[4], x[1], x[2], o);
  };
}
BoundNode instance(const Node& n) {
  const double eps = n.real("epsilon", 1e-5);
  return [eps](const Operands& x) -> Results {
    InstanceNormOptions o;
    o.eps = eps;
    return instance_norm(x[0], {}, {}, x[1], x[2], o);
  };
}

BoundNode layer(const Node& n) {
  const std::int64_t axis = n.integer("axis", -1), stash = n.integer("stash_type", 1);
  const double eps = n.real("epsilon", 1e-5);
  const bool more = n.wants(1) || n.wants(2);
  return [=](const Operands& x) -> Results {
    const Tensor t = x[0];
    const int first = axis_of("LayerNormalization", axis, t.dim());
    const Shape normalised(t.shape().data() + first, std::size_t(t.dim() - first));
    const Tensor bias = x.maybe(2);
    if (!more && x[1].shape() == normalised && (!bias || bias.shape() == normalised) && x[1].dtype() == t.dtype())
      return layer_norm(t, normalised, x[1], bias, {eps});
    Dims dims;
    for (int i = first; i < t.dim(); ++i) dims.push_back(i);
    const Tensor wide = t.to(stash == 1 && t.dtype() != float64 ? float32 : t.dtype());
    const auto [variance, mean] = var_mean(wide, dims, 0, true);
    const Tensor inverse = rsqrt(add(variance, eps));
    Tensor y = mul(mul(sub(wide, mean), inverse).to(t.dtype()), x[1]);
    if (bias) y = add(y, bias);
    return {Value(y), Value(mean), Value(inverse)};
  };
}
BoundNode root_mean_square(const Node& n) {
  const std::int64_t axis = n.integer("axis", -1);
  const double eps = n.real("epsilon", 1e-5);
  return [=](const Operands& x) -> Results {
    const Tensor t = x[0], wide = t.dtype() == float64 ? t : t.to(float32);
    Dims dims;
    for (int i = axis_of("RMSNormalization", axis, t.dim()); i < t.dim(); ++i) dims.push_back(i);
    const Tensor inverse = rsqrt(add(mean(mul(wide, wide), dims, true), eps));
    return mul(mul(wide, inverse).to(t.dtype()), x[1]).to(x[1].dtype());
  };
}

// The scale belongs to channels from version 21 on, before that to groups.
BoundNode group(const Node& n) {
  const std::int64_t groups = n.integer("num_groups");
  const double eps = n.real("epsilon", 1e-5);
  const bool of_groups = n.version < 21;
  return [=](const Operands& x) -> Results {
    const Tensor t = x[0];
    if (t.dim() < 2 || groups < 1 || t.size(1) % groups)
      throw ShapeError("GroupNormalization: expected channels in groups, got " + t.shape().str());
    Tensor scale = x[1], bias = x[2];
    if (of_groups) {
      const std::int64_t each = t.size(1) / groups;
      scale = repeat_interleave(scale, each, 0), bias = repeat_interleave(bias, each, 0);
    }
    return group_norm(t, int(groups), scale, bias, {eps});
  };
}

BoundNode local_response(const Node& n) {
  const double alpha = n.real("alpha", 1e-4), beta = n.real("beta", 0.75), bias = n.real("bias", 1);
  const std::int64_t size = n.integer("size");
  if (size < 1) refuse("LRN", "a positive size", std::to_string(size));
  return [=](const Operands& x) -> Results {
    const Tensor t = x[0];
    if (t.dim() < 2) throw ShapeError("LRN: expected [N, C, ...], got " + t.shape().str());
    std::vector<std::int64_t> pads(std::size_t(2 * t.dim()), 0);
    const auto at = 2 * std::size_t(t.dim() - 2);
    pads[at] = (size - 1) / 2, pads[at + 1] = size - 1 - pads[at];
    const Tensor squares = sum(neura::unfold(constant_pad_nd(mul(t, t), pads), 1, size, 1), t.dim());
    return neura::div(t, pow(add(mul(squares, alpha / double(size)), bias), beta));
  };
}
BoundNode by_length(const Node& n) {
  const std::int64_t axis = n.integer("axis", -1), p = n.integer("p", 2);
  return [=](const Operands& x) -> Results {
    const Tensor t = x[0];
    const int dim = axis_of("LpNormalization", axis, t.dim());
    const Tensor length = p == 1 ? sum(abs(t), dim, true) : sqrt(sum(mul(t, t), dim, true));
    return where(eq(length, 0), zeros_like(t), neura::div(t, length));
  };
}
BoundNode mean_variance(const Node& n) {
  const std::vector<std::int64_t> axes = n.integers("axes", {0, 2, 3});
  return [axes](const Operands& x) -> Results {
    const Tensor t = x[0];
    const Dims dims(shape_from(axes));
    const Tensor centre = mean(t, dims, true);
    const Tensor deviation = sqrt(sub(mean(mul(t, t), dims, true), mul(centre, centre)));
    return neura::div(sub(t, centre), add(deviation, 1e-9));
  };
}

// x + skip (+ bias), normalised (com.microsoft); the sum is the fourth output.
BoundNode skip_layer(const Node& n) {
  const double eps = n.real("epsilon", 1e-12);
  return [eps](const Operands& x) -> Results {
    Tensor s = add(x[0], x[1]);
    if (x.has(4)) s = add(s, x[4]);
    if (s.dim() < 1) throw ShapeError("SkipLayerNormalization: expected a dimension to normalise, got []");
    const Tensor y = layer_norm(s, Shape{s.shape().back()}, x[2], x.maybe(3), {eps});
    return {Value(y), Value(), Value(), Value(s)};
  };
}

}  // namespace

std::span<const Operator> norm_operators() {
  constexpr Types plain = Types::plain;
  constexpr Folding allowed = Folding::allowed, never = Folding::never;
  static const Operator rows[] = {
      {"BatchNormalization", 6, kNewest, batch, plain, never},
      {"InstanceNormalization", 6, kNewest, instance},
      {"LayerNormalization", 1, kNewest, layer},
      {"RMSNormalization", 23, kNewest, root_mean_square},
      {"SimplifiedLayerNormalization", 1, kNewest, root_mean_square},
      {"GroupNormalization", 18, kNewest, group},
      {"LRN", 1, kNewest, local_response},
      {"LpNormalization", 1, kNewest, by_length},
      {"MeanVarianceNormalization", 9, kNewest, mean_variance},
      {"SkipLayerNormalization", 1, kNewest, skip_layer, plain, allowed, "com.microsoft"},
  };
  return rows;
}

}  // namespace neura::onnx
