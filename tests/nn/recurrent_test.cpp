// Recurrent layers against their cells, against single runs, and against their own definitions.
#include "neura/nn/recurrent.h"

#include <gtest/gtest.h>

#include "neura/autograd/autograd.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"
#include "tests/support/close.h"
#include "tests/support/gradients.h"
#include "tests/support/sample.h"

namespace neura::nn {
namespace {

using test::error_of;
using test::expect_close;
using test::sample;
constexpr DType f64 = DType::float64;
Tensor any(const Shape& s, std::uint64_t seed = 1) { return sample(s, f64, {.seed = seed}); }

TEST(Recurrent, TheFirstStepOfALayerIsItsCell) {
  const Tensor x = any({3, 4}), h = any({3, 5}, 2), c = any({3, 5}, 3);
  const auto share = [](const Module& layer, Module& cell) {
    for (const char* name : {"weight_ih", "weight_hh", "bias_ih", "bias_hh"})
      cell.get_parameter(name).detach().copy_(layer.get_parameter(std::string(name) + "_l0").detach());
  };
  for (const char* nonlinearity : {"tanh", "relu"}) {
    const RNN layer(4, 5, {.nonlinearity = nonlinearity, .dtype = f64});
    RNNCell cell(4, 5, {.nonlinearity = nonlinearity, .dtype = f64});
    share(layer, cell);
    expect_close(layer(x.unsqueeze(0), h.unsqueeze(0)).first.select(0, 0), cell(x, h));
  }
  const GRU gru(4, 5, {.dtype = f64});
  GRUCell gru_cell(4, 5, {.dtype = f64});
  share(gru, gru_cell);
  expect_close(gru(x.unsqueeze(0), h.unsqueeze(0)).first.select(0, 0), gru_cell(x, h));
  const LSTM lstm(4, 5, {.dtype = f64});
  LSTMCell lstm_cell(4, 5, {.dtype = f64});
  share(lstm, lstm_cell);
  const auto [out, states] = lstm.forward(x.unsqueeze(0), LSTM::States{h.unsqueeze(0), c.unsqueeze(0)});
  const auto [h1, c1] = lstm_cell.forward(x, LSTM::States{h, c});
  expect_close(out.select(0, 0), h1);
  expect_close(states.first.select(0, 0), h1);
  expect_close(states.second.select(0, 0), c1);
  expect_close(lstm_cell.forward(x.select(0, 1), LSTM::States{h.select(0, 1), c.select(0, 1)}).first, h1.select(0, 1));
}

TEST(Recurrent, BothDirectionsAreTwoRuns) {
  const GRU both(3, 2, {.bidirectional = true, .dtype = f64});
  GRU there(3, 2, {.dtype = f64}), back(3, 2, {.dtype = f64});
  for (const char* name : {"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"}) {
    there.get_parameter(name).detach().copy_(both.get_parameter(name).detach());
    back.get_parameter(name).detach().copy_(both.get_parameter(std::string(name) + "_reverse").detach());
  }
  const Tensor x = any({5, 2, 3});
  const auto [out, h] = both(x);
  const auto [a, ha] = there(x);
  const auto [b, hb] = back(flip(x, {0}));
  expect_close(out, cat({a, flip(b, {0})}, 2));
  expect_close(h, cat({ha, hb}));
}

TEST(Recurrent, APackedSequenceIsEachSequenceAlone) {
  const std::vector<Tensor> sequences{any({2, 3}, 1), any({5, 3}, 2), any({1, 3}, 3), any({5, 3}, 4)};
  const LSTM layer(3, 4, {.num_layers = 2, .bidirectional = true, .proj_size = 2, .dtype = f64});
  const PackedSequence packed = utils::rnn::pack_sequence(sequences, false);
  const LSTM::States first{any({4, 4, 2}, 5), any({4, 4, 4}, 6)};
  const auto [out, states] = layer.forward_packed(packed, first);
  const std::vector<Tensor> outputs = utils::rnn::unpack_sequence(out);
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const auto row = [&](const Tensor& t) { return t.select(1, std::int64_t(i)); };
    const auto [one, end] = layer.forward(sequences[i], LSTM::States{row(first.first), row(first.second)});
    expect_close(outputs[i], one);
    expect_close(row(states.first), end.first);
    expect_close(row(states.second), end.second);
  }
}

TEST(Recurrent, GradientsOfAPackedSequence) {
  const RNN layer(2, 2, {.bidirectional = true, .dtype = f64});
  std::vector<Tensor> operands{any({3, 2}, 1), any({1, 2}, 2), any({2, 2, 2}, 3)};
  for (const Tensor& p : layer.flat_weights()) operands.push_back(p.detach());
  test::expect_gradients(
      [](const std::vector<Tensor>& x) -> std::vector<Tensor> {
        const PackedSequence s = utils::rnn::pack_sequence({x[0], x[1]});
        const std::vector<Tensor> weights(x.begin() + 3, x.end());
        const auto [out, h] = rnn_tanh(s.data, x[2], weights, {.bidirectional = true, .batch_sizes = s.batch_sizes});
        return {out, h};
      },
      operands);
}

TEST(Recurrent, ShapesAndText) {
  const LSTM layer(3, 4, {.num_layers = 2, .batch_first = true, .bidirectional = true, .proj_size = 2});
  EXPECT_EQ(layer.str(), "LSTM(3, 4, proj_size=2, num_layers=2, batch_first=True, bidirectional=True)");
  const auto [out, states] = layer(sample({6, 5, 3}));
  EXPECT_EQ(out.shape(), (Shape{6, 5, 4}));
  EXPECT_EQ(states.first.shape(), (Shape{4, 6, 2}));
  EXPECT_EQ(states.second.shape(), (Shape{4, 6, 4}));
  EXPECT_EQ(layer(sample({5, 3})).first.shape(), (Shape{5, 4}));  // one sequence
  EXPECT_EQ(RNNCell(1, 2, {.bias = false, .nonlinearity = "relu"}).str(),
            "RNNCell(1, 2, bias=False, nonlinearity=relu)");
}

TEST(Recurrent, ParametersAreDrawnWithinTheBound) {
  const GRUCell cell(3, 16);
  const LSTM layer(3, 16, {.num_layers = 2, .bidirectional = true});
  for (const Module* m : {static_cast<const Module*>(&cell), static_cast<const Module*>(&layer)})
    for (const auto& [name, p] : m->named_parameters()) {
      EXPECT_LE(max(abs(p.detach())).item<float>(), 0.25f) << name;
      EXPECT_GT(max(abs(p.detach())).item<float>(), 0.1f) << name;
    }
}

TEST(Recurrent, DropoutStandsBetweenLayersInTrainingOnly) {
  RNN layer(2, 8, {.num_layers = 2, .dropout = 1});
  const Tensor x = sample({3, 1, 2});
  const Tensor dropped = layer(x).first, from_nothing = layer(x * 0).first;
  expect_close(dropped, from_nothing);  // layer 1 sees zeros, whatever goes in
  layer.eval();
  EXPECT_GT(sum(abs(layer(x).first - dropped)).item<double>(), 1e-3);
}

TEST(Recurrent, CopiesShareNothing) {
  const Ref<Module> layer = make<LSTM>(2, 3, RNNOptions{.bidirectional = true});
  const Ref<Module> copy = layer->clone();
  const Tensor x = sample({4, 1, 2});
  expect_close(copy->as<LSTM>()->forward(x).first, layer->as<LSTM>()->forward(x).first);
  EXPECT_EQ(copy->state_dict().keys(), layer->state_dict().keys());
  layer->get_parameter("weight_hh_l0_reverse").detach().zero_();
  EXPECT_GT(sum(abs(copy->get_parameter("weight_hh_l0_reverse"))).item<double>(), 0.1);
}

TEST(Recurrent, SaysWhatDoesNotFit) {
  const GRU gru(3, 4);
  EXPECT_NE(error_of<ShapeError>([&] { gru(sample({2, 2, 5})); }).find("expected input of width 3"), std::string::npos);
  EXPECT_NE(error_of<ShapeError>([&] { gru(sample({2})); }).find("2 or 3 dimensions"), std::string::npos);
  EXPECT_NE(error_of<ShapeError>([&] {
              gru(sample({2, 2, 3}), sample({1, 3, 4}));
            }).find("the hidden state of shape"),
            std::string::npos);
  EXPECT_NE(error_of<ShapeError>([&] { gru(sample({0, 2, 3})); }).find("at least one time"), std::string::npos);
  EXPECT_NE(error_of<ValueError>([] { LSTM(2, 3, {.proj_size = 3}); }).find("below hidden_size"), std::string::npos);
  EXPECT_NE(error_of<ValueError>([] { GRU(2, 3, {.proj_size = 1}); }).find("only an LSTM"), std::string::npos);
  EXPECT_NE(error_of<ValueError>([] { RNN(2, 3, {.nonlinearity = "gelu"}); }).find("'tanh' or 'relu'"),
            std::string::npos);
  EXPECT_NE(error_of<ValueError>([] { RNN(2, 3, {.dropout = 2}); }).find("from 0 to 1"), std::string::npos);
  EXPECT_NE(error_of<ShapeError>([] { gru_cell(sample({2}), sample({3}), {}); }).find("weight_hh"), std::string::npos);
  const CellWeights weights{sample({3, 2}), sample({3, 1})};
  EXPECT_EQ(error_of<ShapeError>([&] {
              gru_cell(sample({4, 2}), {}, weights);
            }),
            "gru: expected the state of shape [4, 1], got none");
}

}  // namespace
}  // namespace neura::nn
