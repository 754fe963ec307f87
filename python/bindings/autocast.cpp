// What neura.amp asks of the library: the modes of autocast, and the list operations of GradScaler.
#include "common.h"

#include "neura/op/autocast.h"
#include "neura/ops/training/loss_scale.h"

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
  m.def(
      "unscale",
      [](nb::object gradients, const Tensor& inverse, const Tensor& found) {
        std::vector<Tensor> all;
        if (!to_tensors(gradients.ptr(), all)) throw nb::type_error("unscale_: expected a list of tensors");
        const NoGrad guard;
        for (Tensor& t : all) t = t.detach();
        unscale_gradients(all, inverse, found);
      },
      "gradients"_a, "inverse_scale"_a, "found_inf"_a);
  m.def(
      "update_scale",
      [](Tensor scale, Tensor tracker, const Tensor& found, double growth, double backoff, std::int64_t interval) {
        const NoGrad guard;
        update_scale(scale, tracker, found, {growth, backoff, interval});
      },
      "scale"_a, "growth_tracker"_a, "found_inf"_a, "growth_factor"_a, "backoff_factor"_a, "growth_interval"_a);
}

}  // namespace neura::python
