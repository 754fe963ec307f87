#include "neura/ops/training/optimizer_step.h"

#include <algorithm>
#include <string>

#include "neura/op/registry.h"

namespace neura {
namespace {

using In = StepOperands::In;

struct Group {  // the operands of one step
  std::span<const Spec* const> of_call;
  std::size_t step;
  const Spec& operator[](int operand) const { return *of_call[std::size_t(operand) + kStepOperands * step]; }
};
constexpr int kStates[] = {In::state, In::second_state, In::third_state};

void check_step(const char* name, const Group& g) {
  const Spec &param = g[In::param], &grad = g[In::grad];
  check<DTypeError>(differentiable(param.dtype), [&] {
    return std::string(name) + ": expected a floating or complex parameter, got " + param.str();
  });
  const auto fits = [&](const Spec& s) { return s.same_shape(param) && s.dtype == param.dtype; };
  check<ShapeError>(fits(grad), [&] {
    return std::string(name) + ": expected a gradient like the parameter, " + param.str() + ", got " + grad.str();
  });
  for (const int state : kStates)
    check<ShapeError>(g[state].rank == kAbsent || fits(g[state]), [&] {
      return std::string(name) + ": expected state like the parameter, " + param.str() + ", got " + g[state].str();
    });
  check<ShapeError>(param.dense(), [&] {
    return std::string(name) + ": expected a dense parameter, got " + param.str() + " with gaps; clone() it";
  });
  for (const int other : {int(In::grad), kStates[0], kStates[1], kStates[2]}) {
    const Spec& s = g[other];
    check<ShapeError>(s.rank == kAbsent || same_strides(s, param), [&] {
      return std::string(name) + ": expected a gradient and states with the strides of the parameter, " +
             Shape(param.strides, param.rank).str() + ", got " + Shape(s.strides, s.rank).str();
    });
  }
}

// What the kernel takes together.
void check_kind(const char* name, const Group& first, const Group& g) {
  const Spec &one = first[In::param], &other = g[In::param];
  bool same = other.dtype == one.dtype;
  for (const int state : kStates) same = same && (g[state].rank == kAbsent) == (first[state].rank == kAbsent);
  check<ValueError>(same, [&] {
    return std::string(name) + ": expected parameters of one dtype and with the same states, got " + one.str() +
           " and " + other.str() + " of another kind";
  });
}

void check_steps(const char* name, std::span<const Spec* const> operands, std::size_t steps, std::size_t step_bytes) {
  const std::size_t count = In::param + kStepOperands * steps;
  check<ValueError>(operands.size() == count, [&] {
    return std::string(name) + ": expected " + std::to_string(count) + " operands for " + std::to_string(steps) +
           " steps, got " + std::to_string(operands.size());
  });
  const Spec& there = *operands[In::steps];
  const auto bytes = std::int64_t(steps * step_bytes);
  const bool numbers = there.dtype == DType::uint8 && there.numel == bytes && there.contiguous;
  check<ValueError>(there.rank == kAbsent || (numbers && !there.device.is_cpu()), [&] {
    return std::string(name) + ": expected the steps as " + std::to_string(bytes) + " bytes of a device, got " +
           there.str();
  });
  for (std::size_t i = 0; i < steps; ++i)
    check_step(name, {operands, i}), check_kind(name, {operands, 0}, {operands, i});
}

}  // namespace

bool same_strides(const Spec& a, const Spec& b) {
  return a.dtype == b.dtype && a.device == b.device && a.same_shape(b) &&
         std::equal(a.strides, a.strides + a.rank, b.strides);
}

template <class Step> void OptimizerStep<Step>::infer(std::span<const Spec* const> operands, Spec&) const {
  check_steps(op.name, operands, steps.size(), sizeof(Step));
}

template <class Step> void OptimizerStep<Step>::run(Context& c, std::span<const View> operands, const View&) const {
  std::vector<OptimTensors> tensors(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const View* v = &operands[kStepOperands * i];
    tensors[i] = {v[In::param], v[In::grad], {v[In::state], v[In::second_state], v[In::third_state]}};
  }
  // Null if the steps are not in a device's memory.
  const Step* there = operands[In::steps].template as<const Step>();
  (c.backend.optim->*OptimizerKernel<Step>::entry)(c, tensors, steps, there);
}

template <class Step> void optimizer_step(std::vector<Step> steps, std::span<const Tensor> operands) {
  apply_list(OptimizerStep<Step>{std::move(steps)}, operands);
}

std::span<const char> bytes_of_steps(const Row& row, const void* op) {
#define OPTIMIZER_STEP(kernel, Step, ...)                                              \
  if (&row == &row_of<OptimizerStep<Step>>) {                                          \
    const auto& steps = static_cast<const OptimizerStep<Step>*>(op)->steps;            \
    return {reinterpret_cast<const char*>(steps.data()), steps.size() * sizeof(Step)}; \
  }
#include "neura/tables/optimizers.def"
  return {};
}

#define OPTIMIZER_STEP(kernel, Step, ...) \
  template struct OptimizerStep<Step>;    \
  template void optimizer_step(std::vector<Step>, std::span<const Tensor>);
#include "neura/tables/optimizers.def"

}  // namespace neura

#define OPTIMIZER_STEP(kernel, Step, ...) NEURA_DEFINE_OPERATION(kernel##_step, OptimizerStep<Step>);
#include "neura/tables/optimizers.def"
