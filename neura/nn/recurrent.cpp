#include "neura/nn/recurrent.h"

#include <cmath>

#include "neura/core/checked_int.h"
#include "neura/nn/init.h"
#include "neura/nn/repr.h"
#include "neura/op/autocast.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/shape/view.h"

namespace neura::nn {

NEURA_LAYER_BODY(RNNBase)
NEURA_LAYER_BODY(LSTM)
NEURA_LAYER_BODY(RNNCell)
NEURA_LAYER_BODY(GRUCell)
NEURA_LAYER_BODY(LSTMCell)

namespace {

std::string number(std::int64_t n) { return std::to_string(n); }
std::int64_t gates_of(const std::string& mode) { return mode == "LSTM" ? 4 : mode == "GRU" ? 3 : 1; }

const std::string& nonlinearity_of(const char* layer, const std::string& name) {
  check<ValueError>(name == "tanh" || name == "relu", [&] {
    return std::string(layer) + ": expected the nonlinearity 'tanh' or 'relu', got '" + name + "'";
  });
  return name;
}
void check_options(const std::string& layer, std::int64_t input_size, std::int64_t hidden_size, const RNNOptions& o) {
  check<ValueError>(input_size >= 0 && hidden_size > 0 && o.num_layers > 0, [&] {
    return layer + ": expected sizes and a number of layers above 0, got input_size " + number(input_size) +
           ", hidden_size " + number(hidden_size) + ", num_layers " + number(o.num_layers);
  });
  check<ValueError>(o.dropout >= 0 && o.dropout <= 1, [&] {
    return layer + ": expected a dropout probability from 0 to 1, got " + python_text(o.dropout);
  });
  check<ValueError>(o.proj_size >= 0 && o.proj_size < hidden_size, [&] {
    return layer + ": expected proj_size from 0 up, below hidden_size, got " + number(o.proj_size) + " and " +
           number(hidden_size);
  });
  check<ValueError>(o.proj_size == 0 || layer == "LSTM",
                    [&] { return layer + ": expected proj_size 0: only an LSTM has projections"; });
}
void reset_uniformly(const std::vector<Tensor>& weights, std::int64_t hidden_size) {
  const double bound = hidden_size > 0 ? 1 / std::sqrt(double(hidden_size)) : 0;
  for (const Tensor& t : weights) init::uniform_(t, -bound, bound);
}

}  // namespace

RNNBase::RNNBase(std::string mode_name, std::int64_t input_size, std::int64_t hidden_size, const RNNOptions& o)
    : mode(std::move(mode_name)),
      input_size(input_size),
      hidden_size(hidden_size),
      num_layers(o.num_layers),
      bias(o.bias),
      batch_first(o.batch_first),
      dropout(o.dropout),
      bidirectional(o.bidirectional),
      proj_size(o.proj_size) {
  check_options(mode.starts_with("RNN") ? "RNN" : mode, input_size, hidden_size, o);
  const TensorOptions place{.dtype = o.dtype, .device = o.device};
  const std::int64_t rows = (CheckedInt(gates_of(mode)) * hidden_size).of(mode.c_str());
  const std::int64_t out = proj_size ? proj_size : hidden_size;
  for (const std::string& name : weight_names()) {
    const bool first_layer = name.find("_l0") != std::string::npos;
    const std::int64_t width = first_layer ? input_size : (CheckedInt(out) * (bidirectional ? 2 : 1)).of(mode.c_str());
    const Shape shape = name.starts_with("bias")        ? Shape{rows}
                        : name.starts_with("weight_hr") ? Shape{proj_size, hidden_size}
                        : name.starts_with("weight_hh") ? Shape{rows, out}
                                                        : Shape{rows, width};
    register_parameter(name, empty(shape, place));
  }
  reset_parameters();
}

std::vector<std::string> RNNBase::weight_names() const {
  std::vector<std::string> names;
  check_room(mode.c_str(), num_layers, 2 * 4 * kTensorBytes);
  for (std::int64_t layer = 0; layer < num_layers; ++layer)
    for (const char* suffix : {"", "_reverse"}) {
      if (*suffix && !bidirectional) continue;
      for (const std::string_view kind : {"weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr"})
        if ((bias || !kind.starts_with("bias")) && (proj_size || kind != "weight_hr"))
          names.push_back(std::string(kind) + "_l" + number(layer) + suffix);
    }
  return names;
}
std::vector<Tensor> RNNBase::flat_weights() const {
  std::vector<Tensor> weights;
  for (const std::string& name : weight_names()) weights.push_back(get_parameter(name));
  return weights;
}
void RNNBase::reset_parameters() { reset_uniformly(flat_weights(), hidden_size); }

std::string RNNBase::extra_repr() const {
  return Repr()
      .add("", input_size)
      .add("", hidden_size)
      .add_if(proj_size != 0, "proj_size", proj_size)
      .add_if(num_layers != 1, "num_layers", num_layers)
      .add_if(!bias, "bias", bias)
      .add_if(batch_first, "batch_first", batch_first)
      .add_if(dropout != 0, "dropout", dropout)
      .add_if(bidirectional, "bidirectional", bidirectional);
}

LstmResult RNNBase::run(const Tensor& given, const Tensor& h, const Tensor& c, const Tensor& sizes) const {
  const bool packed = sizes.defined(), alone = !packed && given.dim() == 2;
  check<ShapeError>(packed || alone || given.dim() == 3, [&] {
    return type_name() + ": expected input of 2 or 3 dimensions, got shape " + given.shape().str();
  });
  const Tensor weight = get_parameter("weight_ih_l0");
  check<ValueError>(given.dtype() == weight.dtype() || amp::is_autocast_enabled(given.device().type), [&] {
    return type_name() + ": expected input of the parameters' dtype " + name(weight.dtype()) + ", got " +
           given.spec().str() + "; convert one with .to()";
  });
  const Tensor input = alone ? given.unsqueeze(batch_first ? 0 : 1) : given;
  check<ShapeError>(input.size(-1) == input_size, [&] {
    return type_name() + ": expected input of width " + number(input_size) + ", got shape " + given.shape().str();
  });
  const std::int64_t states = (CheckedInt(num_layers) * (bidirectional ? 2 : 1)).of(mode.c_str());
  const std::int64_t batch =
      packed ? (sizes.numel() ? sizes.select(0, 0).item<std::int64_t>() : 0) : input.size(batch_first ? 0 : 1);
  const auto state = [&](const Tensor& t, std::int64_t width) {
    if (!t) return zeros({states, batch, width}, {.dtype = input.dtype(), .device = input.device()});
    check<ShapeError>(t.dim() == (alone ? 2 : 3), [&] {
      return type_name() + ": expected states of " + number(alone ? 2 : 3) + " dimensions, got shape " +
             t.shape().str();
    });
    return alone ? t.unsqueeze(1) : t;
  };
  const RecurrentOptions o{bias, num_layers, dropout, training, bidirectional, batch_first, sizes};
  const Tensor first = state(h, proj_size ? proj_size : hidden_size);
  LstmResult r;
  if (mode == "LSTM") {
    r = lstm(input, {first, state(c, hidden_size)}, flat_weights(), o);
  } else {
    const auto function = mode == "GRU" ? gru : mode == "RNN_RELU" ? rnn_relu : rnn_tanh;
    std::tie(r.output, r.h) = function(input, first, flat_weights(), o);
  }
  if (!alone) return r;
  return {r.output.squeeze(batch_first ? 0 : 1), r.h.squeeze(1), r.c ? r.c.squeeze(1) : r.c};
}

namespace {

Tensor in_order(const Tensor& states, const Tensor& order) {
  return states && order ? index_select(states, 1, order) : states;
}
PackedSequence with_data(const PackedSequence& s, const Tensor& data) {
  return {data, s.batch_sizes, s.sorted_indices, s.unsorted_indices};
}

}  // namespace

std::pair<Tensor, Tensor> RNNBase::forward(const Tensor& input, const Tensor& hx) const {
  const LstmResult r = run(input, hx, {});
  return {r.output, r.h};
}
std::pair<PackedSequence, Tensor> RNNBase::forward_packed(const PackedSequence& s, const Tensor& hx) const {
  const LstmResult r = run(s.data, in_order(hx, s.sorted_indices), {}, s.batch_sizes);
  return {with_data(s, r.output), in_order(r.h, s.unsorted_indices)};
}

RNN::RNN(std::int64_t input_size, std::int64_t hidden_size, const RNNOptions& o)
    : RNNBase(nonlinearity_of("RNN", o.nonlinearity) == "tanh" ? "RNN_TANH" : "RNN_RELU", input_size, hidden_size, o) {}

LSTM::LSTM(std::int64_t input_size, std::int64_t hidden_size, const RNNOptions& o)
    : RNNBase("LSTM", input_size, hidden_size, o) {}
std::pair<Tensor, LSTM::States> LSTM::forward(const Tensor& input, const std::optional<States>& hx) const {
  const States given = hx.value_or(States());
  const LstmResult r = run(input, given.first, given.second);
  return {r.output, {r.h, r.c}};
}
std::pair<PackedSequence, LSTM::States> LSTM::forward_packed(const PackedSequence& s,
                                                             const std::optional<States>& hx) const {
  const States given = hx.value_or(States());
  const LstmResult r =
      run(s.data, in_order(given.first, s.sorted_indices), in_order(given.second, s.sorted_indices), s.batch_sizes);
  return {with_data(s, r.output), {in_order(r.h, s.unsorted_indices), in_order(r.c, s.unsorted_indices)}};
}

RNNCellBase::RNNCellBase(std::int64_t gates, std::int64_t input_size, std::int64_t hidden_size, const RNNCellOptions& o)
    : input_size(input_size), hidden_size(hidden_size), bias(o.bias) {
  const TensorOptions place{.dtype = o.dtype, .device = o.device};
  weight_ih = empty({gates * hidden_size, input_size}, place);
  weight_hh = empty({gates * hidden_size, hidden_size}, place);
  if (bias) bias_ih = empty({gates * hidden_size}, place), bias_hh = empty({gates * hidden_size}, place);
  reset_parameters();
}
void RNNCellBase::reset_parameters() {
  std::vector<Tensor> all{weight_ih, weight_hh};
  if (bias) all.push_back(bias_ih), all.push_back(bias_hh);
  reset_uniformly(all, hidden_size);
}
std::string RNNCellBase::extra_repr() const {
  return Repr().add("", input_size).add("", hidden_size).add_if(!bias, "bias", bias);
}
Tensor RNNCellBase::state_for(const Tensor& input, const Tensor& hx) const {
  if (hx) return hx;
  Shape shape = input.shape();
  check<ShapeError>(!shape.empty(),
                    [&] { return type_name() + ": expected input of 1 or 2 dimensions, got a number"; });
  shape[shape.size() - 1] = hidden_size;
  return zeros(shape, {.dtype = input.dtype(), .device = input.device()});
}

RNNCell::RNNCell(std::int64_t input_size, std::int64_t hidden_size, const RNNCellOptions& o)
    : RNNCellBase(1, input_size, hidden_size, o), nonlinearity(nonlinearity_of("RNNCell", o.nonlinearity)) {}
Tensor RNNCell::forward(const Tensor& input, const Tensor& hx) const {
  return (nonlinearity == "tanh" ? rnn_tanh_cell : rnn_relu_cell)(input, state_for(input, hx), weights());
}
std::string RNNCell::extra_repr() const {
  const bool relu = nonlinearity != "tanh";
  return RNNCellBase::extra_repr() + (relu ? ", nonlinearity=" + nonlinearity : std::string());
}

GRUCell::GRUCell(std::int64_t input_size, std::int64_t hidden_size, const RNNCellOptions& o)
    : RNNCellBase(3, input_size, hidden_size, o) {}
Tensor GRUCell::forward(const Tensor& input, const Tensor& hx) const {
  return gru_cell(input, state_for(input, hx), weights());
}

LSTMCell::LSTMCell(std::int64_t input_size, std::int64_t hidden_size, const RNNCellOptions& o)
    : RNNCellBase(4, input_size, hidden_size, o) {}
LSTMCell::States LSTMCell::forward(const Tensor& input, const std::optional<States>& hx) const {
  const States given = hx.value_or(States());
  return lstm_cell(input, {state_for(input, given.first), state_for(input, given.second)}, weights());
}

}  // namespace neura::nn
