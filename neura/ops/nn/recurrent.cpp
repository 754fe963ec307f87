#include "neura/ops/nn/recurrent.h"

#include <algorithm>

#include "neura/core/checked_int.h"
#include "neura/op/cast_scope.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/nn/recurrent_layer.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/random/dropout.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

struct State {
  Tensor h, c = {};  // c of an LSTM only
};
// `x` is the input's contribution to the gates, with biases; GRU's b_hh is separate, since it is inside a product.
struct Weights {
  Tensor w_hh, b_hh = {}, w_hr = {};
};
struct Cell {
  const char* op;
  RecurrentCell kind;
  std::int64_t gates;
  State (*step)(const Tensor& x, const State&, const Weights&);
};

Tensor part(const Tensor& gates, std::int64_t first, std::int64_t count, std::int64_t hidden) {
  return gates.narrow(-1, first * hidden, count * hidden);
}
template <Tensor (*act)(const Tensor&)> State rnn_step(const Tensor& x, const State& s, const Weights& w) {
  return {act(addmm(x, s.h, w.w_hh.t()))};
}
State lstm_step(const Tensor& x, const State& s, const Weights& w) {
  const Tensor gates = addmm(x, s.h, w.w_hh.t());
  const std::int64_t hidden = s.c.size(-1);
  const Tensor in_forget = sigmoid(part(gates, 0, 2, hidden)), g = tanh(part(gates, 2, 1, hidden));
  const Tensor c = addcmul(part(in_forget, 1, 1, hidden) * s.c, part(in_forget, 0, 1, hidden), g);
  const Tensor h = sigmoid(part(gates, 3, 1, hidden)) * tanh(c);
  return {w.w_hr ? matmul(h, w.w_hr.t()) : h, c};
}
State gru_step(const Tensor& x, const State& s, const Weights& w) {
  const std::int64_t hidden = s.h.size(-1);
  const Tensor from_h = linear(s.h, w.w_hh, w.b_hh);
  const Tensor rz = sigmoid(part(x, 0, 2, hidden) + part(from_h, 0, 2, hidden));
  const Tensor n = tanh(addcmul(part(x, 2, 1, hidden), part(rz, 0, 1, hidden), part(from_h, 2, 1, hidden)));
  return {lerp(n, s.h, part(rz, 1, 1, hidden))};
}
Tensor plain_tanh(const Tensor& x) { return tanh(x); }
Tensor plain_relu(const Tensor& x) { return relu(x); }
constexpr Cell cell_of(const char* op, RecurrentCell kind, State (*step)(const Tensor&, const State&, const Weights&)) {
  return {op, kind, gates_of(kind), step};
}
constexpr Cell kTanh = cell_of("rnn_tanh", RecurrentCell::tanh, rnn_step<plain_tanh>),
               kRelu = cell_of("rnn_relu", RecurrentCell::relu, rnn_step<plain_relu>),
               kGru = cell_of("gru", RecurrentCell::gru, gru_step),
               kLstm = cell_of("lstm", RecurrentCell::lstm, lstm_step);

void expect_shape(const Cell& cell, const char* what, const Shape& expected, const Tensor& got) {
  check<ShapeError>(got && got.shape() == expected, [&] {
    return std::string(cell.op) + ": expected " + what + " of shape " + expected.str() + ", got " +
           (got ? got.shape().str() : std::string("none"));
  });
}

// What the inputs of all times contribute to the gates, in one product.
Tensor projected(const Cell& cell, const Tensor& input, const CellWeights& w) {
  const bool apart = cell.kind == RecurrentCell::gru;  // its b_hh is inside a product
  return linear(input, w.w_ih, w.b_ih && w.b_hh && !apart ? w.b_ih + w.b_hh : w.b_ih);
}

void check_weights(const Cell& cell, std::int64_t width, std::int64_t hidden, std::int64_t out, const CellWeights& w) {
  expect_shape(cell, "weight_ih", {cell.gates * hidden, width}, w.w_ih);
  expect_shape(cell, "weight_hh", {cell.gates * hidden, out}, w.w_hh);
  if (w.b_ih) expect_shape(cell, "bias_ih", {cell.gates * hidden}, w.b_ih);
  if (w.b_hh) expect_shape(cell, "bias_hh", {cell.gates * hidden}, w.b_hh);
}

