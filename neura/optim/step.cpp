#include "neura/optim/step.h"

namespace neura::optim::detail {

bool lie_alike(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.device() == b.device() && a.shape() == b.shape() && a.strides() == b.strides();
}

Tensor empty_beside(const Tensor& like) {
  Spec s = like.spec();
  if (!s.dense()) return Tensor::empty(Spec::dense(s.dtype, s.sizes(), s.device));
  s.offset = 0;
  return Tensor::empty(s);
}

void check_step(const char* name, const Spec& param, const Spec& grad, std::span<const Spec* const> states) {
  check<DTypeError>(differentiable(param.dtype), [&] {
    return std::string(name) + ": expected a floating or complex parameter, got " + param.str();
  });
  auto fits = [&](const Spec& s) { return s.same_shape(param) && s.dtype == param.dtype; };
  check<ShapeError>(fits(grad), [&] {
    return std::string(name) + ": expected a gradient like the parameter, " + param.str() + ", got " + grad.str();
  });
  for (const Spec* s : states)
    check<ShapeError>(s->rank == kAbsent || fits(*s), [&] {
      return std::string(name) + ": expected state like the parameter, " + param.str() + ", got " + s->str();
    });
}

}  // namespace neura::optim::detail
