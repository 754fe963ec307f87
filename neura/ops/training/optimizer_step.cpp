#include "neura/ops/training/optimizer_step.h"

#include <algorithm>
#include <string>

#include "neura/op/registry.h"

namespace neura {
namespace {

using Group = std::span<const Spec* const>;  // the operands of one step

void check_step(const char* name, Group g) {
  const Spec& param = *g[0];
  check<DTypeError>(differentiable(param.dtype), [&] {
    return std::string(name) + ": expected a floating or complex parameter, got " + param.str();
  });
  const auto fits = [&](const Spec& s) { return s.same_shape(param) && s.dtype == param.dtype; };
  check<ShapeError>(fits(*g[1]), [&] {
    return std::string(name) + ": expected a gradient like the parameter, " + param.str() + ", got " + g[1]->str();
  });
  for (const Spec* s : g.subspan(2))
    check<ShapeError>(s->rank == kAbsent || fits(*s), [&] {
      return std::string(name) + ": expected state like the parameter, " + param.str() + ", got " + s->str();
    });
  check<ShapeError>(param.dense(), [&] {
    return std::string(name) + ": expected a dense parameter, got " + param.str() + " with gaps; clone() it";
  });
  for (const Spec* s : g.subspan(1))
    check<ShapeError>(s->rank == kAbsent || same_strides(*s, param), [&] {
      return std::string(name) + ": expected a gradient and states with the strides of the parameter, " +
             Shape(param.strides, param.rank).str() + ", got " + Shape(s->strides, s->rank).str();
    });
}

// What the kernel takes together.
void check_kind(const char* name, Group first, Group g) {
  bool same = g[0]->dtype == first[0]->dtype;
  for (std::size_t k = 2; same && k < kStepOperands; ++k) same = (g[k]->rank == kAbsent) == (first[k]->rank == kAbsent);
  check<ValueError>(same, [&] {
    return std::string(name) + ": expected parameters of one dtype and with the same states, got " + first[0]->str() +
           " and " + g[0]->str() + " of another kind";
  });
}

void check_steps(const char* name, std::span<const Spec* const> operands, std::size_t steps, std::size_t step_bytes) {
  check<ValueError>(operands.size() == 1 + kStepOperands * steps, [&] {
    return std::string(name) + ": expected " + std::to_string(1 + kStepOperands * steps) + " operands for " +
           std::to_string(steps) + " steps, got " + std::to_string(operands.size());
  });
  const Spec& there = *operands[0];
  const auto bytes = std::int64_t(steps * step_bytes);
  const bool numbers = there.dtype == DType::uint8 && there.numel == bytes && there.contiguous;
  check<ValueError>(there.rank == kAbsent || (numbers && !there.device.is_cpu()), [&] {
    return std::string(name) + ": expected the steps as " + std::to_string(bytes) + " bytes of a device, got " +
           there.str();
  });
  const auto group = [&](std::size_t i) { return operands.subspan(1 + kStepOperands * i, kStepOperands); };
  for (std::size_t i = 0; i < steps; ++i) check_step(name, group(i)), check_kind(name, group(0), group(i));
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
    const View* v = &operands[1 + kStepOperands * i];
    tensors[i] = {v[0], v[1], {v[2], v[3], v[4]}};
  }
  // Null if the steps are not in a device's memory.
  const Step* there = operands[0].template as<const Step>();
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
