#include "neura/backend/plugin.h"

#ifndef __EMSCRIPTEN__
#include <dlfcn.h>
#include <unistd.h>
#endif

#include <cstring>
#include <string>
#include <vector>

#include "neura/backend/layout.h"
#include "neura/backend/python_packages.h"
#include "neura/backend/registered.h"
#include "neura/core/error.h"
#include "neura/core/memory_api.h"
#include "neura/core/pinned_api.h"
#include "neura/core/precision.h"
#include "neura/core/settings.h"
#include "neura/core/version.h"

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

// Where the back end may be, the best place first. The wheel neura-cuda13 is a package of its own.
std::vector<std::string> cuda_files(const char* name) {
  if (const char* chosen = setting(Setting::cuda_library)) return {chosen};
  std::vector<std::string> files = package_files(std::string("neura_cuda13/") + name);
  files.insert(files.begin(), beside_this_library(name));
  files.push_back(name);
  return files;
}

// Null: `why` says of the first file that is there, or of the first one if none is, what the system says.
void* open_first(const std::vector<std::string>& files, std::string& why) {
  bool there = false;
  for (const std::string& file : files) {
    if (void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    const std::string said = dlerror();
    const bool is_there = access(file.c_str(), F_OK) == 0;
    if (why.empty() || (is_there && !there)) why = said;
    there = there || is_there;
  }
  return nullptr;
}

void tell_packages(void* library) {
  using Packages = void(const char* const*, std::size_t);
  const auto told = reinterpret_cast<Packages*>(dlsym(library, "neura_packages"));
  std::vector<const char*> folders;
  for (const std::string& folder : package_folders()) folders.push_back(folder.c_str());
  if (told) told(folders.data(), folders.size());
}

std::string built_differently(const Plugin& plugin) {
  const bool same_structs = plugin.layout == layout_of_tables();  // if not, nothing else of it is read
  if (same_structs && !std::strcmp(plugin.version, kVersion)) return "";
  return std::string("was built with another version of Neura") +
         (same_structs ? std::string(" (") + plugin.version + ", not " + kVersion + ")" : "");
}

Loaded load_cuda() {
  constexpr const char* file = "libneura_cuda.so";
  std::string why;
  void* const library = open_first(cuda_files(file), why);
  if (!library)
    return {nullptr, "its library cannot be loaded (" + why +
                         "); use the cpu, or install the build of Neura with CUDA" +
                         (package_folders().empty() ? "" : ": pip install neura[cuda]")};
  const auto entry = reinterpret_cast<PluginEntry*>(dlsym(library, kPluginEntry));
  if (!entry)
    return {nullptr, std::string(file) + " is no back end of Neura; use the cpu, or install the build with CUDA"};
  const Plugin* plugin = entry();
  if (!plugin)
    return {nullptr, std::string(file) + " offers no back end; use the cpu, or install the build with CUDA again"};
  if (const std::string how = built_differently(*plugin); !how.empty())
    return {nullptr, std::string(file) + " " + how + "; install both from one build, or use the cpu"};
  if (const char* missing = plugin->missing()) return {nullptr, missing};
  using Precision = void(const detail::Precision*);
  if (const auto told = reinterpret_cast<Precision*>(dlsym(library, "neura_precision"))) told(&detail::precision());
  tell_packages(library);
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
