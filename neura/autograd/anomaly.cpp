#include "neura/autograd/anomaly.h"

#include <string>

#include "neura/core/meta.h"
#include "neura/core/state.h"
#include "neura/core/wrapped.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/record.h"
#include "neura/ops/reduce/reduce.h"

namespace neura {
namespace {

constexpr std::uint32_t kBoth = kAnomaly | kAnomalyTraceOnly;

std::string made_by(const Node& n) {
  return n.trace() ? std::string("; the forward call was ") + n.trace() : std::string();
}
// The same text once is enough: hooks and nested backwards pass through here more than once.
template <class E> void again_as(const Error& e, const std::string& text) {
  if (dynamic_cast<const E*>(&e)) throw E(text);
}

}  // namespace

DetectAnomaly::DetectAnomaly(bool on, bool check_nan) : before_(state.active & kBoth) {
  set_detect_anomaly(on, check_nan);
}
DetectAnomaly::~DetectAnomaly() { state.active = (state.active & ~kBoth) | before_; }

void set_detect_anomaly(bool on, bool check_nan) {
  const std::uint32_t wanted =
      (on ? std::uint32_t{kAnomaly} : 0u) | (check_nan ? 0u : std::uint32_t{kAnomalyTraceOnly});
  state.active = (state.active & ~kBoth) | (on ? wanted : 0u);
}
bool is_anomaly_enabled() { return state.active & kAnomaly; }
bool is_anomaly_check_nan_enabled() { return is_anomaly_enabled() && !(state.active & kAnomalyTraceOnly); }

void check_anomaly(const Node& n, const Tensor* results, int count) {
  if (state.active & kAnomalyTraceOnly) return;
  for (int i = 0; i < count; ++i) {
    if (!results[i] || is_meta(results[i].device())) continue;
    check<AutogradError>(!any(isnan(innermost(results[i]))).item<bool>(), [&] {
      return std::string(n.name()) + ": expected a derivative without NaN, got one for operand " + std::to_string(i);
    });
  }
}

void rethrow_with_trace(const Error& e, const Node& n) {
  const std::string text = e.what(), more = made_by(n);
  if (more.empty() || text.find("; the forward call was ") != text.npos) throw;
  again_as<InplaceError>(e, text + more);
  again_as<AutogradError>(e, text + more);
  again_as<ShapeError>(e, text + more);
  again_as<DTypeError>(e, text + more);
  again_as<DeviceError>(e, text + more);
  again_as<IndexError>(e, text + more);
  again_as<ValueError>(e, text + more);
  again_as<NotImplementedError>(e, text + more);
  throw;
}

DerivativeScope::DerivativeScope(const Node& n) : outer_(std::exchange(deriving_node, &n)) {}
DerivativeScope::~DerivativeScope() { deriving_node = outer_; }

}  // namespace neura
