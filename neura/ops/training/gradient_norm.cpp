#include "neura/ops/training/gradient_norm.h"

#include <string>

#include "neura/backend/kernels/optim.h"
#include "neura/op/registry.h"

namespace neura {
namespace {

void check_gradients(const char* name, std::span<const Spec* const> gradients) {
  for (const Spec* s : gradients) {
    check<DTypeError>(differentiable(s->dtype),
                      [&] { return std::string(name) + ": expected floating or complex gradients, got " + s->str(); });
    check<ShapeError>(s->dense(), [&] {
      return std::string(name) + ": expected dense gradients, got " + s->str() + " with gaps; clone() it";
    });
  }
}

}  // namespace

void GradientNorm::infer(std::span<const Spec* const> tensors, Spec& norm) const {
  check<ValueError>(!tensors.empty(), [] { return std::string(op.name) + ": expected tensors, got an empty list"; });
  check_gradients(op.name, tensors);
  DType dtype = to_real(tensors[0]->dtype);
  for (const Spec* s : tensors) dtype = promote(dtype, to_real(s->dtype));
  norm = Spec::dense(dtype, {}, tensors[0]->device);
}
void GradientNorm::run(Context& c, std::span<const View> tensors, const View& norm) const {
  c.backend.optim->norm_of_all(c, tensors, norm);
}

void ClipGradients::infer(std::span<const Spec* const> operands, Spec&) const {
  const auto refuse_norm = [&] {
    return std::string(op.name) + ": expected the norm as a floating number without dimensions, got " +
           (operands.empty() ? "none" : operands[0]->str());
  };
  check<ValueError>(!operands.empty() && operands[0]->rank == 0 && is_floating(operands[0]->dtype), refuse_norm);
  check_gradients(op.name, operands.subspan(1));
}
void ClipGradients::run(Context& c, std::span<const View> operands, const View&) const {
  c.backend.optim->clip_all(c, operands.subspan(1), operands[0], max_norm);
}

Tensor gradient_norm(std::span<const Tensor> gradients) { return apply_list(GradientNorm{}, gradients); }
void clip_gradients(std::span<const Tensor> gradients, double max_norm, const Tensor& norm) {
  std::vector<Tensor> operands{norm};
  operands.insert(operands.end(), gradients.begin(), gradients.end());
  apply_list(ClipGradients{max_norm}, operands);
}

}  // namespace neura

NEURA_DEFINE_OPERATION(get_total_norm, GradientNorm);
NEURA_DEFINE_OPERATION(clip_grad_norm, ClipGradients);
