// One step of an optimizer on many parameters, all of its arithmetic in one pass over memory; and what clips their
// gradients before it.
#pragma once
#include <span>

#include "neura/backend/backend.h"

namespace neura {

// Floating, of one dtype, and dense with the same strides: element i of each lies at i. Halves are computed in float32.
struct OptimTensors {
  View param, grad;
  View state[3];  // those that are not there are null; the order is the one in the comments below
};

// Numbers that a step needs, in double. `sign` is -1 where the objective is maximised, else 1. Every state is read and
// written.
struct SgdStep {  // state: momentum_buffer
  double lr, weight_decay, momentum, dampening, sign;
  bool nesterov, first;  // first: the buffer becomes the gradient
  bool operator==(const SgdStep&) const = default;
};
struct AdamStep {       // exp_avg, exp_avg_sq, max_exp_avg_sq
  double decay;         // factor of the parameter: 1 - lr * weight_decay of AdamW, else 1
  double weight_decay;  // of Adam: added to the gradient
  double beta1, beta2, eps, sign;
  double step_size;              // lr / (1 - beta1^t)
  double bias_correction2_sqrt;  // sqrt(1 - beta2^t)
  bool operator==(const AdamStep&) const = default;
};
struct RmspropStep {  // square_avg, momentum_buffer, grad_avg
  double lr, alpha, eps, weight_decay, momentum, sign;
  bool eps_inside_sqrt;
  bool operator==(const RmspropStep&) const = default;
};
struct AdagradStep {                   // sum
  double lr, weight_decay, eps, sign;  // lr: with its decay
  bool operator==(const AdagradStep&) const = default;
};
struct AdadeltaStep {  // square_avg, acc_delta
  double lr, rho, eps, weight_decay, sign;
  bool operator==(const AdadeltaStep&) const = default;
};
struct AdamaxStep {  // exp_avg, exp_inf
  double step_size, beta1, beta2, eps, weight_decay, sign;
  bool operator==(const AdamaxStep&) const = default;
};
struct NadamStep {  // exp_avg, exp_avg_sq
  double decay, weight_decay, beta1, beta2, eps, sign;
  double bias_correction2;
  double grad_factor, average_factor;  // of g / denominator and exp_avg / denominator
  bool operator==(const NadamStep&) const = default;
};
struct RadamStep {  // exp_avg, exp_avg_sq
  double decay, weight_decay, beta1, beta2, eps, sign;
  double step_size;  // of exp_avg
  double rectified;  // factor of 1 / (sqrt(exp_avg_sq) + eps); 0: not rectified yet, exp_avg alone
  bool operator==(const RadamStep&) const = default;
};
struct AsgdStep {  // ax
  double lambd, eta, mu, weight_decay, sign;
  bool operator==(const AsgdStep&) const = default;
};
struct RpropStep {  // prev, step_size
  double etaminus, etaplus, step_size_min, step_size_max, sign;
  bool operator==(const RpropStep&) const = default;
};

#define NEURA_OPTIM_KERNELS(X) \
  X(sgd, SgdStep)              \
  X(adam, AdamStep)            \
  X(rmsprop, RmspropStep)      \
  X(adagrad, AdagradStep)      \
  X(adadelta, AdadeltaStep)    \
  X(adamax, AdamaxStep)        \
  X(nadam, NadamStep)          \
  X(radam, RadamStep)          \
  X(asgd, AsgdStep)            \
  X(rprop, RpropStep)

// Of one dtype and with the same states; one step for each. No two of them share memory that either writes. there:
// null, or the steps in the device's memory, from which the kernel takes them when it runs: a graph that is replayed
// finds other numbers there. Never of the cpu.
struct optim_kernels {
#define X(name, Step) \
  Entry<void(Context&, std::span<const OptimTensors>, std::span<const Step>, const Step* there)> name;
  NEURA_OPTIM_KERNELS(X)
#undef X
  // The root of the sum of all elements' squares, to `norm`: one floating number. Tensors are floating or complex, and
  // dense.
  Entry<void(Context&, std::span<const View> tensors, View norm)> norm_of_all;
  // Every element times min(1, max_norm / (norm + 1e-6)), which is rounded to norm's dtype. No two share memory.
  Entry<void(Context&, std::span<const View> tensors, View norm, double max_norm)> clip_all;
  // Every element times `by`, which is float32; `found` (float32) becomes 1 where one of them was not finite before,
  // and stays as it is otherwise. No two share memory.
  Entry<void(Context&, std::span<const View> tensors, View by, View found)> unscale_all;
};

}  // namespace neura
