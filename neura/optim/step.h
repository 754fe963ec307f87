// A kernel's step through the door: one in-place operation on the parameter.
#pragma once
#include "neura/backend/kernels/optim.h"
#include "neura/ops/apply.h"

namespace neura::optim::detail {

bool lie_alike(const Tensor& a, const Tensor& b);              // of one shape, dtype, device and the same strides
Tensor empty_beside(const Tensor& like);                       // as `like` lies, if it is dense, else contiguous
Tensor filled_beside(const Tensor& like, double value);        // both parts of a complex number
Tensor moved_beside(const Tensor& state, const Tensor& like);  // a copy
void check_step(const char* name, const Spec& param, const Spec& grad, std::span<const Spec* const> states);

template <class Step> struct Kernel;
#define X(kernel, Step)                                   \
  template <> struct Kernel<Step> {                       \
    static constexpr const char* name = #kernel "_step";  \
    static constexpr auto entry = &optim_kernels::kernel; \
  };
NEURA_OPTIM_KERNELS(X)
#undef X

template <class Step> struct StepOp {
  static constexpr const char* name = Kernel<Step>::name;
  static constexpr bool direct = true;  // reads and writes the parameter element by element
  Step step;

  void infer(const Spec& param, const Spec& grad, const Spec& a, const Spec& b, const Spec& c, Spec& out) const {
    const Spec* states[] = {&a, &b, &c};
    check_step(name, param, grad, states);
    out = Spec::dense(param.dtype, param.sizes(), param.device);
  }
  void run(Context& c, View, View grad, View s0, View s1, View s2, View param) const {
    (c.backend.optim->*Kernel<Step>::entry)(c, OptimTensors{param, grad, {s0, s1, s2}}, step);
  }
};

// Writes param and the states, of which any may be undefined.
template <class Step> void apply_step(const Tensor& param, const Tensor& grad, const Step& step, const Tensor& s0 = {},
                                      const Tensor& s1 = {}, const Tensor& s2 = {}) {
  Tensor g = grad, p = param;
  if (!p.spec().dense()) {
    p = empty_beside(param);
    p.copy_(param.detach());
  }
  if (!lie_alike(g, p) && g.shape() == p.shape()) {
    g = empty_beside(p);
    g.copy_(grad);
  }
  for (const Tensor* s : {&s0, &s1, &s2})
    if (*s) s->impl()->storage->own();
  apply_to(Destination::in_place, p, StepOp<Step>{step}, p, g, s0, s1, s2);
  for (const Tensor* s : {&s0, &s1, &s2})
    if (*s) s->impl()->storage->written(&row_of<StepOp<Step>>);
  if (!p.is_same(param)) Tensor(param).copy_(p);
}

}  // namespace neura::optim::detail
