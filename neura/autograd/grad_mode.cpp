#include "neura/autograd/grad_mode.h"

#include "neura/core/state.h"

namespace neura {
namespace {
void change(std::uint32_t mask, std::uint32_t value) { state.active = (state.active & ~mask) | value; }
}  // namespace

NoGrad::NoGrad(bool off) : before_(state.active & kNoGrad) { change(kNoGrad, off ? std::uint32_t{kNoGrad} : 0u); }
NoGrad::~NoGrad() { change(kNoGrad, before_); }
InferenceMode::InferenceMode(bool on) : before_(state.active & kInference) {
  change(kInference, on ? std::uint32_t{kInference} : 0u);
}
InferenceMode::~InferenceMode() { change(kInference, before_); }

std::uint32_t exchange_modes(std::uint32_t mask, std::uint32_t value) {
  static_assert(kModeNoGrad == kNoGrad && kModeInference == kInference && kModeAnomaly == kAnomaly &&
                kModeTraceOnly == kAnomalyTraceOnly);
  mask &= kModeNoGrad | kModeInference | kModeAnomaly | kModeTraceOnly;
  const std::uint32_t before = state.active & mask;
  change(mask, value & mask);
  return before;
}

bool is_grad_enabled() { return !(state.active & (kNoGrad | kInference)); }
void set_grad_enabled(bool on) { change(kNoGrad, on ? 0u : std::uint32_t{kNoGrad}); }
bool is_inference_mode_enabled() { return state.active & kInference; }

}  // namespace neura