State one_step(const Cell& cell, const Tensor& input, const State& hx, const CellWeights& w) {
  check<ShapeError>(input.dim() == 1 || input.dim() == 2, [&] {
    return std::string(cell.op) + "_cell: expected input of 1 or 2 dimensions, got shape " + input.shape().str();
  });
  check<ShapeError>(w.w_hh && w.w_hh.dim() == 2,
                    [&] { return std::string(cell.op) + "_cell: expected weight_hh of 2 dimensions"; });
  const std::int64_t hidden = w.w_hh.size(1);
  check_weights(cell, input.size(-1), hidden, hidden, w);
  Shape state = input.shape();
  state[state.size() - 1] = hidden;
  expect_shape(cell, "the state", state, hx.h);
  if (hx.c) expect_shape(cell, "the cell state", state, hx.c);
  const bool alone = input.dim() == 1;
  const auto row = [&](const Tensor& t) { return t && alone ? t.unsqueeze(0) : t; };
  State s = cell.step(projected(cell, row(input), w), {row(hx.h), row(hx.c)}, {w.w_hh, w.b_hh});
  if (alone) s = {s.h.squeeze(0), s.c ? s.c.squeeze(0) : s.c};
  return s;
}

// ---- Sequences

struct Times {  // rows of one time after the other; shorter sequences end first
  std::vector<std::int64_t> sizes;
  std::int64_t rows = 0;
  bool packed = false;  // `sizes` are those of a packed sequence
};
Times times_of(const Cell& cell, const Tensor& input, const Tensor& batch_sizes) {
  Times t;
  if (!batch_sizes) {
    t.sizes.assign(std::size_t(input.size(0)), input.size(1));
  } else {
    check<ShapeError>(batch_sizes.dim() == 1 && batch_sizes.dtype() == DType::int64, [&] {
      return std::string(cell.op) + ": expected batch_sizes to be a vector of int64, got " + batch_sizes.spec().str();
    });
    t.packed = true, t.sizes = batch_sizes.to(Device()).contiguous().to_vector<std::int64_t>();
  }
  for (std::size_t i = 0; i < t.sizes.size(); ++i) {
    check<ValueError>(t.sizes[i] >= (batch_sizes ? 1 : 0) && (i == 0 || t.sizes[i] <= t.sizes[i - 1]), [&] {
      return std::string(cell.op) + ": expected batch_sizes from 1 up, in descending order, got " +
             std::to_string(t.sizes[i]) + " at time " + std::to_string(i);
    });
    t.rows += t.sizes[i];
  }
  check<ShapeError>(!t.sizes.empty(), [&] { return std::string(cell.op) + ": expected at least one time, got none"; });
  return t;
}

State rows_of(const State& s, std::int64_t begin, std::int64_t end) {
  return {s.h.narrow(0, begin, end - begin), s.c ? s.c.narrow(0, begin, end - begin) : Tensor()};
}
State joined(const std::vector<State>& parts) {
  if (parts.size() == 1) return parts[0];
  TensorList h, c;
  for (const State& s : parts) {
    h.push_back(s.h);
    if (s.c) c.push_back(s.c);
  }
  return {cat(h), c.empty() ? Tensor() : cat(c)};
}

// One layer in one direction: the outputs, rows by time, and the states when each sequence ended.
std::pair<Tensor, State> run(const Cell& cell, const Tensor& x, const Times& times, const State& first,
                             const Weights& w, bool reverse) {
  const auto n = std::int64_t(times.sizes.size());
  std::vector<Tensor> outputs(times.sizes.size());
  std::vector<State> ended;
  State s = reverse ? rows_of(first, 0, times.sizes.back()) : first;
  std::int64_t active = s.h.size(0), row = reverse ? times.rows : 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::size_t t = std::size_t(reverse ? n - 1 - i : i);
    const std::int64_t size = times.sizes[t];
    if (size < active) {  // some ended with the time before
      ended.push_back(rows_of(s, size, active));
      s = rows_of(s, 0, size);
    } else if (size > active) {  // from the end: longer ones join in
      s = joined({s, rows_of(first, active, size)});
    }
    active = size;
    if (reverse) row -= size;
    s = cell.step(x.narrow(0, row, size), s, w);
    if (!reverse) row += size;
    outputs[t] = s.h;
  }
  ended.push_back(s);
  std::reverse(ended.begin(), ended.end());
  return {outputs.size() == 1 ? outputs[0] : cat(TensorList(outputs)), joined(ended)};
}

