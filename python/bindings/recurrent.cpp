// Recurrent functions: neura.lstm and its kin, and single steps.
#include "neura/ops/recurrent.h"

#include <nanobind/stl/pair.h>

#include "common.h"

namespace neura::python {
namespace {

using Tensors = std::vector<Tensor>;
using Maybe = std::optional<Tensor>;
using States = std::pair<Tensor, Tensor>;

CellWeights weights(const Tensor& w_ih, const Tensor& w_hh, const Maybe& b_ih, const Maybe& b_hh) {
  return {w_ih, w_hh, b_ih.value_or(Tensor()), b_hh.value_or(Tensor())};
}
nb::tuple results(const RecurrentResult& r) { return nb::make_tuple(r.first, r.second); }
nb::tuple results(const LstmResult& r) { return nb::make_tuple(r.output, r.h, r.c); }

#define WEIGHTS "w_ih"_a, "w_hh"_a, "b_ih"_a = nb::none(), "b_hh"_a = nb::none()
template <Tensor (*f)(const Tensor&, const Tensor&, const CellWeights&)>
void bind_cell(const Names& n, const char* name, const char* doc) {
  n.function(
      name,
      [](const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Maybe& b_ih,
         const Maybe& b_hh) { return f(input, hx, weights(w_ih, w_hh, b_ih, b_hh)); },
      "input"_a, "hx"_a, WEIGHTS, doc);
}

// As in torch: a padded input, or the rows and batch_sizes of a packed one.
template <class State, class F> void bind_sequence(const Names& n, const char* name, F f, const char* doc) {
  n.function(
      name,
      [f](const Tensor& input, const State& hx, const Tensors& params, bool has_biases, std::int64_t num_layers,
          double dropout, bool train, bool bidirectional, bool batch_first) {
        return results(f(input, hx, params, {has_biases, num_layers, dropout, train, bidirectional, batch_first, {}}));
      },
      "input"_a, "hx"_a, "params"_a, "has_biases"_a, "num_layers"_a, "dropout"_a, "train"_a, "bidirectional"_a,
      "batch_first"_a, doc);
  n.function(
      name,
      [f](const Tensor& data, const Tensor& batch_sizes, const State& hx, const Tensors& params, bool has_biases,
          std::int64_t num_layers, double dropout, bool train, bool bidirectional) {
        return results(
            f(data, hx, params, {has_biases, num_layers, dropout, train, bidirectional, false, batch_sizes}));
      },
      "data"_a, "batch_sizes"_a, "hx"_a, "params"_a, "has_biases"_a, "num_layers"_a, "dropout"_a, "train"_a,
      "bidirectional"_a);
}

constexpr const char* kOneStep =
    "One step: input [N, width] or [width], hx [N, hidden] or [hidden] -> the next state. w_ih [gates * hidden, "
    "width], "
    "w_hh [gates * hidden, hidden], biases [gates * hidden].";
constexpr const char* kSequence =
    "Sequences [T, N, width] through num_layers layers: the outputs at every time and the states at the end. params: "
    "for each layer and direction w_ih, w_hh, with has_biases also b_ih, b_hh. nn.RNN, nn.GRU and nn.LSTM call it.";

}  // namespace

void bind_recurrent(const Names& n) {
  bind_cell<rnn_tanh_cell>(n, "rnn_tanh_cell", kOneStep);
  bind_cell<rnn_relu_cell>(n, "rnn_relu_cell", kOneStep);
  bind_cell<gru_cell>(n, "gru_cell", kOneStep);
  n.function(
      "lstm_cell",
      [](const Tensor& input, const States& hx, const Tensor& w_ih, const Tensor& w_hh, const Maybe& b_ih,
         const Maybe& b_hh) {
        const auto [h, c] = lstm_cell(input, hx, weights(w_ih, w_hh, b_ih, b_hh));
        return nb::make_tuple(h, c);
      },
      "input"_a, "hx"_a, WEIGHTS, "One step: input and hx, a pair (h, c) -> the next pair. Weights as for gru_cell.");
  bind_sequence<Tensor>(n, "rnn_tanh", &rnn_tanh, kSequence);
  bind_sequence<Tensor>(n, "rnn_relu", &rnn_relu, kSequence);
  bind_sequence<Tensor>(n, "gru", &gru, kSequence);
  bind_sequence<States>(n, "lstm", &lstm, kSequence);
}

}  // namespace neura::python
