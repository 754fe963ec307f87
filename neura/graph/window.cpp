#include "neura/graph/window.h"

#include "neura/core/error.h"
#include "neura/core/settings.h"
#include "neura/core/wrapped.h"
#include "neura/graph/fused.h"
#include "neura/graph/pending_calls.h"

namespace neura::graph {
namespace {

constexpr DTypeSet kTaken = bit(DType::float32) | bit(DType::float64) | bit(DType::float16) | bit(DType::bfloat16);

bool is_enabled() {
  static const bool enabled = setting_on(Setting::compile, true);
  return enabled;
}
bool is_waiting(const Operand& o) { return o.is_tensor() && !has_bytes(o.tensor); }

}  // namespace

OpenWindow::OpenWindow(const WindowOptions& o) {
  if (!deferral() && is_enabled()) window_.emplace(o);
}

ClosedWindow::ClosedWindow() {
  if (!is_compiling()) return;
  deferral()->flush("a call that must not wait");
  outside_.emplace();
}
bool is_compiling() { return deferral() && !deferral()->traces; }

Window::Window(const WindowOptions& o) : Deferral(false), stream_(PendingCalls::make()), options_(o) {}
Window::~Window() {
  try {
    flush("the end of the function");
  } catch (...) {  // raised again by the call that reads a value
  }
  PendingCalls::put_back(std::move(stream_));
}

void Window::flush(const char* why) {
  if (stream_->empty()) return;
  const PendingCalls::Lock lock = stream_->lock();
  stream_->run(why);
}
void Window::reads(const TensorImpl* t) {
  if (has_bytes(t)) return;
  flush("a value is read");
  settled(t);  // of another window
}

// May be read by a call that has the size of `largest`: what broadcasts to it as the device's fused calls can read.
static bool fits(const Spec& s, const Spec& largest) {
  if (s.device != largest.device || s.rank > largest.rank) return false;
  if (s.device.is_cpu()) return broadcast_of(s, largest.sizes()).has_value();
  if (s.numel == 1 || s.same_shape(largest)) return true;
  for (int d = 0; d < s.rank; ++d)
    if (s.shape[d] != 1 && s.shape[d] != largest.shape[d + largest.rank - s.rank]) return false;
  return true;
}

// The largest operand has the result's size, and dtypes are those in which no row refuses a value.
bool Window::waits(const Call& c) const {
  if (is_conversion(*c.row)) return waits_to_convert(c);
  const bool slope = c.row->kind == Row::slope;
  if ((c.row->kind != Row::pointwise && !slope) || state.active & kAnomaly) return false;
  const Spec* largest = nullptr;
  for (int i = 0; i < c.inputs; ++i) {
    if (c.in[i].is_scalar() && c.in[i].scalar.category() == Category::complex) return false;
    if (c.in[i].kind == Operand::absent && !slope) return false;
    if (!c.in[i].is_tensor()) continue;
    const Spec& s = c.in[i].tensor->spec;
    const bool condition = is_condition(*c.row, i);
    if (!(s.device.is_cpu() || (s.device.is_cuda() && s.contiguous)) ||
        !(bit(s.dtype) & (condition ? bit(DType::boolean) : kTaken)) || wrapped(c.in[i].tensor))
      return false;
    if (!largest || s.numel > largest->numel || (s.numel == largest->numel && s.rank > largest->rank)) largest = &s;
  }
  if (!largest || largest->numel < (largest->device.is_cpu() ? std::max<std::int64_t>(options_.least, 2) : 2))
    return false;
  if (slope && !c.in[0].tensor->spec.same_shape(*largest)) return false;  // fitted to it later
  for (int i = 0; i < c.inputs; ++i)
    if (c.in[i].is_tensor() && !fits(c.in[i].tensor->spec, *largest)) return false;
  return true;
}

bool Window::waits_to_convert(const Call& c) const {
  if (!c.in[0].is_tensor() || state.active & kAnomaly) return false;
  const Spec& s = c.in[0].tensor->spec;
  return s.device.is_cpu() && s.contiguous && s.numel >= std::max<std::int64_t>(options_.least, 2) &&
         !wrapped(c.in[0].tensor);
}

void Window::run_before(const Call& c) {
  if (c.row->kind == Row::view) return;
  bool needed = c.destination != Destination::fresh || c.row->written_inputs;
  for (int i = 0; i < c.inputs && !needed; ++i) needed = is_waiting(c.in[i]);
  if (!needed) return;
  flush(c.row->name);
  for (int i = 0; i < c.inputs; ++i)
    if (c.in[i].is_tensor()) settled(c.in[i].tensor);
}

bool Window::defer(Call& c) {
  bool recorded = false;
  const Spec spec = prepare(c, recorded);
  if (is_conversion(*c.row) && spec.dtype == c.in[0].tensor->spec.dtype) return false;  // a copy
  {
    const PendingCalls::Lock lock = stream_->lock();
    if (!stream_->operands(c)) return false;
    c.out[0] = stream_->add(c, spec);
  }
  conclude(c, recorded);
  return true;
}

// All of what a call that waits has made.
bool Window::is_whole(const TensorImpl* t) const {
  if (has_bytes(t)) return false;
  const PendingCalls::Lock lock = stream_->lock();
  return stream_->waiting(t) != kNoValue;
}

bool Window::rewrites(const Call& c, const Spec& result) {
  const TensorImpl* out = c.out[0].impl();
  if (result.dtype != out->spec.dtype || !result.same_geometry(out->spec)) return false;
  const PendingCalls::Lock lock = stream_->lock();
  return stream_->operands(c) && stream_->rewrite(c, result);
}

void Window::take(Call& c) {
  const bool in_place = c.destination == Destination::in_place;
  if (in_place && c.out[0] && is_whole(c.out[0].impl()) && waits(c)) return write_later(c);
  const bool may_wait = c.destination == Destination::fresh && waits(c);
  if (may_wait && defer(c)) return;
  run_before(c);
  if (may_wait && defer(c)) return;  // a view of what waited
  proceed(c);
}

}  // namespace neura::graph
