#include "neura/op/defer.h"

#include "neura/core/pending.h"
#include "neura/op/launch.h"

namespace neura {

Interceptor::Interceptor() : below(state.top) { state.top = this, state.active |= kIntercepted; }
Interceptor::~Interceptor() {
  state.top = below;
  if (!below) state.active &= ~std::uint32_t{kIntercepted};
}

Deferral::Deferral(bool t) : traces(t), below_(state.reader), before_(state.active & kDeferred) {
  check<ValueError>(!is_traced(), [] { return "trace: expected no other trace on this thread, got one inside of it"; });
  if (Deferral* below = deferral()) below->flush("a trace");
  flush_launches("a compiled or traced function");
  state.reader = this, state.active |= kDeferred;
}
Deferral::~Deferral() {
  state.reader = below_;
  state.active = (state.active & ~std::uint32_t{kDeferred}) | before_;
}
Untraced::Untraced(bool is_on) : before_(is_on ? state.active & kDeferred : 0) { state.active &= ~before_; }
Untraced::~Untraced() { state.active |= before_; }
Recomputation::Recomputation() {
  if (Deferral* d = deferral()) d->recomputes(true);
}
Recomputation::~Recomputation() {
  if (Deferral* d = deferral()) d->recomputes(false);
}
bool is_deferred() { return is_traced(); }
void launch_boundary() {
  if (launches_observed()) detail::launch_observer().boundary();
}
void notify_read(const Tensor& t) {
  if (t) settled(t.impl());
  if (Deferral* d = deferral()) d->reads(t.impl());
}
void renew_next_call(Renewal r) {
  if (Deferral* d = deferral()) d->renews(std::move(r));
}

}  // namespace neura
