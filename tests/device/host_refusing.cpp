// A back end that cannot be used: NEURA_REFUSES=layout, because it was built with other structs;
// =version, by another Neura; =nothing, because it
// gives none; else for want of a driver. Where NEURA_MARK names a file, that file says that the library was loaded.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "neura/backend/layout.h"
#include "neura/backend/plugin.h"
#include "neura/core/version.h"

namespace {

bool because_of(std::string_view reason) {
  const char* why = std::getenv("NEURA_REFUSES");
  return why && why == reason;
}
[[gnu::constructor]] void loaded() {
  const char* mark = std::getenv("NEURA_MARK");
  if (std::FILE* file = mark ? std::fopen(mark, "w") : nullptr) std::fclose(file);
}

}  // namespace

extern "C" const neura::Plugin* neura_plugin() {
  static const neura::DeviceApi api{};
  alignas(neura::Backend) static char nothing[sizeof(neura::Backend)];  // nobody asks it for a kernel
  static const neura::Plugin plugin{
      neura::layout_of_tables() + (because_of("layout") ? 1 : 0), because_of("version") ? "0.0.9" : neura::kVersion,
      api, reinterpret_cast<const neura::Backend&>(nothing),
      []() -> const char* { return "no NVIDIA driver was found; install one, or use the cpu"; }};
  return because_of("nothing") ? nullptr : &plugin;
}
