// What neura.amp asks of the library: the modes of autocast, and the list operations of GradScaler.
#include "common.h"

#include "neura/ops/autocast.h"

namespace neura::python {

void bind_amp(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("_amp");
  m.def(
      "is_enabled", [](Device d) { return amp::is_autocast_enabled(d.type); }, "device"_a);
  m.def(
      "set_enabled", [](Device d, bool on) { amp::set_autocast_enabled(d.type, on); }, "device"_a, "enabled"_a);
  m.def(
      "get_dtype", [](Device d) { return amp::get_autocast_dtype(d.type); }, "device"_a);
  m.def(
      "set_dtype", [](Device d, DType t) { amp::set_autocast_dtype(d.type, t); }, "device"_a, "dtype"_a);
  m.def("is_cache_enabled", &amp::is_autocast_cache_enabled);
  m.def("set_cache_enabled", &amp::set_autocast_cache_enabled, "enabled"_a);
  m.def("clear_cache", &amp::clear_autocast_cache);
  m.def("enter", &amp::enter_autocast);
  m.def("leave", &amp::leave_autocast);
}

}  // namespace neura::python
