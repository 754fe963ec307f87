// What data and defaults of Python make: new_tensor, and what is used where nothing is said.
#include "common.h"

namespace neura::python {

void bind_create(const Names& n) {
  n.method(
      "new_tensor",
      [](const Tensor& x, nb::handle data, std::optional<DType> d, std::optional<Device> v, bool requires_grad,
         nb::handle, bool pin_memory) {
        Tensor t = pinned(pin_memory, tensor_from(data, d ? *d : x.dtype()).to(v.value_or(x.device())));
        return requires_grad ? t.requires_grad_() : t;
      },
      "self"_a, "data"_a, nb::kw_only(), "dtype"_a = nb::none(), "device"_a = nb::none(), "requires_grad"_a = false,
      "layout"_a = nb::none(), "pin_memory"_a = false);
  n.function("get_default_dtype", &default_dtype);
  n.function("set_default_dtype", &set_default_dtype, "d"_a);
  n.function("get_default_device", &default_device);
  n.function("set_default_device", &set_default_device, "device"_a.none());
}

}  // namespace neura::python
