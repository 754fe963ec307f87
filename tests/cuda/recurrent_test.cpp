// Recurrent networks on CUDA against the CPU: in one launch where they fit, and step by step; every cell, layout and
// dtype, gradients of everything, and what two launches at once do to each other.
#include "neura/autograd/autograd.h"
#include "neura/core/precision.h"
#include "neura/cuda/graph.h"
#include "neura/cuda/stream.h"
#include "neura/nn/recurrent.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/nn/recurrent.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"
#include "tests/cuda/library.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

enum Mode { tanh_mode, relu_mode, gru_mode, lstm_mode };
constexpr Mode kModes[] = {tanh_mode, relu_mode, gru_mode, lstm_mode};

struct Kind {
  bool has_biases = true;
  std::int64_t num_layers = 1;
  double dropout = 0;
  bool bidirectional = false, batch_first = false;
};
struct Case {
  Mode mode;
  std::int64_t times, batch, width, hidden;
  Kind o = {};
  std::int64_t projection = 0;
  std::vector<std::int64_t> sizes = {};  // of a packed sequence
  unsigned arrives = 7;                  // gradients of the outputs, h, c
  std::string str() const {
    return std::string(mode == lstm_mode  ? "lstm"
                       : mode == gru_mode ? "gru"
                                          : "rnn") +
           " T " + std::to_string(times) + " N " + std::to_string(batch) + " I " + std::to_string(width) + " H " +
           std::to_string(hidden) + " layers " + std::to_string(o.num_layers) + " bidirectional " +
           std::to_string(o.bidirectional);
  }
};
LstmResult call(const Case& k, const std::vector<Tensor>& x) {  // input, h, c, parameters
  const std::vector<Tensor> params(x.begin() + 3, x.end());
  RecurrentOptions o;
  o.has_biases = k.o.has_biases, o.num_layers = k.o.num_layers, o.dropout = k.o.dropout, o.train = k.o.dropout > 0;
  o.bidirectional = k.o.bidirectional, o.batch_first = k.o.batch_first;
  if (!k.sizes.empty()) o.batch_sizes = tensor(k.sizes);
  if (k.mode == lstm_mode) return lstm(x[0], {x[1], x[2]}, params, o);
  const auto f = k.mode == gru_mode ? gru : k.mode == tanh_mode ? rnn_tanh : rnn_relu;
  const RecurrentResult r = f(x[0], x[1], params, o);
  return {r.first, r.second, {}};
}
std::vector<Tensor> operands(const Case& k, DType d) {
  const std::int64_t directions = k.o.bidirectional ? 2 : 1, states = k.o.num_layers * directions;
  const std::int64_t gates = k.mode == lstm_mode  ? 4
                             : k.mode == gru_mode ? 3
                                                  : 1,
                     out = k.projection ? k.projection : k.hidden;
  std::int64_t rows = 0;
  for (const std::int64_t n : k.sizes) rows += n;
  const double bound = 1 / std::sqrt(double(k.hidden));
  std::uint64_t seed = 1;
  const auto any = [&](const Shape& s, double high) {
    return sample(s, d, {.low = -high, .high = high, .seed = seed++});
  };
  std::vector<Tensor> x{any(rows              ? Shape{rows, k.width}
                            : k.o.batch_first ? Shape{k.batch, k.times, k.width}
                                              : Shape{k.times, k.batch, k.width},
                            1),
                        any({states, k.batch, out}, 1), any({states, k.batch, k.hidden}, 1)};
  for (std::int64_t i = 0; i < states; ++i) {
    x.push_back(any({gates * k.hidden, i < directions ? k.width : directions * out}, bound));
    x.push_back(any({gates * k.hidden, out}, bound));
    for (int b = 0; b < 2 && k.o.has_biases; ++b) x.push_back(any({gates * k.hidden}, bound));
    if (k.projection) x.push_back(any({out, k.hidden}, bound));
  }
  return x;
}
// Outputs, states, and the gradients of all operands.
std::vector<Tensor> results(const Case& k, std::vector<Tensor> x, bool again = false) {
  for (Tensor& t : x) t = t.detach().requires_grad_();
  if (k.mode != lstm_mode) x[2] = {};
  const LstmResult r = call(k, x);
  std::vector<Tensor> all{r.output, r.h}, outputs, incoming, wanted;
  if (r.c) all.push_back(r.c);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!(k.arrives >> i & 1)) continue;
    outputs.push_back(all[i]);
    const Tensor g = sample(all[i].shape(), DType::float32, {.low = -1, .high = 1, .seed = 90 + i});
    incoming.push_back(g.to(all[i].dtype()).to(all[i].device()));
  }
  for (const Tensor& t : x)
    if (t) wanted.push_back(t);
  std::vector<Tensor> grads = grad(outputs, wanted, incoming, {.create_graph = again, .allow_unused = true});
  if (again) {
    Tensor total = zeros({}, {.dtype = x[0].dtype(), .device = x[0].device()});
    for (const Tensor& g : grads)
      if (g && g.requires_grad()) total = total + sum(g * g);
    grads = grad({&total, 1}, wanted, {}, {.allow_unused = true});
  }
  all.insert(all.end(), grads.begin(), grads.end());
  for (Tensor& t : all)
    if (t) t = t.detach();
  return all;
}

