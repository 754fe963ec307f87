// Recurrent layers and functions as Python sees them.
#include <nanobind/stl/pair.h>

#include "layers.h"

#include "packed_sequence.h"

namespace neura::python {
namespace {

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

constexpr const char* kExact = "bias, batch_first";  // as in torch

void bind_sequences(nb::module_& n) {
  bind_base<nn::RNNBase>(n, "RNNBase", "What RNN, GRU and LSTM share.");
  const auto text = [](const char* what) { return std::string(what) + kArguments; };
  more<nn::RNN, MaybeTensor>(bind_layer<nn::RNN, nn::RNNBase>(
      n, text("h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu of it, at each time.").c_str(),
      {.without = "proj_size", .exact = kExact}));
  more<nn::GRU, MaybeTensor>(
      bind_layer<nn::GRU, nn::RNNBase>(n, text("Gated recurrent units (Cho et al., 2014): gates r, z, n.").c_str(),
                                       {.without = "nonlinearity, proj_size", .exact = kExact}));
  more<nn::LSTM, std::optional<States>>(bind_layer<nn::LSTM, nn::RNNBase>(
      n,
      text("Long short-term memory (Hochreiter and Schmidhuber, 1997): gates i, f, g, o; hx and the states that come "
           "out are pairs (h, c). proj_size: h is projected to this width (Sak et al., 2014).")
          .c_str(),
      {.without = "nonlinearity", .exact = kExact}));
}

template <class M> void bind_cell(nb::module_& n, const char* doc, const LayerWords& words = {}) {
  bind_layer<M>(n, doc, words)
      .def(
          "reset_parameters", [](M& m) { m.reset_parameters(); }, "Uniform within 1 / sqrt(hidden_size).");
}
void bind_cells(nb::module_& n) {
  const LayerWords gated{.without = "nonlinearity"};
  bind_cell<nn::RNNCell>(
      n, "One step of an RNN: input [N, input_size] and hx [N, hidden_size], both also without N -> the next state.");
  bind_cell<nn::GRUCell>(
      n, "One step of a GRU: input [N, input_size] and hx [N, hidden_size], both also without N -> the next state.",
      gated);
  bind_cell<nn::LSTMCell>(
      n,
      "One step of an LSTM: input [N, input_size] and hx, a pair of [N, hidden_size], all also without N -> the next "
      "pair (h, c).",
      gated);
}

}  // namespace

void bind_recurrent_layers(nb::module_& n) {
  bind_sequences(n);
  bind_cells(n);
}

}  // namespace neura::python
