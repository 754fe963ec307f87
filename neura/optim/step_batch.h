// Batches the optimizer steps of many parameters: those of one kind are one call of `apply`.
#pragma once
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "neura/op/defer.h"
#include "neura/ops/training/optimizer_step.h"

namespace neura::optim::detail {

bool same_strides(const Tensor& a, const Tensor& b);            // of one shape, dtype, device and the same strides
Tensor empty_with_strides_of(const Tensor& like);               // strided as `like`, if it is dense, else contiguous
Tensor full_with_strides_of(const Tensor& like, double value);  // both parts of a complex number
Tensor copy_with_strides_of(const Tensor& state, const Tensor& like);  // a copy

using StepTensors = std::array<Tensor, kStepOperands>;  // parameter, gradient, states; the last may be undefined
struct StepKind {                                       // of a step whose type is forgotten
  const char* name;
  std::size_t bytes;
  void (*take)(std::span<const Tensor> operands, const char* steps);  // operands as those of OptimizerStep
  void (*renew)(void* op, const char* steps);                         // other numbers for as many steps
};
template <class Step> void take_steps(std::span<const Tensor> operands, const char* steps) {
  std::vector<Step> typed(operands.size() / kStepOperands);
  std::memcpy(typed.data(), steps, typed.size() * sizeof(Step));
  optimizer_step(std::move(typed), operands);
}
template <class Step> void renew_steps(void* op, const char* steps) {
  auto& typed = static_cast<OptimizerStep<Step>*>(op)->steps;
  std::memcpy(typed.data(), steps, typed.size() * sizeof(Step));
}
template <class Step> inline constexpr StepKind kStepKind{OptimizerKernel<Step>::op.name, sizeof(Step),
                                                          &take_steps<Step>, &renew_steps<Step>};

// Steps that have passed every check and still wait for their call, which `run` makes.
//
// Inside a graph's capture the kernel is recorded, not run, and a replay does not come by here: the steps' numbers,
// which change from step to step, are then in the device's memory, and before each replay they are computed as for a
// step outside and copied there. So counts, schedulers and hyperparameters continue as without a graph.
class Batch {
 public:
  using Again = std::function<void(Batch&)>;  // the rules of the same parameters, in the same order
  Batch() = default;
  Batch(const Batch&) = delete;
  ~Batch();  // after an error, what came before it is done
  void run(Again again = {});
  // Only the numbers are wanted; nothing is written.
  static Batch of_numbers() { return Batch(true); }
  bool recorded() const { return recorded_ || is_deferred(); }  // by a graph or a trace
  // The next step: it waits, or is taken now where it cannot.
  void add(const StepKind&, const void* step, StepTensors);

 private:
  explicit Batch(bool only_numbers) : only_numbers_(only_numbers) {}
  bool joins(const Tensor& param, bool can_wait);
  void find_capture(const Tensor& param, bool waits);
  bool apart() const;
  static std::vector<char> next_numbers(const char* name, std::size_t bytes, const Again&);
  void renew_in_programs(std::vector<std::size_t> which, std::size_t bytes, bool first,
                         const std::shared_ptr<std::vector<char>>& numbers, const Again&) const;
  Tensor numbers_of_replays(Device, const std::vector<char>& steps, std::vector<std::size_t> order, Again) const;

  const StepKind* kind_ = nullptr;
  std::vector<char> steps_;
  std::vector<Tensor> kept_;  // of each step its operands
  bool only_numbers_ = false, recorded_ = false;
};

// The float32 copy of a half parameter that an optimizer keeps as a state, where its group says `master`: steps are
// taken on it, of the gradient in float32, and the parameter is its rounding. S as in rules.h, with saved(name) and
// put(name, tensor).
inline constexpr const char* kMaster = "master_param";
Tensor master_with_strides_of(const Tensor& values, const Tensor& param);  // a float32 copy of values, strided as param
template <class S> Tensor master_of(S& state, const Tensor& param) {
  const Tensor kept = state.saved(kMaster);
  if (kept && kept.dtype() == DType::float32 && kept.device() == param.device() && kept.shape() == param.shape())
    return kept;
  const Tensor made = master_with_strides_of(kept ? kept : param, param);
  return state.put(kMaster, made), made;
}
inline bool takes_master(const Tensor& param) { return bit(param.dtype()) & dtypes::halves; }
class MasterWeights {  // of the parameters of one step
 public:
  void add(const Tensor& param, const Tensor& master) { pairs_.push_back({param, master}); }
  void write();  // the parameters, after the steps

 private:
  std::vector<std::pair<Tensor, Tensor>> pairs_;
};

// Writes param and the states, of which any may be undefined.
template <class Step> void apply_step(Batch& batch, const Tensor& param, const Tensor& grad, const Step& step,
                                      const Tensor& s0 = {}, const Tensor& s1 = {}, const Tensor& s2 = {}) {
  batch.add(kStepKind<Step>, &step, {param, grad, s0, s1, s2});
}

}  // namespace neura::optim::detail
