// Recurrent networks: single steps, and whole sequences through layers of them.
#pragma once
#include <utility>
#include <vector>

#include "neura/core/tensor.h"

namespace neura {

// One step. input [N, width] or [width], hx [N, hidden] or [hidden]; w_ih [gates * hidden, width], w_hh
// [gates * hidden, hidden], b_ih and b_hh [gates * hidden] or undefined. ShapeError where they do not fit.
struct CellWeights {
  Tensor w_ih, w_hh, b_ih = {}, b_hh = {};
};
Tensor rnn_tanh_cell(const Tensor& input, const Tensor& hx, const CellWeights&);  // tanh(w_ih x + b_ih + w_hh h + b_hh)
Tensor rnn_relu_cell(const Tensor& input, const Tensor& hx, const CellWeights&);
Tensor gru_cell(const Tensor& input, const Tensor& hx, const CellWeights&);  // gates r, z, n (Cho et al., 2014)
// Gates i, f, g, o (Hochreiter and Schmidhuber, 1997; Gers et al., 2000): h' = o tanh(c'), c' = f c + i g.
std::pair<Tensor, Tensor> lstm_cell(const Tensor& input, const std::pair<Tensor, Tensor>& hx, const CellWeights&);

struct RecurrentOptions {
  bool has_biases = true;
  std::int64_t num_layers = 1;
  double dropout = 0;  // between layers, while training
  bool train = false;
  bool bidirectional = false;  // a second set of weights runs from the end; both outputs side by side
  bool batch_first = false;    // [N, T, width] instead of [T, N, width]
  Tensor batch_sizes = {};     // of a packed sequence: int64 [T] on the cpu, descending; input is then [rows, width]
};
// input [T, N, width]; hx [layers * directions, N, hidden]; params: for each layer and direction w_ih, w_hh, with
// biases also b_ih and b_hh, and for a projected LSTM w_hr [projection, hidden] (Sak et al., 2014). Gives the outputs
// of the last layer at every time, [T, N, directions * hidden], and the states after the last one, like hx.
using RecurrentResult = std::pair<Tensor, Tensor>;
RecurrentResult rnn_tanh(const Tensor& input, const Tensor& hx, const std::vector<Tensor>& params,
                         const RecurrentOptions& = {});
RecurrentResult rnn_relu(const Tensor& input, const Tensor& hx, const std::vector<Tensor>& params,
                         const RecurrentOptions& = {});
RecurrentResult gru(const Tensor& input, const Tensor& hx, const std::vector<Tensor>& params,
                    const RecurrentOptions& = {});
struct LstmResult {
  Tensor output, h, c;
};
LstmResult lstm(const Tensor& input, const std::pair<Tensor, Tensor>& hx, const std::vector<Tensor>& params,
                const RecurrentOptions& = {});

}  // namespace neura
