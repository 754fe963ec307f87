// The steps of optimizers: operations on a list, one for each kernel. A call takes the step of many parameters.
#pragma once
#include <span>
#include <vector>

#include "neura/backend/kernels/optim.h"
#include "neura/ops/apply.h"

namespace neura {

NEURA_FIELDS_OF(SgdStep, lr, weight_decay, momentum, dampening, sign, nesterov, first)
NEURA_FIELDS_OF(AdamStep, decay, weight_decay, beta1, beta2, eps, sign, step_size, bias_correction2_sqrt)
NEURA_FIELDS_OF(RmspropStep, lr, alpha, eps, weight_decay, momentum, sign, eps_inside_sqrt)
NEURA_FIELDS_OF(AdagradStep, lr, weight_decay, eps, sign)
NEURA_FIELDS_OF(AdadeltaStep, lr, rho, eps, weight_decay, sign)
NEURA_FIELDS_OF(AdamaxStep, step_size, beta1, beta2, eps, weight_decay, sign)
NEURA_FIELDS_OF(NadamStep, decay, weight_decay, beta1, beta2, eps, sign, bias_correction2, grad_factor, average_factor)
NEURA_FIELDS_OF(RadamStep, decay, weight_decay, beta1, beta2, eps, sign, step_size, rectified)
NEURA_FIELDS_OF(AsgdStep, lambd, eta, mu, weight_decay, sign)
NEURA_FIELDS_OF(RpropStep, etaminus, etaplus, step_size_min, step_size_max, sign)

inline constexpr std::size_t kStepOperands = 5;  // parameter, gradient and three states, absent where there are none

template <class Step> struct OptimizerKernel;
#define X(kernel, Step)                                                                                         \
  template <> struct OptimizerKernel<Step> {                                                                    \
    static constexpr Operation op =                                                                             \
        operation(#kernel "_step").list(int(kStepOperands), 1).writes(in(1, 3, 4, 5)).optional(in(0, 3, 4, 5)); \
    static constexpr auto entry = &optim_kernels::kernel;                                                       \
  };
NEURA_OPTIM_KERNELS(X)
#undef X

// Operand 0: the steps in the memory of a device, where each replay of a graph finds other numbers, or absent. Then the
// operands of each step. Parameters are of one dtype, with the same states, and no two steps share memory that either
// writes. All numbers vary: schedulers may change any of them.
template <class Step> struct OptimizerStep {
  static constexpr int results = 0;
  static constexpr Operation op = OptimizerKernel<Step>::op;
  std::vector<Step> steps;
  NEURA_FIELDS(varying(steps))

  void infer(std::span<const Spec* const> operands, Spec&) const;
  void run(Context&, std::span<const View> operands, const View&) const;
};
// The call.
template <class Step> void optimizer_step(std::vector<Step> steps, std::span<const Tensor> operands);

bool lie_alike(const Spec&, const Spec&);  // of one shape, dtype, device and the same strides

}  // namespace neura
