// What is below the door: a deferral gets every call that runs a kernel or makes a view, after interceptors,
// definitions and recording. A trace writes them down (graph/trace.h); a window lets some wait (graph/window.h).
#pragma once
#include <functional>

#include "neura/core/state.h"
#include "neura/op/apply.h"

namespace neura {

// Writes into an operation's attributes those numbers that differ from run to run of a program.
using Renewal = std::function<void(void* op)>;

// On its thread while it lives; one at a time, but a trace may begin inside a window.
struct Deferral : ReadObserver {
  explicit Deferral(bool traces);
  Deferral(const Deferral&) = delete;
  virtual ~Deferral();
  virtual void take(Call&) = 0;                                             // runs it by proceed()
  virtual void copied(const TensorImpl* /*from*/, const Tensor& /*to*/) {}  // by the engine, no call
  virtual void recomputes(bool /*begins*/) {}                               // what follows was computed before
  // Of the next call that has such numbers; kept by the class that overrides it.
  virtual void renews(Renewal) {}             // NOLINT(performance-unnecessary-value-param)
  virtual void flush(const char* /*why*/) {}  // what waits is run
  // In write_later(), after all checks and before the kernel: true if it waits. Raises the version then.
  virtual bool rewrites(const Call&, const Spec& /*result*/) { return false; }
  const bool traces;

 private:
  ReadObserver* const below_;
  const std::uint32_t before_;
};
void proceed(Call&);  // runs it; its parts, if it is run by its definition, are taken too

// Of a pointwise call or a slope with a fresh result, what comes before its kernel and after it: checks, the result's
// sizes and whether it is recorded; then the record, when call.out[0] is there, whose bytes may follow.
Spec prepare(Call&, bool& recorded);
void conclude(Call&, bool recorded);
void write_later(Call&);  // of a pointwise call in place: as proceed(), but the kernel may wait

inline Deferral* deferral() { return state.active & kDeferred ? static_cast<Deferral*>(state.reader) : nullptr; }
inline bool is_traced() { return deferral() && deferral()->traces; }
// What runs while it lives is no part of a program: an optimizer's own numbers.
class Untraced {
 public:
  explicit Untraced(bool is_on = true);
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
bool is_deferred();  // for other libraries: is this thread traced?
void renew_next_call(Renewal);
void tell_read(const Tensor&);  // that a host language reads its values

}  // namespace neura