// As one operation; an lstm with projections has none.
std::pair<Tensor, State> run_layer(const Cell& cell, const Tensor& x, const Times& times, const State& first,
                                   const Weights& w, bool reverse) {
  if (w.w_hr) return run(cell, x, times, first, w, reverse);
  const Direction way{cell.kind, reverse, std::int64_t(times.sizes.size()),
                      times.packed ? times.sizes : std::vector<std::int64_t>()};
  const StepResults r =
      recurrence(way, x, first.h, first.c, w.w_hh, cell.kind == RecurrentCell::gru ? w.b_hh : Tensor());
  return {r.y, {r.h, r.c}};
}

struct Sizes {
  std::int64_t width, hidden, out, directions, batch;
};
State state_of(const Cell& cell, const State& hx, const RecurrentOptions& o, const Sizes& n) {
  const std::int64_t layers = o.num_layers * n.directions;
  expect_shape(cell, "the hidden state", {layers, n.batch, n.out}, hx.h);
  if (cell.kind == RecurrentCell::lstm) expect_shape(cell, "the cell state", {layers, n.batch, n.hidden}, hx.c);
  return hx;
}
struct Layer {
  CellWeights cell;
  Tensor w_hr;
};
std::vector<Layer> layers_of(const Cell& cell, const std::vector<Tensor>& params, const RecurrentOptions& o) {
  const CheckedInt layers = CheckedInt(std::max<std::int64_t>(o.num_layers, 0)) * (o.bidirectional ? 2 : 1);
  const std::size_t count = std::size_t(layers.of(cell.op));
  const std::size_t plain = o.has_biases ? 4 : 2, each = count ? params.size() / count : 0;
  const bool projects = cell.kind == RecurrentCell::lstm && each == plain + 1;
  // Cannot overflow: `each` parameters of every layer exist.
  check<ValueError>(count && each == plain + projects && params.size() == count * each, [&] {
    return std::string(cell.op) + ": expected " + std::to_string(plain) + " parameters for each of " +
           std::to_string(count) + " layers and directions, got " + std::to_string(params.size());
  });
  std::vector<Layer> out;
  for (std::size_t i = 0; i < params.size(); i += each) {
    Layer l{{params[i], params[i + 1]}, projects ? params[i + each - 1] : Tensor()};
    if (o.has_biases) l.cell.b_ih = params[i + 2], l.cell.b_hh = params[i + 3];
    for (const Tensor* t : {&l.cell.w_ih, &l.cell.w_hh})
      check<ShapeError>(*t && t->dim() == 2,
                        [&] { return std::string(cell.op) + ": expected weights of 2 dimensions"; });
    out.push_back(l);
  }
  return out;
}
State at(const State& s, std::int64_t i) { return {s.h.select(0, i), s.c ? s.c.select(0, i) : Tensor()}; }

LstmResult recurrent(const Cell& cell, const Tensor& given, const State& hx, const std::vector<Tensor>& params,
                     const RecurrentOptions& o) {
  const int dims = o.batch_sizes ? 2 : 3;
  check<ShapeError>(given.dim() == dims, [&] {
    return std::string(cell.op) + ": expected input of " + std::to_string(dims) + " dimensions, got shape " +
           given.shape().str();
  });
  const std::vector<Layer> layers = layers_of(cell, params, o);
  const Tensor input = o.batch_first && !o.batch_sizes ? given.transpose(0, 1) : given;
  const Times times = times_of(cell, input, o.batch_sizes);
  const std::int64_t gate_rows = layers[0].cell.w_ih.size(0);
  const Sizes n{input.size(-1), gate_rows / cell.gates, layers[0].cell.w_hh.size(1), o.bidirectional ? 2 : 1,
                times.sizes[0]};
  if (o.batch_sizes) expect_shape(cell, "the packed input", {times.rows, n.width}, input);
  const State first = state_of(cell, hx, o, n);
  Tensor x = o.batch_sizes ? input : input.reshape({times.rows, n.width});
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::int64_t width = i < std::size_t(n.directions) ? n.width : n.directions * n.out;
    check_weights(cell, width, n.hidden, n.out, layers[i].cell);
    if (layers[i].w_hr) expect_shape(cell, "weight_hr", {n.out, n.hidden}, layers[i].w_hr);
  }
  TensorList h, c;
  for (std::int64_t layer = 0; layer < o.num_layers; ++layer) {
    TensorList outputs;
    for (std::int64_t d = 0; d < n.directions; ++d) {
      const std::int64_t i = layer * n.directions + d;
      const Layer& l = layers[std::size_t(i)];
      auto [out, last] =
          run_layer(cell, projected(cell, x, l.cell), times, at(first, i), {l.cell.w_hh, l.cell.b_hh, l.w_hr}, d == 1);
      outputs.push_back(out);
      h.push_back(last.h);
      if (last.c) c.push_back(last.c);
    }
    x = n.directions == 1 ? outputs[0] : cat(outputs, 1);
    if (o.dropout > 0 && o.train && layer + 1 < o.num_layers) x = dropout(x, o.dropout);
  }
  if (!o.batch_sizes) x = x.view({input.size(0), n.batch, x.size(1)});
  if (!o.batch_sizes && o.batch_first) x = x.transpose(0, 1);
  return {x, stack(h), c.empty() ? Tensor() : stack(c)};
}
RecurrentResult without_cell(const LstmResult& r) { return {r.output, r.h}; }

}  // namespace

