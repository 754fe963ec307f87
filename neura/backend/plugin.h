// Back ends that are shared libraries of their own, loaded when their device is first named.
#pragma once
#include "neura/backend/backend.h"

namespace neura {

struct Plugin {
  std::uint64_t layout;  // hash of the layout it was compiled with: layout.h
  const char* version;   // of the Neura that it was compiled with: version.h
  const DeviceApi& device;
  const Backend& backend;
  const char* (*missing)();  // null, or why no device can be used
};
using PluginEntry = const Plugin*();
inline constexpr const char* kPluginEntry = "neura_plugin";

// The plug-in of a device. DeviceError if its library, its driver or the device is not there.
const Plugin& plugin_of(Device);
// Why devices of this type cannot be used; empty if they can.
std::string unavailable(DeviceType);

}  // namespace neura
