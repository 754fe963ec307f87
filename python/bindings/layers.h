// What the files that bind layers share.
#pragma once
#include "modules.h"

namespace neura::python {

// Where a layer's parameters are made; the last arguments of its constructor.
#define NEURA_PLACE "device"_a = nb::none(), "dtype"_a = nb::none()
using AnyDevice = std::optional<Device>;
using AnyDType = std::optional<DType>;

// An attribute that C++ holds in another form.
template <class Get> void property(const LayerType& t, const char* name, Get get, nb::object set = nb::none()) {
  nb::handle(reinterpret_cast<PyObject*>(t.type)).attr(name) =
      nb::handle(reinterpret_cast<PyObject*>(&PyProperty_Type))(nb::cpp_function(get, nb::is_method()), set);
}

void bind_plain_layers(nb::module_&);  // linear, shapes, dropout, embedding, attention
void bind_activation_layers(nb::module_&);
void bind_window_layers(nb::module_&);  // convolution, pooling
void bind_norm_layers(nb::module_&);    // and padding
void bind_loss_layers(nb::module_&);
void bind_transformer_layers(nb::module_&);
void bind_recurrent_layers(nb::module_&);

}  // namespace neura::python
