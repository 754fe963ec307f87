// Whether operations are recorded, per thread.
#pragma once
#include <cstdint>

namespace neura {

class NoGrad {  // recording off (or, with false, on) on this thread while it lives
 public:
  explicit NoGrad(bool off = true);
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;

 private:
  std::uint32_t before_;
};
struct EnableGrad : NoGrad {
  EnableGrad() : NoGrad(false) {}
};
// Nothing is recorded, and tensors made here can never be: writing them while recording is an InplaceError, a recorded
// call that needs their history too. The cheapest way to run a network.
class InferenceMode {
 public:
  explicit InferenceMode(bool on = true);
  ~InferenceMode();
  InferenceMode(const InferenceMode&) = delete;

 private:
  std::uint32_t before_;
};

// For host languages, whose blocks nest as they please: changes the bits (of core/state.h) in mask, gives what they
// were.
inline constexpr std::uint32_t kModeNoGrad = 1, kModeInference = 4, kModeAnomaly = 8, kModeTraceOnly = 32;
std::uint32_t exchange_modes(std::uint32_t mask, std::uint32_t value);

bool is_grad_enabled();            // of this thread; the same holds for the next two
void set_grad_enabled(bool on);    // until it is set again, where no guard is at hand
bool is_inference_mode_enabled();  // inside an InferenceMode

}  // namespace neura
