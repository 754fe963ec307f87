// Recurrent layers and their cells. Parameters carry PyTorch's names: weight_ih_l0, weight_hh_l0, bias_ih_l0,
// bias_hh_l0, then those with _reverse of the second direction, then layer 1.
#pragma once
#include "neura/core/device_scope.h"
#include "neura/nn/module.h"
#include "neura/nn/packed_sequence.h"
#include "neura/ops/nn/recurrent.h"

namespace neura::nn {

struct RNNOptions {
  std::int64_t num_layers = 1;
  std::string nonlinearity = "tanh";  // of an RNN: or "relu"
  bool bias = true;
  bool batch_first = false;  // input and output are [N, T, width]; states stay [layers * directions, N, hidden]
  double dropout = 0;        // of what goes from one layer to the next, while training
  bool bidirectional = false;
  std::int64_t proj_size = 0;  // of an LSTM: h is projected to this width
  Device device = default_device();
  std::optional<DType> dtype = {};
  NEURA_ARGUMENTS(num_layers, nonlinearity, bias, batch_first, dropout, bidirectional, proj_size, device, dtype)
};

using PackedSequence = utils::rnn::PackedSequence;
#define NEURA_RECURRENT_MEMBERS \
  mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size

// input [T, N, width], or [T, width] for one sequence; hx [layers * directions, N, hidden] -> the outputs of the last
// layer, [T, N, directions * hidden], and the states at the end, like hx. States of a packed sequence are in the
// order from before it was packed.
struct RNNBase : Module {
  explicit RNNBase(Blank) {}
  std::pair<Tensor, Tensor> forward(const Tensor& input, const Tensor& hx = {}) const;
  std::pair<PackedSequence, Tensor> forward_packed(const PackedSequence&, const Tensor& hx = {}) const;
  void reset_parameters();                        // uniform within 1 / sqrt(hidden_size)
  void flatten_parameters() {}                    // no-op: weights need not share one block of memory
  std::vector<std::string> weight_names() const;  // in the order that rnn_tanh and similar ones take them
  std::vector<Tensor> flat_weights() const;
  std::string extra_repr() const override;

  std::string mode;  // "RNN_TANH", "RNN_RELU", "LSTM" or "GRU"
  std::int64_t input_size = 0, hidden_size = 0, num_layers = 0;
  bool bias = true, batch_first = false;
  double dropout = 0;
  bool bidirectional = false;
  std::int64_t proj_size = 0;
  NEURA_LAYER(RNNBase, NEURA_RECURRENT_MEMBERS)
  NEURA_FORWARD("input", arg{"hx"} = none)

 protected:
  RNNBase(std::string mode, std::int64_t input_size, std::int64_t hidden_size, const RNNOptions&);
  // A sequence alone, [T, width], is a batch of one; states that are not given are zeros. Rows, if `sizes` are a packed
  // sequence's.
  LstmResult run(const Tensor& input, const Tensor& h, const Tensor& c, const Tensor& sizes = {}) const;
};
struct RNN final : RNNBase {  // Elman, 1990
  NEURA_INIT(RNN, std::int64_t input_size, std::int64_t hidden_size, const RNNOptions& = {});
  explicit RNN(Blank b) : RNNBase(b) {}
  NEURA_VARIANT(RNN)
};
struct GRU final : RNNBase {  // Cho et al., 2014
  NEURA_INIT(GRU, std::int64_t input_size, std::int64_t hidden_size, const RNNOptions& o = {})
      : RNNBase("GRU", input_size, hidden_size, o) {}
  explicit GRU(Blank b) : RNNBase(b) {}
  NEURA_VARIANT(GRU)
};
// With gates and a cell (Hochreiter and Schmidhuber, 1997). hx: hidden [layers * directions, N, proj_size or
// hidden] and cell state [layers * directions, N, hidden].
struct LSTM final : RNNBase {
  using States = std::pair<Tensor, Tensor>;
  NEURA_INIT(LSTM, std::int64_t input_size, std::int64_t hidden_size, const RNNOptions& = {});
  explicit LSTM(Blank b) : RNNBase(b) {}
  std::pair<Tensor, States> forward(const Tensor& input, const std::optional<States>& hx = {}) const;
  std::pair<PackedSequence, States> forward_packed(const PackedSequence&, const std::optional<States>& hx = {}) const;
  NEURA_LAYER(LSTM, NEURA_RECURRENT_MEMBERS)
  NEURA_FORWARD("input", arg{"hx"} = none)
};

struct RNNCellOptions {
  bool bias = true;
  std::string nonlinearity = "tanh";  // of an RNNCell: or "relu"
  Device device = default_device();
  std::optional<DType> dtype = {};
  NEURA_ARGUMENTS(bias, nonlinearity, device, dtype)
};
struct RNNCellBase : Module {
  void reset_parameters();  // uniform within 1 / sqrt(hidden_size)
  std::string extra_repr() const override;

  std::int64_t input_size = 0, hidden_size = 0;
  bool bias = true;
  Parameter weight_ih, weight_hh, bias_ih, bias_hh;

 protected:
  RNNCellBase() = default;
  RNNCellBase(std::int64_t gates, std::int64_t input_size, std::int64_t hidden_size, const RNNCellOptions&);
  CellWeights weights() const { return {weight_ih, weight_hh, bias_ih, bias_hh}; }
  Tensor state_for(const Tensor& input, const Tensor& hx) const;  // zeros where there is none
};
#define NEURA_CELL_MEMBERS input_size, hidden_size, bias, weight_ih, weight_hh, bias_ih, bias_hh

// One step: input [N, width] or [width], hx [N, hidden] or [hidden] -> the next state.
struct RNNCell final : RNNCellBase {
  NEURA_INIT(RNNCell, std::int64_t input_size, std::int64_t hidden_size, const RNNCellOptions& = {});
  explicit RNNCell(Blank) {}
  Tensor forward(const Tensor& input, const Tensor& hx = {}) const;
  std::string extra_repr() const override;

  std::string nonlinearity = "tanh";
  NEURA_LAYER(RNNCell, NEURA_CELL_MEMBERS, nonlinearity)
  NEURA_FORWARD("input", arg{"hx"} = none)
};
struct GRUCell final : RNNCellBase {
  NEURA_INIT(GRUCell, std::int64_t input_size, std::int64_t hidden_size, const RNNCellOptions& = {});
  explicit GRUCell(Blank) {}
  Tensor forward(const Tensor& input, const Tensor& hx = {}) const;
  NEURA_LAYER(GRUCell, NEURA_CELL_MEMBERS)
  NEURA_FORWARD("input", arg{"hx"} = none)
};
struct LSTMCell final : RNNCellBase {
  using States = std::pair<Tensor, Tensor>;
  NEURA_INIT(LSTMCell, std::int64_t input_size, std::int64_t hidden_size, const RNNCellOptions& = {});
  explicit LSTMCell(Blank) {}
  States forward(const Tensor& input, const std::optional<States>& hx = {}) const;
  NEURA_LAYER(LSTMCell, NEURA_CELL_MEMBERS)
  NEURA_FORWARD("input", arg{"hx"} = none)
};

}  // namespace neura::nn