class CudaRecurrence : public CudaTest {
 protected:
  void TearDown() override {
    if (!IsSkipped()) use(true);
  }
  static void use(bool at_once) { of_library<void(bool)>("neura_recurrences_at_once_use")(at_once); }
  static std::int64_t at_once() { return of_library<std::int64_t()>("neura_recurrences_at_once")(); }
  static std::vector<Tensor> moved(std::vector<Tensor> x) {
    for (Tensor& t : x) t = there(t);
    return x;
  }
  // Halves against the same operands in float64: their results are rounded in every step, and gradients of weights are
  // sums over all steps.
  static void compare(const Case& k, DType d, bool again = false) {
    SCOPED_TRACE(k.str() + " " + name(d));
    std::vector<Tensor> x = operands(k, d), exact = x;
    for (Tensor& t : exact) t = t.to(DType::float64);
    const std::vector<Tensor> want = results(k, exact, again), got = results(k, moved(x), again);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      SCOPED_TRACE("result " + std::to_string(i));
      ASSERT_EQ(bool(got[i]), bool(want[i]));
      if (!got[i]) continue;
      EXPECT_EQ(got[i].dtype(), d);
      const double size = want[i].numel() ? std::max(1.0, max(abs(want[i])).item<double>()) : 1;
      const Tolerance t = tolerance(d).times(d == DType::float64 || d == DType::float32 ? 4 : 8);
      expect_close(back(got[i]).to(DType::float64), want[i], {t.absolute * size, t.relative});
    }
  }
  static void both_ways(const Case& k, DType d, bool fits = true) {
    const std::int64_t before = at_once();
    compare(k, d);
    EXPECT_EQ(at_once() > before, fits) << k.str();
    use(false), compare(k, d), use(true);
  }
};

