// Device types besides cpu and cuda: meta, and those that back ends register by name while the program runs.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "neura/core/device.h"

namespace neura {

inline constexpr int kMaxRegistered = 64;  // device types of one process

// "meta", after cuda: sizes, strides and dtypes without bytes (core/meta.h).
inline constexpr DeviceType kMeta{std::uint8_t(DeviceType::cuda) + 1};
constexpr bool is_meta(Device d) { return !kOnlyCpu && d.type == kMeta; }
// Meta, or of a type that a back end registered: `apply` hands its calls to op/border.h.
constexpr bool is_registered(Device d) { return !kOnlyCpu && d.type > DeviceType::cuda; }
constexpr int registered_slot(DeviceType t) { return int(t) - int(kMeta) - 1; }
constexpr DeviceType registered_type(int slot) { return DeviceType(slot + int(kMeta) + 1); }

// ValueError if the name is taken or invalid (lower case letters, digits and _, a letter first). `prepare` makes the
// type ready, before others can find it.
DeviceType announce_device_type(std::string_view name, const std::function<void(DeviceType)>& prepare);
const std::string& device_type_name(DeviceType);
std::vector<std::string> device_types();  // cpu, cuda, meta, and those registered so far, or named by NEURA_BACKENDS

namespace detail {  // set by the loader of back ends: loads those of NEURA_BACKENDS, once
inline void (*load_named_backends)() = nullptr;
}

}  // namespace neura
