// Recurrent functions: lstm and similar ones, and single steps.
#include "neura/ops/nn/recurrent.h"

#include "neura/surface/list.h"

namespace neura::surface {
namespace {

using T = const Tensor&;
using P = const Tensors&;
using N = std::int64_t;

constexpr const char* kStep =
    "One step: input [N, width] or [width], hx [N, hidden] or [hidden] -> the next state. w_ih [gates * hidden, "
    "width], w_hh [gates * hidden, hidden], biases [gates * hidden].";
constexpr const char* kSequence =
    "Sequences [T, N, width] through num_layers layers: the outputs at every time and the states at the end. params: "
    "for each layer and direction w_ih, w_hh, with has_biases also b_ih, b_hh. nn.RNN, nn.GRU and nn.LSTM call it.";
const std::string kOfStep = "(input, hx, w_ih, w_hh, b_ih=None, b_hh=None)";
// A padded input, or the rows and batch_sizes of a packed one.
const std::string kPadded = "(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)";
const std::string kPacked = "(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)";

std::pair<Tensor, Tensor> states(const char* op, P hx) {
  check<ShapeError>(hx.size() == 2, [&] {
    return std::string(op) + ": expected hx to be the two states h and c, got " + std::to_string(hx.size());
  });
  return {hx[0], hx[1]};
}
Tensors all_of(const RecurrentResult& r) { return {r.first, r.second}; }

template <Tensor (*f)(T, T, const CellWeights&)> void add_cell(const List& s, const char* name) {
  s.add((name + kOfStep).c_str(), [](T x, T h, T a, T b, T c, T d) { return f(x, h, {a, b, c, d}); }, function, kStep);
}
template <RecurrentResult (*f)(T, T, P, const RecurrentOptions&)> void add_layers(const List& s, const char* name) {
  s.add((name + kPadded).c_str(),
        [](T x, T h, P params, bool biases, N layers, double dropout, bool train, bool both_ways, bool batch_first) {
          return all_of(f(x, h, params, {biases, layers, dropout, train, both_ways, batch_first, {}}));
        },
        function, kSequence);
  s.add((name + kPacked).c_str(),
        [](T x, T sizes, T h, P params, bool biases, N layers, double dropout, bool train, bool both_ways) {
          return all_of(f(x, h, params, {biases, layers, dropout, train, both_ways, false, sizes}));
        },
        function);
}
void add_lstm(const List& s) {
  s.add(("lstm_cell" + kOfStep).c_str(),
        [](T x, P hx, T a, T b, T c, T d) {
          return all_of(lstm_cell(x, states("lstm_cell", hx), {a, b, c, d}));
        },
        function, "One step: input and hx, a pair (h, c) -> the next pair. Weights as for gru_cell.");
  s.add(("lstm" + kPadded).c_str(),
        [](T x, P hx, P params, bool biases, N layers, double dropout, bool train, bool both_ways, bool batch_first) {
          const LstmResult r =
              lstm(x, states("lstm", hx), params, {biases, layers, dropout, train, both_ways, batch_first, {}});
          return Tensors{r.output, r.h, r.c};
        },
        function, kSequence);
  s.add(("lstm" + kPacked).c_str(),
        [](T x, T sizes, P hx, P params, bool biases, N layers, double dropout, bool train, bool both_ways) {
          const LstmResult r =
              lstm(x, states("lstm", hx), params, {biases, layers, dropout, train, both_ways, false, sizes});
          return Tensors{r.output, r.h, r.c};
        },
        function);
}

}  // namespace

void add_recurrent(std::deque<Function>& all) {
  const List s(all, "");
  add_cell<rnn_tanh_cell>(s, "rnn_tanh_cell");
  add_cell<rnn_relu_cell>(s, "rnn_relu_cell");
  add_cell<gru_cell>(s, "gru_cell");
  add_layers<rnn_tanh>(s, "rnn_tanh");
  add_layers<rnn_relu>(s, "rnn_relu");
  add_layers<gru>(s, "gru");
  add_lstm(s);
}

}  // namespace neura::surface
