// What the files that bind layers share.
#pragma once
#include "keywords.h"
#include "modules.h"
#include "neura/nn/nn.h"

namespace neura::python {

// An attribute that C++ holds in another form.
template <class Get> void property(const LayerType& t, const char* name, Get get, nb::object set = nb::none()) {
  const nb::object read = nb::cpp_function(get, nb::name(name), nb::is_method());
  watch_accessor(read.ptr());
  watch_accessor(set.ptr());
  nb::handle(reinterpret_cast<PyObject*>(t.type)).attr(name) =
      nb::handle(reinterpret_cast<PyObject*>(&PyProperty_Type))(read, set);
}

void bind_plain_layers(nb::module_&);  // linear, shapes, dropout, embedding, attention
void bind_activation_layers(nb::module_&);
void bind_window_layers(nb::module_&);  // convolution, pooling
void bind_norm_layers(nb::module_&);    // and padding
void bind_loss_layers(nb::module_&);
void bind_transformer_layers(nb::module_&);
void bind_recurrent_layers(nb::module_&);

}  // namespace neura::python
