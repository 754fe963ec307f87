#include "neura/op/saved.h"

#include "neura/core/state.h"
#include "neura/op/record.h"

namespace neura {
namespace {

[[gnu::tls_model("initial-exec")]] constinit thread_local SavedHooks* topmost = nullptr;

}  // namespace

std::string (*call_site)() = nullptr;
[[gnu::tls_model("initial-exec")]] constinit thread_local const Node* deriving_node = nullptr;

SavedHooks* SavedHooks::top() { return topmost; }
void SavedHooks::push() {
  below_ = topmost, topmost = this;
  state.active |= kPacked;
}
void SavedHooks::pop() {
  if (!topmost) return;
  topmost = topmost->below_;
  if (!topmost) state.active &= ~std::uint32_t{kPacked};
}

std::unique_ptr<Packed> SavedHooks::pack_by_top(const Tensor& t) {
  struct Quiet {
    SavedHooks* const hooks = topmost;
    const std::uint32_t active = state.active;
    Quiet() { topmost = nullptr, state.active = (active & ~std::uint32_t{kPacked}) | kNoGrad; }
    ~Quiet() { topmost = hooks, state.active = active; }
  } quiet;
  return quiet.hooks->pack(t);
}

Tensor unpacked(Packed& packed, const Spec& want, const char* op) {
  Tensor t = packed.unpack();
  check<AutogradError>(t && t.dtype() == want.dtype && t.spec().same_shape(want) && t.device() == want.device, [&] {
    return std::string(op) + ": expected the unpack hook to give a saved tensor back as " + want.str() + " on " +
           want.device.str() + ", got " + (t ? t.spec().str() + " on " + t.device().str() : std::string("nothing"));
  });
  return t;
}

std::string trace_of(const char* op, const std::string& arguments) {
  std::string text = std::string(op) + "(" + arguments + ")";
  if (deriving_node && deriving_node->trace()) return text + ", made by the derivative of " + deriving_node->trace();
  if (call_site) text += " at\n" + call_site();
  return text;
}

}  // namespace neura