StepResults compose_steps(const Direction& way, const Tensor& x, const Tensor& h, const Tensor& c, const Tensor& w,
                          const Tensor& b) {
  Times times;
  for (std::int64_t t = 0; t < way.times; ++t) {
    times.sizes.push_back(way.size(t, h.size(0)));
    times.rows += times.sizes.back();
  }
  const Cell& cell = way.cell == RecurrentCell::lstm   ? kLstm
                     : way.cell == RecurrentCell::gru  ? kGru
                     : way.cell == RecurrentCell::relu ? kRelu
                                                       : kTanh;
  const auto [y, last] = run(cell, x, times, {h, c}, {w, b}, way.reverse);
  return {y, last.h, last.c};
}

Tensor rnn_tanh_cell(const Tensor& input, const Tensor& hx, const CellWeights& w) {
  if (const amp::CastScope cast{amp::Name::rnn_cell, input, hx, w.w_ih})
    return rnn_tanh_cell(cast(input), cast(hx), cast.weights(w));
  return one_step(kTanh, input, {hx}, w).h;
}
Tensor rnn_relu_cell(const Tensor& input, const Tensor& hx, const CellWeights& w) {
  if (const amp::CastScope cast{amp::Name::rnn_cell, input, hx, w.w_ih})
    return rnn_relu_cell(cast(input), cast(hx), cast.weights(w));
  return one_step(kRelu, input, {hx}, w).h;
}
Tensor gru_cell(const Tensor& input, const Tensor& hx, const CellWeights& w) {
  if (const amp::CastScope cast{amp::Name::gru_cell, input, hx, w.w_ih})
    return gru_cell(cast(input), cast(hx), cast.weights(w));
  return one_step(kGru, input, {hx}, w).h;
}
std::pair<Tensor, Tensor> lstm_cell(const Tensor& input, const std::pair<Tensor, Tensor>& hx, const CellWeights& w) {
  check<ValueError>(hx.second.defined(), [] { return std::string("lstm_cell: expected two states, got one"); });
  if (const amp::CastScope cast{amp::Name::lstm_cell, input, hx.first, w.w_ih})
    return lstm_cell(cast(input), {cast(hx.first), cast(hx.second)}, cast.weights(w));
  const auto s = one_step(kLstm, input, {hx.first, hx.second}, w);
  return {s.h, s.c};
}

RecurrentResult rnn_tanh(const Tensor& input, const Tensor& hx, const std::vector<Tensor>& params,
                         const RecurrentOptions& o) {
  return without_cell(recurrent(kTanh, input, {hx}, params, o));
}
RecurrentResult rnn_relu(const Tensor& input, const Tensor& hx, const std::vector<Tensor>& params,
                         const RecurrentOptions& o) {
  return without_cell(recurrent(kRelu, input, {hx}, params, o));
}
RecurrentResult gru(const Tensor& input, const Tensor& hx, const std::vector<Tensor>& params,
                    const RecurrentOptions& o) {
  const RecurrentResult r = without_cell(recurrent(kGru, input, {hx}, params, o));
  if (!(state.active & kAutocast) || !input.device().is_cpu()) return r;
  return {r.first.to(hx.dtype()), r.second.to(hx.dtype())};  // (torch, cpu) only products are in halves
}
LstmResult lstm(const Tensor& input, const std::pair<Tensor, Tensor>& hx, const std::vector<Tensor>& params,
                const RecurrentOptions& o) {
  return recurrent(kLstm, input, {hx.first, hx.second}, params, o);
}

}  // namespace neura