TEST_F(CudaRecurrence, EveryCellInBothWays) {
  for (const Mode m : kModes)
    for (const auto& [t, n, h] : {std::array{1, 1, 8}, {7, 3, 24}, {5, 8, 40}, {4, 17, 64}, {3, 33, 104}, {6, 70, 256}})
      for (const bool reverse : {false, true}) both_ways({m, t, n, 5, h, {.bidirectional = reverse}}, DType::float32);
}
TEST_F(CudaRecurrence, ManyUnits) {
  compare({lstm_mode, 3, 64, 16, 512}, DType::float32);  // forward in one launch of 16 rows, backward by steps
  both_ways({gru_mode, 3, 4, 16, 1024}, DType::float32);
  both_ways({tanh_mode, 5, 40, 16, 1024}, DType::float32, false);
  both_ways({lstm_mode, 20, 32, 128, 256}, DType::float32);
}
TEST_F(CudaRecurrence, StepByStepWhereItDoesNotFit) {
  for (const Mode m : kModes) {
    both_ways({m, 4, 3, 5, 17, {.bidirectional = true}}, DType::float32, false);  // lines that are not aligned
    both_ways({m, 3, 1, 5, 7}, DType::float32, false);
    both_ways({m, 2, 1100, 3, 64}, DType::float32, false);  // more rows than groups
    both_ways({m, 4, 3, 5, 24, {.num_layers = 2, .bidirectional = true}}, DType::float64, false);
  }
}
TEST_F(CudaRecurrence, Halves) {
  for (const DType d : {DType::float16, DType::bfloat16})
    for (const Mode m : kModes) {
      both_ways({m, 5, 9, 8, 32, {.bidirectional = true}}, d);
      both_ways({m, 3, 2, 4, 9}, d, false);
    }
}
TEST_F(CudaRecurrence, LayersAndOptions) {
  for (const Mode m : kModes) {
    both_ways({m, 5, 4, 6, 16, {.num_layers = 3, .bidirectional = true}}, DType::float32);
    both_ways({m, 5, 4, 6, 16, {.has_biases = false, .num_layers = 2, .batch_first = true}}, DType::float32);
  }
  compare({lstm_mode, 5, 4, 6, 16, {.num_layers = 2, .bidirectional = true}, 8}, DType::float32);
  compare({lstm_mode, 5, 4, 6, 16, {.has_biases = false}, 3}, DType::float32);
}
TEST_F(CudaRecurrence, PackedSequences) {
  for (const Mode m : kModes)
    for (const auto& sizes : std::vector<std::vector<std::int64_t>>{{4, 4, 3, 1}, {1}, {5, 2, 2, 2, 1}, {3, 3}})
      compare({m, std::int64_t(sizes.size()), sizes[0], 6, 16, {.num_layers = 2, .bidirectional = true}, 0, sizes},
              DType::float32);
}
TEST_F(CudaRecurrence, WhatDoesNotArrive) {
  for (const Mode m : kModes)
    for (const unsigned arrives : {1u, 2u, 3u, 4u, 6u}) {
      if (arrives == 4 && m != lstm_mode) continue;
      both_ways({m, 4, 3, 5, 16, {}, 0, {}, arrives}, DType::float32);
    }
}
TEST_F(CudaRecurrence, SecondDerivatives) {
  for (const Mode m : kModes) {
    compare({m, 3, 2, 3, 8, {.num_layers = 2, .bidirectional = true}}, DType::float64, true);
    compare({m, 3, 3, 4, 8, {.bidirectional = true}, 0, {3, 2, 1}}, DType::float64, true);
  }
}
TEST_F(CudaRecurrence, OneTensorAsBothStates) {
  const std::vector<Tensor> x = operands({lstm_mode, 3, 2, 4, 8}, DType::float64);
  const auto gradient = [&](const std::vector<Tensor>& v, bool again) {
    const Tensor s = v[1].detach().requires_grad_();
    const Tensor y = sum(lstm(v[0], {s, s}, {v.begin() + 3, v.end()}).output);
    const Tensor g = grad(y, s, {}, {.create_graph = again});
    return again ? grad(sum(g * g), s) : g;
  };
  for (const bool again : {false, true}) expect_close(back(gradient(moved(x), again)), gradient(x, again));
}
TEST_F(CudaRecurrence, AnyLayout) {
  Case k{gru_mode, 4, 3, 6, 16};
  const std::vector<Tensor> x = operands(k, DType::float32);
  std::vector<Tensor> y = moved(x);
  const std::vector<Tensor> want = results(k, y);
  y[0] = there(x[0].transpose(0, 2).contiguous()).transpose(0, 2);
  y[1] = there(x[1].transpose(1, 2).contiguous()).transpose(1, 2);
  y[4] = there(x[4].t().contiguous()).t();
  const LstmResult r = call(k, y);
  expect_close(back(r.output), back(want[0]));
  expect_close(back(r.h), back(want[1]));
  const NoGrad off;  // keeps nothing: the same numbers
  expect_same(back(call(k, moved(x)).output), back(want[0]));
}
TEST_F(CudaRecurrence, NothingIsNothing) {
  for (const Mode m : kModes) {
    const std::vector<Tensor> got = results({m, 3, 0, 4, 8}, moved(operands({m, 3, 0, 4, 8}, DType::float32)));
    EXPECT_EQ(got[0].shape(), (Shape{3, 0, 8}));
    for (std::size_t i = 2; i < got.size(); ++i)
      if (got[i] && got[i].numel()) EXPECT_EQ(max(abs(back(got[i]))).item<float>(), 0);
  }
}
TEST_F(CudaRecurrence, DropoutDrawsWhatTheCpuDraws) {
  const Case k{lstm_mode, 6, 5, 8, 16, {.num_layers = 3, .dropout = 0.4}};
  const std::vector<Tensor> x = operands(k, DType::float32);
  manual_seed(7);
  const Tensor want = call(k, x).output;
  manual_seed(7);
  expect_close(back(call(k, moved(x)).output), want);
}
TEST_F(CudaRecurrence, LayersOfAModule) {
  nn::LSTM layer(12, 24, {.num_layers = 2, .batch_first = true, .bidirectional = true});
  const Tensor x = sample({3, 6, 12});
  const Tensor want = layer(x).first;
  sum(want).backward();
  const Tensor g = layer.get_parameter("weight_hh_l1_reverse").grad();
  layer.to(kCuda), layer.zero_grad();
  const Tensor got = layer(there(x)).first;
  sum(got).backward();
  expect_close(back(got.detach()), want.detach());
  expect_close(back(layer.get_parameter("weight_hh_l1_reverse").grad()), g, tolerance(DType::float32).times(8));
}
TEST_F(CudaRecurrence, TheSameBitsEveryTime) {
  const Case k{lstm_mode, 30, 32, 64, 256, {.bidirectional = true}};
  const std::vector<Tensor> x = moved(operands(k, DType::float32)), first = results(k, x);
  for (int i = 0; i < 5; ++i) {
    const std::vector<Tensor> next = results(k, x);
    for (std::size_t j = 0; j < next.size(); ++j) expect_same(back(next[j]), back(first[j]));
  }
}
TEST_F(CudaRecurrence, TwoStreamsAtOnce) {
  const Case k{lstm_mode, 40, 32, 64, 256};
  const std::vector<Tensor> x = moved(operands(k, DType::float32));
  const NoGrad off;
  const Tensor want = back(call(k, x).output);
  const cuda::Stream one, other;
  std::vector<Tensor> got;
  for (int i = 0; i < 6; ++i) {
    const cuda::StreamGuard guard(i % 2 ? one : other);
    got.push_back(call(k, x).output);
  }
  one.synchronize(), other.synchronize();
  for (const Tensor& t : got) expect_same(back(t), want);
}
TEST_F(CudaRecurrence, ReplaysInAGraph) {
  for (const bool grid : {true, false}) {
    use(grid);
    const Case k{gru_mode, 5, 6, 8, 32, {.num_layers = 2}};
    std::vector<Tensor> x = moved(operands(k, DType::float32)), got;
    const Tensor arrives = there(sample({5, 6, 32})), input = x[0].clone();
    x[2] = {};
    const auto step = [&]() -> std::vector<Tensor> {
      std::vector<Tensor> leaves = x, wanted;
      for (Tensor& t : leaves)
        if (t) wanted.push_back(t = t.detach().requires_grad_());
      const Tensor y = call(k, leaves).output;
      std::vector<Tensor> all = grad({&y, 1}, wanted, {&arrives, 1});
      all.push_back(y.detach());
      return all;
    };
    const std::vector<Tensor> want = step();
    x[0].zero_();
    cuda::Graph graph;
    graph.capture([&] { got = step(); });
    x[0].copy_(input);
    for (int i = 0; i < 3; ++i) {
      graph.replay();
      for (std::size_t j = 0; j < got.size(); ++j) expect_same(back(got[j]), back(want[j]));
    }
  }
}

}  // namespace
}  // namespace neura::test
