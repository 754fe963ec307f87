#include "neura/ops/quant/quantize.h"

#include <limits>
#include <string>

#include "neura/backend/kernels/quant.h"
#include "neura/core/error_details.h"
#include "neura/core/wrapped.h"
#include "neura/op/apply.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/reduce/expect.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"

namespace neura {

NEURA_FIELDS_OF(Quantization, low, high, axis)

namespace {

void check_floating(const char* op, const Spec& x) {
  check<UnsupportedDTypeError>(is_floating(x.dtype), [&] {
    return std::string(op) + ": expected a floating dtype, got " + x.str() + "; convert it with .to()";
  });
}
// One number, or one for each place along the axis.
void check_parameters(const char* op, const Spec& x, const Spec& scale, const Spec& zero, const Quantization& q) {
  check<ShapeError>(q.axis < x.rank, [&] {
    return std::string(op) + ": expected an axis of the input, got " + std::to_string(q.axis) + " of " + x.str();
  });
  const std::int64_t places = q.axis < 0 ? 1 : x.shape[q.axis];
  const auto fits = [&](const Spec& s) { return s.rank == 1 && s.shape[0] == places && s.contiguous; };
  check<ShapeError>(fits(scale) && fits(zero), [&] {
    return std::string(op) + ": expected scale and zero_point to have " + std::to_string(places) +
           (q.axis < 0 ? " element" : " elements, one for each place along axis " + std::to_string(q.axis)) + ", got " +
           scale.str() + " and " + zero.str();
  });
  check<DTypeError>(scale.dtype == DType::float32 && zero.dtype == DType::int32, [&] {
    return std::string(op) + ": expected scale of float32 and zero_point of int32, got " + scale.str() + " and " +
           zero.str();
  });
}

// What a definition reads of the parameters: numbers that broadcast against x.
Tensor along(const Tensor& parameter, const Tensor& x, const Quantization& q) {
  if (q.axis < 0) return reshape(parameter, {});
  Shape shape = Shape::filled(x.dim(), 1);
  shape[q.axis] = parameter.numel();
  return reshape(parameter, shape);
}
DType wide(const Tensor& x) { return x.dtype() == DType::float64 ? DType::float64 : DType::float32; }

struct Steps {  // round(x / scale) and the bounds of it
  Tensor scale, q, low, high;
  Steps(const Tensor& x, const Tensor& scales, const Tensor& zeros, const Quantization& s, bool times = false)
      : scale(along(scales, x, s).to(wide(x))) {
    const Tensor zero = along(zeros, x, s).to(wide(x)), numbers = x.detach().to(wide(x));
    q = round(times ? mul(numbers, scale) : div(numbers, scale));
    low = sub(Scalar(s.low), zero), high = sub(Scalar(s.high), zero);
  }
  Tensor inside() const { return logical_and(ge(q, low), le(q, high)); }
  Tensor clamped() const { return minimum(where(ge(q, low), q, low), high); }  // a NaN becomes low
};

struct FakeQuantizeBackward {
  NEURA_OPERANDS(grad_output, input, scale, zero_point)
  static constexpr Operation op =
      operation("fake_quantize_backward").saves(In::grad_output, in(In::input, In::scale, In::zero_point)).closed();
  Quantization s;
  NEURA_FIELDS(s)
  void infer(const Spec& g, const Spec& x, const Spec& scale, const Spec& zero, Spec& y) const {
    check_floating(op.name, x), check_parameters(op.name, x, scale, zero, s);
    check<ShapeError>(g.same_shape(x) && g.dtype == x.dtype, [&] {
      return std::string(op.name) + ": expected a gradient like the input, " + x.str() + ", got " + g.str();
    });
    y = Spec::dense(x.dtype, x.sizes(), x.device);
  }
  bool accepts(const Backend& b, const Spec& g, const Spec& x, const Spec&, const Spec&) const {
    return b.quant->fake_quantize.fn && x.dtype == DType::float32 && x.contiguous && g.contiguous;
  }
  void run(Context& c, View g, View x, View scale, View zero, View y) const {
    c.backend.quant->fake_quantize(c, g, x, scale, zero, s, y);
  }
  Tensor define(const Tensor& g, const Tensor& x, const Tensor& scale, const Tensor& zero) const {
    return where(Steps(x, scale, zero, s).inside(), g, Scalar(0));
  }
  void gradient(Gradient& g) const {
    if (g.needs(In::grad_output))
      g.result[In::grad_output] =
          apply(*this, contiguous(g.g[0]), g.input(In::input), g.input(In::scale), g.input(In::zero_point));
    if (g.needs(In::input)) g.result[In::input] = zeros_like(g.g[0]);
  }
};

struct FakeQuantize {
  NEURA_OPERANDS(input, scale, zero_point)
  static constexpr Operation op =
      operation("fake_quantize").saves(In::input, in(In::input, In::scale, In::zero_point)).closed();
  Quantization s;
  NEURA_FIELDS(s)
  void infer(const Spec& x, const Spec& scale, const Spec& zero, Spec& y) const {
    check_floating(op.name, x), check_parameters(op.name, x, scale, zero, s);
    y = Spec::dense(x.dtype, x.sizes(), x.device);
  }
  bool accepts(const Backend& b, const Spec& x, const Spec&, const Spec&) const {
    return b.quant->fake_quantize.fn && x.dtype == DType::float32 && x.contiguous;
  }
  void run(Context& c, View x, View scale, View zero, View y) const {
    c.backend.quant->fake_quantize(c, View(), x, scale, zero, s, y);
  }
  // The second and third terms cancel in value; they give the straight-through gradient where nothing was clamped.
  Tensor define(const Tensor& x, const Tensor& scale, const Tensor& zero) const {
    const Steps steps(x, scale, zero, s);
    const Tensor passed = where(steps.inside(), x, Scalar(0));
    return mul(steps.clamped(), steps.scale).to(x.dtype()) + (passed - passed.detach());
  }
  void gradient(Gradient& g) const {
    if (!g.needs(In::input)) return;
    g.result[In::input] = apply(FakeQuantizeBackward{s}, contiguous(g.g[0]), g.input(In::input), g.input(In::scale),
                                g.input(In::zero_point));
  }
};

struct QuantizeAffine {
  NEURA_OPERANDS(input, scale, zero_point)
  static constexpr Operation op = operation("quantize_affine");
  Quantization s;
  DType dtype;
  NEURA_FIELDS(s, dtype)
  void infer(const Spec& x, const Spec& scale, const Spec& zero, Spec& q) const {
    check_floating(op.name, x), check_parameters(op.name, x, scale, zero, s);
    q = Spec::dense(dtype, x.sizes(), x.device);
  }
  bool accepts(const Backend& b, const Spec& x, const Spec&, const Spec&) const {
    return b.quant->quantize.fn && x.dtype == DType::float32 && x.contiguous;
  }
  void run(Context& c, View x, View scale, View zero, View q) const {
    c.backend.quant->quantize(c, x, scale, zero, s, q);
  }
  Tensor define(const Tensor& x, const Tensor& scale, const Tensor& zero) const {
    const Steps steps(x, scale, zero, s);
    return (steps.clamped() + along(zero, x, s).to(wide(x))).to(dtype);
  }
};

struct RequantizeAffine {
  NEURA_OPERANDS(input, scale, zero_point)
  static constexpr Operation op = operation("requantize_affine");
  Quantization s;
  DType dtype;
  NEURA_FIELDS(s, dtype)
  void infer(const Spec& x, const Spec& scale, const Spec& zero, Spec& q) const {
    check<UnsupportedDTypeError>(x.dtype == DType::int32, [&] {
      return std::string(op.name) + ": expected int32, the sums of a product, got " + x.str();
    });
    check_parameters(op.name, x, scale, zero, s);
    q = Spec::dense(dtype, x.sizes(), x.device);
  }
  bool accepts(const Backend& b, const Spec& x, const Spec&, const Spec&) const {
    return b.quant->requantize.fn && x.contiguous;
  }
  void run(Context& c, View x, View scale, View zero, View q) const {
    c.backend.quant->requantize(c, x, scale, zero, s, q);
  }
  Tensor define(const Tensor& x, const Tensor& scale, const Tensor& zero) const {
    const Steps steps(x, scale, zero, s, true);
    return (steps.clamped() + along(zero, x, s).to(DType::float32)).to(dtype);
  }
};

struct DequantizeAffine {
  NEURA_OPERANDS(input, scale, zero_point)
  static constexpr Operation op = operation("dequantize_affine");
  Quantization s;
  NEURA_FIELDS(s)
  void infer(const Spec& q, const Spec& scale, const Spec& zero, Spec& y) const {
    check<UnsupportedDTypeError>(q.dtype == DType::int8 || q.dtype == DType::uint8 || q.dtype == DType::int32, [&] {
      return std::string(op.name) + ": expected int8, uint8 or int32, got " + q.str();
    });
    check_parameters(op.name, q, scale, zero, s);
    y = Spec::dense(DType::float32, q.sizes(), q.device);
  }
  bool accepts(const Backend& b, const Spec& q, const Spec&, const Spec&) const {
    return b.quant->dequantize.fn && q.contiguous;
  }
  void run(Context& c, View q, View scale, View zero, View y) const {
    c.backend.quant->dequantize(c, q, scale, zero, s, y);
  }
  Tensor define(const Tensor& q, const Tensor& scale, const Tensor& zero) const {
    return mul((q.to(DType::int32) - along(zero, q, s)).to(DType::float32), along(scale, q, s));
  }
};

// Dense parameters of the kernels' dtypes, on input's device.
Tensor parameter(const Tensor& t, DType dtype, const Tensor& input, bool one) {
  const Tensor p = contiguous(t.to(input.device()).to(dtype));
  return one && p.numel() == 1 ? reshape(p, {1}) : p;
}
Quantization range(const char* op, const Tensor& x, std::optional<std::int64_t> axis, std::int64_t low,
                   std::int64_t high) {
  check<ValueError>(low <= high, [&] {
    return std::string(op) + ": expected quant_min to be at most quant_max, got " + std::to_string(low) + " and " +
           std::to_string(high);
  });
  check<IndexError>(!axis || x.dim() > 0, [&] {
    return std::string(op) + ": expected an input with an axis " + std::to_string(*axis) + ", got " + x.spec().str() +
           "; leave the axis out";
  });
  return {low, high, axis ? wrap_dim(op, *axis, x.dim()) : -1};
}
Quantization range(const char* op, const Tensor& x, const QuantizeOptions& o) {
  check<UnsupportedDTypeError>(o.dtype == DType::int8 || o.dtype == DType::uint8, [&] {
    return std::string(op) + ": expected dtype to be int8 or uint8, got " + name(o.dtype);
  });
  const std::int64_t least = o.dtype == DType::int8 ? -128 : 0, most = o.dtype == DType::int8 ? 127 : 255;
  const Quantization q = range(op, x, o.axis, o.quant_min.value_or(least), o.quant_max.value_or(most));
  check<ValueError>(q.low >= least && q.high <= most, [&] {
    return std::string(op) + ": expected quant_min and quant_max to be within what " + name(o.dtype) + " holds, got " +
           std::to_string(q.low) + " and " + std::to_string(q.high);
  });
  return q;
}

// int8 and uint8 hold no other zero point, and beyond 2^24 float32 is no longer exact.
void check_zero_point(const char* op, const Tensor& zero, const Quantization& q) {
  if (!zero.numel()) return;
  const Tensor z = innermost(zero).detach();
  if (!host_looks(z)) return expect(Rule::zero_points, ge(z, Scalar(q.low)) & le(z, Scalar(q.high)));
  const bool one = z.numel() == 1;
  for (const Tensor& t : {one ? reshape(z, {}) : amin(z), one ? reshape(z, {}) : amax(z)})
    check<ValueError>(q.low <= t.item<std::int64_t>() && t.item<std::int64_t>() <= q.high, [&] {
      return std::string(op) + ": expected zero_point within quant_min and quant_max, " + std::to_string(q.low) +
             " and " + std::to_string(q.high) + ", got " + std::to_string(t.item<std::int64_t>());
    });
}

Tensor fake(const char* op, const Tensor& x, const Tensor& scale, const Tensor& zero, std::optional<std::int64_t> axis,
            std::int64_t low, std::int64_t high) {
  const Quantization q = range(op, x, axis, low, high);
  check<NotImplementedError>(!scale.requires_grad(), [&] {
    return std::string(op) + ": expected a scale without gradient, got one that requires it; detach it";
  });
  return apply(FakeQuantize{q}, contiguous(x), parameter(scale, DType::float32, x, !axis),
               parameter(zero, DType::int32, x, !axis));
}

}  // namespace

Tensor fake_quantize_per_tensor_affine(const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                                       std::int64_t quant_min, std::int64_t quant_max) {
  return fake("fake_quantize_per_tensor_affine", input, scale, zero_point, {}, quant_min, quant_max);
}
Tensor fake_quantize_per_tensor_affine(const Tensor& input, double scale, std::int64_t zero_point,
                                       std::int64_t quant_min, std::int64_t quant_max) {
  check<ValueError>(quant_min > quant_max || (quant_min <= zero_point && zero_point <= quant_max), [&] {
    return "fake_quantize_per_tensor_affine: expected zero_point within quant_min and quant_max, " +
           std::to_string(quant_min) + " and " + std::to_string(quant_max) + ", got " + std::to_string(zero_point);
  });
  const auto number = [&](Scalar value, DType dtype) { return full({1}, value, {dtype, input.device(), false}); };
  return fake("fake_quantize_per_tensor_affine", input, number(scale, DType::float32), number(zero_point, DType::int32),
              {}, quant_min, quant_max);
}
Tensor fake_quantize_per_channel_affine(const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                                        std::int64_t axis, std::int64_t quant_min, std::int64_t quant_max) {
  if (zero_point && quant_min <= quant_max)
    check_zero_point("fake_quantize_per_channel_affine", zero_point, {quant_min, quant_max, -1});
  return fake("fake_quantize_per_channel_affine", input, scale, zero_point, axis, quant_min, quant_max);
}

Tensor quantize_affine(const Tensor& input, const Tensor& scale, const Tensor& zero_point, const QuantizeOptions& o) {
  const Quantization q = range("quantize_affine", input, o);
  check_zero_point("quantize_affine", zero_point, q);
  return apply(QuantizeAffine{q, o.dtype}, contiguous(input), parameter(scale, DType::float32, input, !o.axis),
               parameter(zero_point, DType::int32, input, !o.axis));
}
Tensor requantize_affine(const Tensor& input, const Tensor& scale, const Tensor& zero_point, const QuantizeOptions& o) {
  const Quantization q = range("requantize_affine", input, o);
  check_zero_point("requantize_affine", zero_point, q);
  return apply(RequantizeAffine{q, o.dtype}, contiguous(input), parameter(scale, DType::float32, input, !o.axis),
               parameter(zero_point, DType::int32, input, !o.axis));
}
Tensor dequantize_affine(const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                         std::optional<std::int64_t> axis) {
  const Quantization q = range("dequantize_affine", input, axis, 0, 0);
  const Tensor steps = parameter(scale, DType::float32, input, !axis);
  const Tensor zero =
      zero_point ? parameter(zero_point, DType::int32, input, !axis) : zeros_like(steps, {.dtype = DType::int32});
  return apply(DequantizeAffine{q}, contiguous(input), steps, zero);
}

}  // namespace neura

NEURA_DEFINE_OPERATION(fake_quantize, FakeQuantize);
NEURA_DEFINE_OPERATION(fake_quantize_backward, FakeQuantizeBackward);
NEURA_DEFINE_OPERATION(quantize_affine, QuantizeAffine);
NEURA_DEFINE_OPERATION(requantize_affine, RequantizeAffine);
NEURA_DEFINE_OPERATION(dequantize_affine, DequantizeAffine);
