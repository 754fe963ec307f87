// Recurrent layers and functions as Python sees them.
#include <nanobind/stl/pair.h>

#include "layers.h"

#include "neura/nn/recurrent.h"
#include "packed.h"

namespace neura::python {
namespace {

using Integer = std::int64_t;
using States = std::pair<Tensor, Tensor>;

constexpr const char* kArguments = R"(

forward(input, hx=None): input [T, N, input_size], [N, T, input_size] if batch_first, [T, input_size] for one sequence,
or a PackedSequence. The states, [num_layers * directions, N, hidden_size], are zeros unless they are given. Returns the
outputs of the last layer, [T, N, directions * hidden_size] or packed like the input, and the states after the last time.

num_layers: one feeds the next; dropout: the probability in between, while training
bidirectional: a second set of weights runs from the end; both outputs stand side by side)";

template <class M, class State> void more(const LayerType& t) {
  t.def(
      "_forward_packed",
      [](M& m, const Tensor& data, const Tensor& sizes, const MaybeTensor& sorted, const MaybeTensor& unsorted,
         const State& hx) {
        if constexpr (std::same_as<State, MaybeTensor>) {
          const auto [out, h] = m.forward_packed(packed_of(data, sizes, sorted, unsorted), hx.value_or(Tensor()));
          return nb::make_tuple(fields_of(out), h);
        } else {
          const auto [out, h] = m.forward_packed(packed_of(data, sizes, sorted, unsorted), hx);
          return nb::make_tuple(fields_of(out), h);
        }
      },
      NEURA_PACKED_FIELDS, "hx"_a.none());
  property(t, "_flat_weights_names", [](const M& m) {
    nb::list names;
    for (const std::string& name : m.weight_names()) names.append(name);
    return names;
  });
  t.def(
      "flatten_parameters", [](M& m) { m.flatten_parameters(); }, "Does nothing: parameters need no order in memory.");
  t.def(
      "reset_parameters", [](M& m) { m.reset_parameters(); }, "Uniform within 1 / sqrt(hidden_size).");
}

// As in torch, bias and batch_first are True or False alone.
nn::RNNOptions options_of(Integer layers, nb::bool_ bias, nb::bool_ batch_first, double dropout, bool bidirectional,
                          const AnyDevice& device, const AnyDType& dtype) {
  return {.num_layers = layers,
          .bias = bool(bias),
          .batch_first = bool(batch_first),
          .dropout = dropout,
          .bidirectional = bidirectional,
          .device = device.value_or(default_device()),
          .dtype = dtype};
}
#define OPTIONS                                                                                                       \
  "input_size"_a, "hidden_size"_a, "num_layers"_a = o.num_layers, "bias"_a = o.bias, "batch_first"_a = o.batch_first, \
                                   "dropout"_a = o.dropout, "bidirectional"_a = o.bidirectional

void bind_sequences(nb::module_& n) {
  const nn::RNNOptions o;
  bind_base<nn::RNNBase>(n, "RNNBase", "What RNN, GRU and LSTM share.");
  more<nn::RNN, MaybeTensor>(bind_layer<nn::RNN, nn::RNNBase>(
      n, (std::string("h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu of it, at each time.") + kArguments).c_str(),
      [](Integer in, Integer hidden, Integer layers, const std::string& nonlinearity, nb::bool_ bias,
         nb::bool_ batch_first, double dropout, bool bidirectional, AnyDevice device, AnyDType dtype) {
        nn::RNNOptions o = options_of(layers, bias, batch_first, dropout, bidirectional, device, dtype);
        o.nonlinearity = nonlinearity;
        return nn::make<nn::RNN>(in, hidden, o);
      },
      "input_size"_a, "hidden_size"_a, "num_layers"_a = o.num_layers, "nonlinearity"_a = o.nonlinearity,
      "bias"_a = o.bias, "batch_first"_a = o.batch_first, "dropout"_a = o.dropout, "bidirectional"_a = o.bidirectional,
      NEURA_PLACE));
  more<nn::GRU, MaybeTensor>(bind_layer<nn::GRU, nn::RNNBase>(
      n, (std::string("Gated recurrent units (Cho et al., 2014): gates r, z, n.") + kArguments).c_str(),
      [](Integer in, Integer hidden, Integer layers, nb::bool_ bias, nb::bool_ batch_first, double dropout,
         bool bidirectional, AnyDevice device, AnyDType dtype) {
        return nn::make<nn::GRU>(in, hidden,
                                 options_of(layers, bias, batch_first, dropout, bidirectional, device, dtype));
      },
      OPTIONS, NEURA_PLACE));
  more<nn::LSTM, std::optional<States>>(bind_layer<nn::LSTM, nn::RNNBase>(
      n,
      (std::string(
           "Long short-term memory (Hochreiter and Schmidhuber, 1997): gates i, f, g, o; hx and the states that "
           "come out are pairs (h, c). proj_size: h is projected to this width (Sak et al., 2014).") +
       kArguments)
          .c_str(),
      [](Integer in, Integer hidden, Integer layers, nb::bool_ bias, nb::bool_ batch_first, double dropout,
         bool bidirectional, Integer proj_size, AnyDevice device, AnyDType dtype) {
        nn::RNNOptions o = options_of(layers, bias, batch_first, dropout, bidirectional, device, dtype);
        o.proj_size = proj_size;
        return nn::make<nn::LSTM>(in, hidden, o);
      },
      OPTIONS, "proj_size"_a = o.proj_size, NEURA_PLACE));
}

template <class M> void bind_cell(nb::module_& n, const char* doc) {
  bind_layer<M>(
      n, doc,
      [](Integer in, Integer hidden, bool bias, AnyDevice device, AnyDType dtype) {
        return nn::make<M>(
            in, hidden, nn::RNNCellOptions{.bias = bias, .device = device.value_or(default_device()), .dtype = dtype});
      },
      "input_size"_a, "hidden_size"_a, "bias"_a = nn::RNNCellOptions().bias, NEURA_PLACE)
      .def(
          "reset_parameters", [](M& m) { m.reset_parameters(); }, "Uniform within 1 / sqrt(hidden_size).");
}
void bind_cells(nb::module_& n) {
  const nn::RNNCellOptions o;
  bind_layer<nn::RNNCell>(
      n, "One step of an RNN: input [N, input_size] and hx [N, hidden_size], both also without N -> the next state.",
      [](Integer in, Integer hidden, bool bias, const std::string& nonlinearity, AnyDevice device, AnyDType dtype) {
        return nn::make<nn::RNNCell>(in, hidden,
                                     nn::RNNCellOptions{bias, nonlinearity, device.value_or(default_device()), dtype});
      },
      "input_size"_a, "hidden_size"_a, "bias"_a = o.bias, "nonlinearity"_a = o.nonlinearity, NEURA_PLACE)
      .def(
          "reset_parameters", [](nn::RNNCell& m) { m.reset_parameters(); }, "Uniform within 1 / sqrt(hidden_size).");
  bind_cell<nn::GRUCell>(
      n, "One step of a GRU: input [N, input_size] and hx [N, hidden_size], both also without N -> the next state.");
  bind_cell<nn::LSTMCell>(
      n,
      "One step of an LSTM: input [N, input_size] and hx, a pair of [N, hidden_size], all also without N -> the next "
      "pair (h, c).");
}

}  // namespace

void bind_recurrent_layers(nb::module_& n) {
  bind_sequences(n);
  bind_cells(n);
}

}  // namespace neura::python
