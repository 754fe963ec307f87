#include "neura/ops/training/loss_scale.h"

#include <string>

#include "neura/backend/kernels/optim.h"
#include "neura/op/apply.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/ops/create/copy.h"

namespace neura {

struct Unscale {
  static constexpr int results = 0;
  NEURA_OPERANDS(inverse_scale, found_inf, gradient)
  static constexpr Operation op = operation("unscale_").list(1, In::gradient).writes(in(In::found_inf, In::gradient));
  NEURA_FIELDS()
  void infer(std::span<const Spec* const> operands, Spec&) const;
  void run(Context&, std::span<const View> operands, const View&) const;
};

void Unscale::infer(std::span<const Spec* const> operands, Spec&) const {
  const auto is_number = [&](std::size_t i) {
    return operands.size() > i && operands[i]->numel == 1 && operands[i]->dtype == DType::float32;
  };
  check<ValueError>(is_number(In::inverse_scale) && is_number(In::found_inf), [&] {
    return std::string(op.name) + ": expected the inverse scale and found_inf as float32 numbers, got " +
           (operands.size() < In::gradient
                ? "none"
                : operands[In::inverse_scale]->str() + " and " + operands[In::found_inf]->str());
  });
  for (const Spec* s : operands.subspan(In::gradient)) {
    check<DTypeError>(differentiable(s->dtype), [&] {
      return std::string(op.name) + ": expected floating or complex gradients, got " + s->str();
    });
    check<ShapeError>(s->dense(), [&] {
      return std::string(op.name) + ": expected dense gradients, got " + s->str() + " with gaps; clone() it";
    });
  }
}
void Unscale::run(Context& c, std::span<const View> operands, const View&) const {
  c.backend.optim->unscale_all(c, operands.subspan(In::gradient), operands[In::inverse_scale], operands[In::found_inf]);
}

void unscale_gradients(std::span<const Tensor> gradients, const Tensor& inverse_scale, const Tensor& found_inf) {
  std::vector<Tensor> operands{inverse_scale, found_inf};
  operands.insert(operands.end(), gradients.begin(), gradients.end());
  apply_list(Unscale{}, operands);
}

void update_scale(Tensor& scale, Tensor& tracker, const Tensor& found_inf, const ScaleGrowth& o) {
  const Tensor overflow = gt(found_inf, 0), count = where(overflow, 0, add(tracker, 1));
  const Tensor due = ge(count, o.growth_interval), grown = mul(scale, o.growth_factor);
  const Tensor next = where(logical_and(due, isfinite(grown)), grown, scale);
  copy_(scale, where(overflow, mul(scale, o.backoff_factor), next));
  copy_(tracker, where(due, 0, count));
}

}  // namespace neura

NEURA_DEFINE_OPERATION(unscale_, Unscale);
