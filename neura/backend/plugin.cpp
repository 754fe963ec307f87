#include "neura/backend/plugin.h"

#ifndef __EMSCRIPTEN__
#include <dlfcn.h>
#endif

#include <mutex>
#include <string>

#include "neura/backend/layout.h"
#include "neura/backend/registered.h"
#include "neura/core/error.h"
#include "neura/core/memory_api.h"
#include "neura/core/pinned_api.h"
#include "neura/core/precision.h"

namespace neura {
namespace {

struct Loaded {
  const Plugin* plugin = nullptr;
  std::string why;  // it is null
};

#ifdef __EMSCRIPTEN__  // a program of WebAssembly loads no libraries of Linux
Loaded load_cuda() { return {nullptr, "this build, for WebAssembly, has no plug-ins; use the cpu"}; }
#else
std::string beside_this_library(const char* file) {
  Dl_info here;
  if (!dladdr(reinterpret_cast<const void*>(&plugin_of), &here) || !here.dli_fname) return file;
  const std::string path = here.dli_fname;
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? file : path.substr(0, slash + 1) + file;
}

Loaded load_cuda() {
  constexpr const char* file = "libneura_cuda.so";
  const char* chosen = std::getenv("NEURA_CUDA_LIBRARY");
  void* library = dlopen(chosen ? chosen : beside_this_library(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  std::string why = library ? "" : dlerror();
  if (!library && !chosen) library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return {nullptr,
            "its library cannot be loaded (" + why + "); use the cpu, or install the build of Neura with CUDA"};
  const auto entry = reinterpret_cast<PluginEntry*>(dlsym(library, kPluginEntry));
  if (!entry)
    return {nullptr, std::string(file) + " is no back end of Neura; use the cpu, or install the build with CUDA"};
  const Plugin* plugin = entry();
  if (!plugin)
    return {nullptr, std::string(file) + " offers no back end; use the cpu, or install the build with CUDA again"};
  if (plugin->layout != layout_of_tables())
    return {nullptr, std::string(file) +
                         " was built with another version of Neura; install both from one build, or use the cpu"};
  if (const char* missing = plugin->missing()) return {nullptr, missing};
  using Precision = void(const detail::Precision*);
  if (const auto told = reinterpret_cast<Precision*>(dlsym(library, "neura_precision"))) told(&detail::precision());
  static const DeviceApi& api = plugin->device;
  detail::empty_device_caches = [] {
    const Failed f = api.empty_cache();
    return f || !api.pinned ? f : api.pinned->empty();
  };
  return {plugin, ""};
}
#endif

const Loaded& cuda() {
  static const Loaded* loaded = new Loaded(load_cuda());  // never unloaded: tensors may outlive everything
  return *loaded;
}

[[maybe_unused]] const bool known = (
    detail::find_device_api = [](Device d) -> const DeviceApi& {
      return is_registered(d) ? registered_api(d) : plugin_of(d).device;
    },
    true);

}  // namespace

const Plugin& plugin_of(Device device) {
  const Loaded& c = cuda();
  check<DeviceError>(c.plugin,
                     [&] { return "device: expected one that can be used, got " + device.str() + ": " + c.why; });
  const int count = c.plugin->device.count();
  check<DeviceError>(device.index < count, [&] {
    return "device: expected cuda:0 to cuda:" + std::to_string(count - 1) + ", got " + device.str();
  });
  return *c.plugin;
}
std::string unavailable(DeviceType type) { return type == DeviceType::cuda ? cuda().why : ""; }

}  // namespace neura
