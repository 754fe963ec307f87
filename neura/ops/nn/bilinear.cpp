// bilinear and glu.
#include "neura/ops/nn/functions.h"

#include "neura/op/call_error.h"
#include "neura/op/cast_scope.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/product/einsum.h"
#include "neura/ops/shape/view.h"

namespace neura {

Tensor glu(const Tensor& input, int dim) {
  const int d = wrap_dim("glu", dim, input.dim());
  check<ShapeError>(input.dim() > 0 && input.size(d) % 2 == 0, [&] {
    return "glu: expected an even size in dimension " + std::to_string(dim) + ", got " + input.shape().str();
  });
  const std::int64_t half = input.size(d) / 2;
  return narrow(input, d, 0, half) * sigmoid(narrow(input, d, half, half));
}

Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias) {
  if (const amp::CastScope cast{amp::Name::bilinear, input1, input2, weight, bias})
    return bilinear(cast(input1), cast(input2), cast(weight), cast(bias));
  check_given("bilinear", "weight", weight);
  check<ShapeError>(weight.dim() == 3 && input1.dim() > 0 && input1.dim() == input2.dim() &&
                        input1.size(-1) == weight.size(1) && input2.size(-1) == weight.size(2),
                    [&] {
                      return "bilinear: expected inputs [..., in1] and [..., in2] for a weight [out, in1, in2], got " +
                             input1.shape().str() + ", " + input2.shape().str() + " and " + weight.shape().str();
                    });
  check<ShapeError>(!bias || bias.shape() == Shape{weight.size(0)}, [&] {
    return "bilinear: expected bias [" + std::to_string(weight.size(0)) + "], got " + bias.spec().str();
  });
  const Tensor y = einsum("...i,oij,...j->...o", {input1, weight, input2});
  return bias ? y + bias : y;
}

}  // namespace neura
