// The device "meta". A tensor there has sizes, strides and a dtype, and no bytes. A call checks its operands and says
// what its results are, as on every device; where it would run a kernel, nothing happens (op/border.cpp). What needs
// values is refused.
#pragma once
#include "neura/core/device_types.h"

namespace neura {

struct DeviceApi;
struct Spec;

// Unmapped, distinct addresses, so that distinct storages never compare as overlapping.
const DeviceApi& meta_api();

[[noreturn]] void refuse_values(const char* op, const Spec&);  // NotImplementedError
inline void check_values(const char* op, Device device, const Spec& s) {
  if (is_meta(device)) [[unlikely]]
    refuse_values(op, s);
}

}  // namespace neura
