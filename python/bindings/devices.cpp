// What neura.cuda and neura.cpu ask: which devices there are, their memory, waiting for them.
#include "common.h"
#include <nanobind/stl/vector.h>

#include "neura/backend/plugin.h"
#include "neura/backend/python_packages.h"
#include "neura/core/memory.h"
#include "neura/core/precision.h"
#include "neura/cuda/memory.h"
#include "neura/op/border.h"

namespace neura::python {

void bind_streams(nb::module_&);
void bind_kernels(nb::module_&);
void bind_amp(nb::module_&);

namespace {

DeviceInfo info(Device d) {
  DeviceInfo i;
  throw_failure(device_api(d).info(d.index, &i), "info");
  return i;
}
DeviceMemory memory(Device d) {
  DeviceMemory m;
  throw_failure(device_api(d).memory(d.index, &m), "memory");
  return m;
}

// Wheels are looked for where Python looks for packages, as it is now: another thread may ask later, without Python's
// lock.
void tell_packages() {
  const nb::list path = nb::module_::import_("sys").attr("path");
  for (nb::handle entry : path)
    if (std::string folder; nb::try_cast(entry, folder) && folder.starts_with('/'))
      package_folders().push_back(std::move(folder));
}

}  // namespace

// Back ends that a program brings: neura.backends.
static void bind_border(nb::module_& neura) {
  nb::module_ m = neura.def_submodule("_border");
  m.def("load", &load_backend, "path"_a);
  m.def("types", &device_types);
  m.def("fallbacks", [] {
    nb::dict all;
    for (const HostFallback& f : host_fallbacks()) all[nb::make_tuple(f.device, f.operation)] = f.count;
    return all;
  });
  m.def("reset_fallbacks", &reset_host_fallbacks);
  m.def("forbid", &forbid_host_fallback, "forbid"_a);
}

// neura.cpu
static void bind_cpu(nb::module_& neura) {
  nb::module_ m = neura.def_submodule("_cpu");
  m.def("memory_allocated", [] { return memory_allocated(); });
  m.def("max_memory_allocated", [] { return max_memory_allocated(); });
  m.def("reset_peak_memory_stats", [] { reset_peak_memory_stats(); });
}

void bind_devices(nb::module_& neura) {
  tell_packages();
  bind_amp(neura);
  bind_border(neura);
  bind_cpu(neura);
  nb::module_ m = neura.def_submodule("_cuda");
  m.def("why_not", [] { return unavailable(DeviceType::cuda); });
  m.def("count", [] { return unavailable(DeviceType::cuda).empty() ? device_api(DeviceType::cuda).count() : 0; });
  m.def(
      "info",
      [](Device d) {
        const DeviceInfo i = info(d);
        return nb::make_tuple(i.name, i.major, i.minor, i.total, i.multiprocessors);
      },
      "device"_a);
  m.def(
      "memory",
      [](Device d) {
        const DeviceMemory x = memory(d);
        return nb::make_tuple(x.allocated, x.allocated_peak, x.reserved, x.reserved_peak, x.free, x.total);
      },
      "device"_a);
  m.def("reset_peak", &reset_peak_memory_stats, "device"_a);
  m.def("empty_cache", [] { cuda::empty_cache(); });
  m.def(
      "synchronize", [](Device d) { throw_failure(device_api(d).synchronize(d.index), "synchronize"); }, "device"_a,
      nb::call_guard<nb::gil_scoped_release>());
  bind_streams(m);
  bind_kernels(m);
  m.def("set_cudnn_allow_tf32", &set_cudnn_allow_tf32, "allow"_a);
  m.def("get_cudnn_allow_tf32", &get_cudnn_allow_tf32);
}

}  // namespace neura::python
