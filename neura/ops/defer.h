// What lies below the door: a deferral gets every call that runs a kernel or makes a view, after interceptors,
// definitions and recording. A trace writes them down (graph/trace.h).
#pragma once
#include <functional>

#include "neura/core/state.h"
#include "neura/ops/apply.h"

namespace neura {

// Writes into an operation's attributes those numbers that differ from run to run of a program.
using Renewal = std::function<void(void* op)>;

// On its thread while it lives; one at a time.
struct Deferral : Reader {
  Deferral();
  Deferral(const Deferral&) = delete;
  virtual ~Deferral();
  virtual void take(Call&) = 0;                                       // runs it by proceed()
  virtual void copied(const TensorImpl* from, const Tensor& to) = 0;  // by the engine, no call
  virtual void recomputes(bool begins) = 0;                           // what follows was computed before
  virtual void renews(Renewal) = 0;                                   // of the next call that has such numbers
};
void proceed(Call&);  // runs it; its parts, if it is run by its definition, are taken too

inline Deferral* deferral() { return state.active & kDeferred ? static_cast<Deferral*>(state.reader) : nullptr; }
// What runs while it lives is no part of a program: an optimizer's own numbers.
class Untraced {
 public:
  Untraced();
  Untraced(const Untraced&) = delete;
  ~Untraced();

 private:
  std::uint32_t before_;
};
// What runs while it lives was computed before, to save memory: a pass must not take it for a repeat.
struct Recomputation {
  Recomputation();
  Recomputation(const Recomputation&) = delete;
  ~Recomputation();
};
bool is_deferred();  // for other libraries: does this thread have one?
void renew_next_call(Renewal);
void tell_read(const Tensor&);  // that a host language reads its values

}  // namespace neura
