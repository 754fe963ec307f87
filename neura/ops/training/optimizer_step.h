// The steps of optimizers: operations on a list, one for each kernel. A call takes the step of many parameters.
#pragma once
#include <span>
#include <vector>

#include "neura/backend/kernels/optim.h"
#include "neura/op/apply.h"

namespace neura {

#define NUMBERS(...) __VA_ARGS__
#define FLAGS(...) , __VA_ARGS__
#define OPTIMIZER_STEP(kernel, Step, least, most, numbers) NEURA_FIELDS_OF(Step, numbers)
#include "neura/tables/optimizers.def"

inline constexpr std::size_t kStepOperands = 5;  // parameter, gradient and three states, absent where there are none

template <class Step> struct OptimizerKernel;
#define OPTIMIZER_STEP(kernel, Step, ...)                                                                       \
  template <> struct OptimizerKernel<Step> {                                                                    \
    static constexpr Operation op =                                                                             \
        operation(#kernel "_step").list(int(kStepOperands), 1).writes(in(1, 3, 4, 5)).optional(in(0, 3, 4, 5)); \
    static constexpr auto entry = &optim_kernels::kernel;                                                       \
  };
#include "neura/tables/optimizers.def"

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

// The bytes of a call's steps, as operand 0 has them; none if the row is no optimizer's.
std::span<const char> bytes_of_steps(const Row&, const void* op);

bool same_strides(const Spec&, const Spec&);  // of one shape, dtype, device and the same strides

}  // namespace neura
