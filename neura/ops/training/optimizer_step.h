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

struct StepOperands {  // `steps`, then of each parameter the rest; states are absent where there are none
  NEURA_OPERANDS(steps, param, grad, state, second_state, third_state)
  static constexpr ValueSet states = in(In::state, In::second_state, In::third_state);
};
inline constexpr std::size_t kStepOperands = StepOperands::In::count - StepOperands::In::param;

constexpr Operation step_operation(const char* name) {
  using In = StepOperands::In;
  return operation(name)
      .list(int(kStepOperands), In::param)
      .writes(in(In::param) | StepOperands::states)
      .optional(in(In::steps) | StepOperands::states);
}
template <class Step> struct OptimizerKernel;
#define OPTIMIZER_STEP(kernel, Step, ...)                            \
  template <> struct OptimizerKernel<Step> {                         \
    static constexpr Operation op = step_operation(#kernel "_step"); \
    static constexpr auto entry = &optim_kernels::kernel;            \
  };
#include "neura/tables/optimizers.def"

// `steps` in the memory of a device, where each replay of a graph finds other numbers, or absent. Parameters are of one
// dtype, with the same states, and no two steps share memory that either writes. All numbers vary: schedulers may
// change any of them.
template <class Step> struct OptimizerStep {
  static constexpr int results = 0;
  using In = StepOperands::In;
  static constexpr Operation op = OptimizerKernel<Step>::op;
  std::vector<Step> steps;
  NEURA_FIELDS(varying(steps))

  void infer(std::span<const Spec* const> operands, Spec&) const;
  void run(Context&, std::span<const View> operands, const View&) const;
};
// The call.
template <class Step> void optimizer_step(std::vector<Step> steps, std::span<const Tensor> operands);

// The bytes of a call's steps, as its operand `steps` has them; none if the row is no optimizer's.
std::span<const char> bytes_of_steps(const Row&, const void* op);

bool same_strides(const Spec&, const Spec&);  // of one shape, dtype, device and the same strides

}  // namespace neura
