#include "neura/autograd/anomaly.h"

#include <string>

#include "neura/core/state.h"
#include "neura/ops/record.h"
#include "neura/ops/reduce.h"
#include "neura/ops/rows.h"

namespace neura {

DetectAnomaly::DetectAnomaly(bool on) : before_(state.active & kAnomaly) {
  state.active = (state.active & ~kAnomaly) | (on ? std::uint32_t{kAnomaly} : 0u);
}
DetectAnomaly::~DetectAnomaly() { state.active = (state.active & ~kAnomaly) | before_; }

void check_anomaly(const Record& r, const Tensor* results) {
  for (int i = 0; i < r.inputs; ++i) {
    if (!results[i] || !any(isnan(results[i])).item<bool>()) continue;
    throw AutogradError(
        std::string(r.row->name) + ": expected a derivative without NaN, got one for operand " + std::to_string(i) +
        (r.trace ? std::string("; the forward call was ") + r.row->name + "(" + r.trace + ")" : std::string()));
  }
}

}  // namespace neura
