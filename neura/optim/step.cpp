#include "neura/optim/step.h"

#include <algorithm>

namespace neura::optim::detail {

bool lie_alike(const Tensor& a, const Tensor& b) {
  const Spec &x = a.spec(), &y = b.spec();
  return x.dtype == y.dtype && x.device == y.device && x.same_shape(y) &&
         std::equal(x.strides, x.strides + x.rank, y.strides);
}

Tensor empty_beside(const Tensor& like) {
  Spec s = like.spec();
  if (!s.dense()) return Tensor::empty(Spec::dense(s.dtype, s.sizes(), s.device));
  s.offset = 0;
  return Tensor::empty(s);
}

Tensor filled_beside(const Tensor& like, double value) {
  Tensor t = empty_beside(like);
  if (is_complex(t.dtype())) t.fill_(std::complex<double>(value, value));
  else t.fill_(value);
  return t;
}

Tensor moved_beside(const Tensor& state, const Tensor& like) {
  check<ShapeError>(state.shape() == like.shape(), [&] {
    return "optimizer: expected state like its parameter, " + like.spec().str() + ", got " + state.spec().str();
  });
  Tensor t = empty_beside(like);
  t.copy_(state.detach().to(like.device()));
  return t;
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
