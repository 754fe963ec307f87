// Back ends that are shared libraries of their own, loaded when their device is first named.
#pragma once
#include "neura/backend/backend.h"

namespace neura {

struct Plugin {
  std::uint64_t layout;  // of whoever compiled it; see layout_of_tables
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

// A number that changes with the rows and with the structs that cross the border.
constexpr std::uint64_t layout_of_tables() {
  std::uint64_t h = 14695981039346656037u;  // FNV-1a
  const auto add = [&h](const char* text) {
    for (; *text; ++text) h = (h ^ std::uint64_t(static_cast<unsigned char>(*text))) * 1099511628211u;
  };
#define ROW1(name, ...) add(#name);
#define ROW2 ROW1
#define ROW3 ROW1
#include "neura/tables/kinds.h"
#include "neura/tables/arithmetic.def"
#include "neura/tables/compare.def"
#include "neura/tables/elementary.def"
#include "neura/tables/activation.def"
#include "neura/tables/special.def"
#include "neura/tables/select.def"
#include "neura/tables/end_kinds.h"
#define KERNELS(name) add(#name);
#include "neura/backend/kernels.def"
#undef KERNELS
  for (std::size_t size : {sizeof(Spec), sizeof(Plan), sizeof(Line), sizeof(Context), sizeof(Backend),
                           sizeof(DeviceApi), sizeof(RowKernel), std::size_t(kDTypes)})
    h = (h ^ size) * 1099511628211u;
  return h;
}

}  // namespace neura
