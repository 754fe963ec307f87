// Deferral: receives each call that runs a kernel or makes a view, instead of its being run; after interceptors,
// definitions and recording. A trace writes the calls down (graph/trace.h), a window delays some of them
// (graph/window.h).
#pragma once
#include <functional>

#include "neura/core/state.h"
#include "neura/op/apply.h"

namespace neura {

// Writes into an operation's attributes those numbers that differ from run to run of a program.
using Renewal = std::function<void(void* op)>;

// Active on its thread while it lives. A thread has one at a time, but a trace may begin inside a window.
struct Deferral : ReadObserver {
  explicit Deferral(bool traces);
  Deferral(const Deferral&) = delete;
  virtual ~Deferral();
  virtual void take(Call&) = 0;                                             // runs it by proceed()
  virtual void copied(const TensorImpl* /*from*/, const Tensor& /*to*/) {}  // the engine copied bytes without a call
  virtual void recomputes(bool /*begins*/) {}                               // the calls of a Recomputation begin or end
  // Renews the attributes of the next call that has varying ones; the class that overrides this keeps it.
  virtual void renews(Renewal) {}             // NOLINT(performance-unnecessary-value-param)
  virtual void flush(const char* /*why*/) {}  // runs the calls that wait
  // write_later() asks it after all checks: true if the write is delayed; the version is raised then.
  virtual bool rewrites(const Call&, const Spec& /*result*/) { return false; }
  const bool traces;

 private:
  ReadObserver* const below_;
  const std::uint32_t before_;
};
void proceed(Call&);  // runs it; if it runs by its definition, take() gets the calls of that

// The parts of apply() around the kernel of a pointwise call, a slope or a conversion, with a fresh result. prepare()
// checks, infers the result and says whether the call is recorded; conclude() records it once call.out[0] exists, whose
// bytes may be computed later.
Spec prepare(Call&, bool& recorded);
void conclude(Call&, bool recorded);
void write_later(Call&);  // proceed() for a pointwise call in place, whose kernel may be delayed

// This thread's active deferral, or null.
inline Deferral* deferral() { return state.active & kDeferred ? static_cast<Deferral*>(state.reader) : nullptr; }
// Whether this thread's calls are written down as a program.
inline bool is_traced() { return deferral() && deferral()->traces; }
// Calls made while it lives are left out of a traced program, such as an optimizer's computation of its own numbers.
class Untraced {
 public:
  explicit Untraced(bool is_on = true);
  Untraced(const Untraced&) = delete;
  ~Untraced();

 private:
  std::uint32_t before_;
};
// Calls made while it lives compute again what a checkpoint did not keep: no pass may merge them with the first ones.
struct Recomputation {
  Recomputation();
  Recomputation(const Recomputation&) = delete;
  ~Recomputation();
};
bool is_deferred();  // for other libraries: is this thread traced?
void renew_next_call(Renewal);
void notify_read(const Tensor&);  // a host language is about to read its values

}  // namespace neura
