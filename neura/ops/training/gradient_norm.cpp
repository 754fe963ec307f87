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

void GetTotalNorm::infer(std::span<const Spec* const> tensors, Spec& norm) const {
  check<ValueError>(!tensors.empty(), [] { return std::string(op.name) + ": expected tensors, got an empty list"; });
  check_gradients(op.name, tensors);
  DType dtype = to_real(tensors[0]->dtype);
  for (const Spec* s : tensors) dtype = promote(dtype, to_real(s->dtype));
  norm = Spec::dense(dtype, {}, tensors[0]->device);
}
void GetTotalNorm::run(Context& c, std::span<const View> tensors, const View& norm) const {
  c.backend.optim->norm_of_all(c, tensors, norm);
}

void ClipGradNorm::infer(std::span<const Spec* const> operands, Spec&) const {
  const Spec* const norm = operands.empty() ? nullptr : operands[In::total_norm];
  check<ValueError>(norm && norm->rank == 0 && is_floating(norm->dtype), [&] {
    return std::string(op.name) + ": expected the norm as a floating number without dimensions, got " +
           (norm ? norm->str() : "none");
  });
  check_gradients(op.name, operands.subspan(In::gradient));
}
void ClipGradNorm::run(Context& c, std::span<const View> operands, const View&) const {
  c.backend.optim->clip_all(c, operands.subspan(In::gradient), operands[In::total_norm], max_norm);
}

Tensor gradient_norm(std::span<const Tensor> gradients) { return apply_list(GetTotalNorm{}, gradients); }
void clip_gradients(std::span<const Tensor> gradients, double max_norm, const Tensor& norm) {
  std::vector<Tensor> operands{norm};
  operands.insert(operands.end(), gradients.begin(), gradients.end());
  apply_list(ClipGradNorm{max_norm}, operands);
}

}  // namespace neura

NEURA_DEFINE_OPERATION(get_total_norm, GetTotalNorm);
NEURA_DEFINE_OPERATION(clip_grad_norm_, ClipGradNorm);
