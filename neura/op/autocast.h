// Mixed precision. Inside an autocast region `apply` casts operands first: those of products and convolutions to a
// half, those of operations that lose too much precision in halves to float32, as autocast.def lists them; the others
// keep their dtypes. Backward never casts: the engine turns autocast off.
#pragma once
#include <optional>

#include "neura/core/device.h"
#include "neura/core/dtype.h"

namespace neura {
struct Row;
}

namespace neura::amp {

enum class Policy : std::uint8_t {
  keep,     // as it comes; of a function: neither are its parts cast
  parts,    // of a function: each of its operations by its own policy
  low,      // in the half dtype of the region
  wide,     // in float32
  promote,  // in the widest dtype of its operands
  refuse,   // ValueError: it overflows in float16; its form with logits is safe
};
Policy policy_of(const Row&, DeviceType);  // by its line of autocast.def, or its `precision`

// The modes of this thread. At first the half dtypes are bfloat16 on the cpu and float16 on cuda.
struct Modes {
  bool on[2] = {};
  DType low[2] = {DType::bfloat16, DType::float16};
  bool cache = true;
  bool operator==(const Modes&) const = default;
};
Modes modes();
void set_modes(const Modes&);

bool is_autocast_enabled(DeviceType);            // on this thread
void set_autocast_enabled(DeviceType, bool on);  // without a region
DType get_autocast_dtype(DeviceType);            // what operands of the low operations become
void set_autocast_dtype(DeviceType, DType);      // float16 or bfloat16; DTypeError
bool is_autocast_cache_enabled();                // whether casts of parameters are kept
void set_autocast_cache_enabled(bool on);        // of this thread
void clear_autocast_cache();                     // the casts that this thread keeps
// Regions that this thread is in; the casts of parameters that it keeps go when the outermost is left.
int enter_autocast();
int leave_autocast();

// On this thread while it lives; regions nest, and an inner one may turn it off. Without a dtype, the device's.
class Autocast {
 public:
  explicit Autocast(Device, std::optional<DType> dtype = {}, bool enabled = true, bool cache_enabled = true);
  ~Autocast();
  Autocast(const Autocast&) = delete;

 private:
  const Modes before_;
};

class ModesScope {  // other modes while it lives: none for backward, those of the first run for a checkpoint
 public:
  explicit ModesScope(const Modes& m = {}) : before_(modes()) {
    if (!(m == before_)) set_modes(m);
  }
  ~ModesScope() {
    if (!(modes() == before_)) set_modes(before_);
  }
  ModesScope(const ModesScope&) = delete;

 private:
  const Modes before_;
};

}  // namespace neura::amp
