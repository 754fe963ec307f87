// What was traced runs as it ran: the same bits, step after step.
#include "neura/graph/trace.h"

#include <algorithm>

#include "neura/graph/passes.h"
#include "neura/neura.h"
#include "tests/support/close.h"
#include "tests/support/refusals.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

using graph::Program;
using graph::run;
using graph::trace;
using Tensors = std::vector<Tensor>;

struct Net : nn::Module {
  nn::Conv2d conv{2, 4, 3, {.padding = {1, 1}}};
  nn::BatchNorm2d norm{4};
  nn::Linear last{16, 3};
  nn::Dropout drop{0.5};
  NEURA_MODULE(Net, conv, norm, last, drop)
  Tensor forward(const Tensor& x) { return drop(last(flatten(max_pool2d(relu(norm(conv(x))), 2), 1))); }
};

struct Training {  // everything that a step changes
  Net net;
  optim::AdamW optimizer;
  Training() : optimizer(net.parameters(), {.lr = 1e-2}) {}
  Tensor step(const Tensor& x, const Tensor& labels) {
    optimizer.zero_grad();
    const Tensor loss = cross_entropy(net.forward(x), labels);
    loss.backward();
    nn::utils::clip_grad_norm_(net.parameters(), 1);
    optimizer.step();
    return loss.detach();
  }
  Tensors state() {
    Tensors all;
    for (auto& [name, t] : net.state_dict()) all.push_back(t);
    return all;
  }
};
Tensor images(std::uint64_t seed) { return sample({6, 2, 4, 4}, DType::float32, {.seed = seed}); }
Tensor labels(int seed) { return tensor({0, 1, (2 + seed) % 3, 2, seed % 3, 0}); }

TEST(Trace, OfATrainingStepTrainsOnAsEagerDoes) {
  manual_seed(1);
  Training eager;
  manual_seed(1);
  Training traced;
  Tensors want, got;
  manual_seed(2);
  for (int i = 0; i < 8; ++i) want.push_back(eager.step(images(i < 3 ? 0 : unsigned(i)), labels(i < 3 ? 0 : i)));
  manual_seed(2);
  int calls = 0;
  const Tensors example{images(0), labels(0)};
  const Program p = trace([&](auto in) { return ++calls, Tensors{traced.step(in[0], in[1])}; }, example);
  ASSERT_EQ(calls, 3);
  for (int i = calls; i < 8; ++i) {
    const Tensors in{images(unsigned(i)), labels(i)};
    expect_same(run(p, in)[0], want[std::size_t(i)]);
  }
  const Tensors a = eager.state(), b = traced.state();
  for (std::size_t i = 0; i < a.size(); ++i) expect_same(b[i], a[i]);
}

// A block of a decoder, trained with momentum; gradients are zeroed in place and live on.
struct Block : nn::Module {
  nn::Embedding tokens{11, 8};
  nn::LayerNorm norm{8};
  nn::Linear qkv{8, 24}, out{8, 8}, up{8, 16}, down{16, 8}, head{8, 11};
  NEURA_MODULE(Block, tokens, norm, qkv, out, up, down, head)
  Tensor forward(const Tensor& ids) {
    Tensor x = tokens(ids);
    const Tensor h = qkv(norm(x)).view({2, 5, 3, 2, 4}).permute({2, 0, 3, 1, 4});
    const Tensor y = scaled_dot_product_attention(h[0], h[1], h[2], {.is_causal = true});
    x = x + out(y.transpose(1, 2).reshape({2, 5, 8}));
    return head(x + down(gelu(up(norm(x)))));
  }
};
Tensor ids(int seed) { return remainder(arange(10) * (3 + seed) + seed, 11).view({2, 5}); }

TEST(Trace, OfATransformersStepTrainsOnAsEagerDoes) {
  const auto make = [] {
    manual_seed(4);
    return std::make_unique<Block>();
  };
  const auto eager = make(), traced = make();
  const auto stepper = [](Block& net) {
    return [&net, sgd = std::make_shared<optim::SGD>(net.parameters(), optim::SGDOptions{.lr = 0.1, .momentum = 0.9})](
               const Tensor& x) {
      sgd->zero_grad(false);
      const Tensor loss = cross_entropy(flatten(net.forward(x), 0, 1), flatten(flip(x, {1})));
      loss.backward();
      sgd->step();
      return loss.detach();
    };
  };
  const auto a = stepper(*eager), b = stepper(*traced);
  int calls = 0;
  const Program p = trace([&](auto in) { return ++calls, Tensors{b(in[0])}; }, {{ids(0)}});
  for (int i = 0; i < calls; ++i) a(ids(0));
  for (int i = 0; i < 5; ++i) expect_same(run(p, {{ids(i)}})[0], a(ids(i)));
  const auto want = eager->parameters(), got = traced->parameters();
  for (std::size_t i = 0; i < want.size(); ++i)
    expect_same(got[i], want[i]), expect_same(got[i].grad(), want[i].grad());
  EXPECT_EQ(str(graph::parse(str(p))), str(p));
}

TEST(Trace, WhatACheckpointComputesAgainIsComputedAgain) {
  const Tensor w = sample({8, 8}), v = sample({8, 8}, float32, {.seed = 3});
  const auto f = [&](std::span<const Tensor> in) {
    const Tensor x = in[0].detach().requires_grad_();
    const auto body = [&](const Tensors& t) {
      return Tensors{softmax(dropout(tanh(t[0].matmul(w)), 0.5).matmul(v), 1)};
    };
    const Tensor y = checkpoint(body, {x}, {})[0];
    square(y).sum().backward();
    return Tensors{y.detach(), x.grad()};
  };
  const Tensor x = sample({5, 8}), other = sample({5, 8}, float32, {.seed = 9});
  manual_seed(6);
  const Program p = trace(f, {{x}});
  const auto twice = [](const Program& q) {
    return std::count_if(q.nodes.begin(), q.nodes.end(),
                         [](const graph::Node& n) { return n.row->name == std::string("tanh"); });
  };
  EXPECT_EQ(twice(p), 2) << str(p);
  EXPECT_EQ(twice(optimized(p)), 2);
  manual_seed(7);
  const Tensors want = f({{other}});
  for (const Program& q : {p, optimized(p), graph::parse(str(p, true))}) {
    manual_seed(7);
    const Tensors got = run(q, {{other}});
    for (std::size_t k = 0; k < want.size(); ++k) expect_same(got[k], want[k]);
  }
}
TEST(Trace, WritesOfViewsAndOutAreUpdates) {
  const auto f = [](const Tensor& table, const Tensor& x) {
    Tensor row = table[1];
    Tensor left = table.slice(1, 0, 2), last = table.t().select(0, 2);
    add_(row, x), mul_(left, row.slice(0, 0, 2)), zero_(last);
    Tensor y = empty({3});
    mul_out(y, row, x), add_(y, table[0]);
    return Tensors{y, table.sum({0}), row};
  };
  const Tensor eager = sample({3, 3}), traced = eager.clone(), x = sample({3}, float32, {.seed = 5});
  const Program p = trace([&](auto in) { return f(traced, in[0]); }, {{x}});
  f(eager, x), f(eager, x);
  for (int i = 0; i < 3; ++i) {
    const Tensor z = sample({3}, float32, {.seed = std::uint64_t(i)});
    const Tensors want = f(eager, z), got = run(p, {{z}});
    for (std::size_t k = 0; k < want.size(); ++k) expect_same(got[k], want[k]);
    expect_same(traced, eager);
  }
}
TEST(Trace, AnInputThatIsWrittenIsWrittenByARun) {
  const Program p = trace(
      [](auto in) {
        Tensor x = in[0];
        return Tensors{mul_(x, 2).sum()};
      },
      {{ones({2, 2})}});
  const Tensor x = full({2, 2}, 3.0), y = full({2, 2}, 3.0);
  expect_close(run(p, {{x}})[0], {24});
  expect_same(x, full({2, 2}, 6.0));
}
TEST(Trace, ResultsOfARunAreNotThoseOfTheNext) {
  const Tensor three = full({2}, 3.0);
  const auto f = [&](auto in) { return Tensors{in[0] + 1, tensor({1.0f, 2.0f}), in[0]}; };
  const Program p = trace(f, {{ones({2})}});
  const Tensors first = run(p, {{three}}), copy{first[0].clone(), first[1].clone()};
  Tensor(first[1]).zero_();
  const Tensors second = run(p, {{ones({2})}});
  expect_same(first[0], copy[0]);
  expect_same(second[1], tensor({1.0f, 2.0f}));
  EXPECT_TRUE(first[2].is_same(three));
}
TEST(Trace, DrawsGoOnWithTheGenerator) {
  const Tensor x = ones({64});
  const auto f = [](const Tensor& t) { return Tensors{dropout(t, 0.5), rand({3}), randn({2}) * t[0]}; };
  manual_seed(7);
  const Program p = trace([&](auto in) { return f(in[0]); }, {{x}});
  manual_seed(8);
  const Tensors want = f(x), more = f(x);
  manual_seed(8);
  for (const Tensors& each : {want, more}) {
    const Tensors got = run(p, {{x}});
    for (std::size_t k = 0; k < 3; ++k) expect_same(got[k], each[k]);
  }
}

TEST(Trace, WhatValuesMustFulfilIsAskedInEveryRun) {
  const Tensor x = full({3}, 0.25), target = ones({3}), wrong = full({3}, 2.0);
  const Program p = trace([&](auto in) { return Tensors{binary_cross_entropy(in[0], target)}; }, {{x}});
  expect_same(run(p, {{x}})[0], binary_cross_entropy(x, target));
  expect_refusals<ValueError>({{"binary_cross_entropy: expected", [&] { run(p, {{wrong}}); }}});
  EXPECT_THROW(trace([&](auto in) { return Tensors{binary_cross_entropy(in[0], target)}; }, {{wrong}}), ValueError);
  const Tensor whole = full({3}, 7, {.dtype = int64}), none = zeros({3}, {.dtype = int64});
  const Program q = trace([&](auto in) { return Tensors{remainder(whole, in[0])}; }, {{ones({3}, {.dtype = int64})}});
  expect_refusals<ValueError>({{"division: expected integers other than 0", [&] { run(q, {{none}}); }}});
}

TEST(Trace, RefusesWhatARunCouldNotGoOnLike) {
  const Tensor x = ones({2});
  Tensor state = zeros({2}), stored = ones({2});
  int calls = 0;
  const auto traced = [&](const graph::Function& f) { return [&, f] { trace(f, {{x}}); }; };
  expect_refusals<ValueError>({
      {"trace: expected a function that reads no values on the host, got a read of float32 []",
       traced([](auto in) { return Tensors{in[0] * in[0].sum().template item<float>()}; })},
      {"trace: expected a function that reads no values on the host, got a read of float32 [2]",
       traced([](auto in) { return Tensors{in[0] * in[0].template to_vector<float>()[0]}; })},
      {"trace: expected a function that reads no values on the host, got a read of float32 [2]",
       traced([&](auto in) { return Tensors{in[0] * stored.const_data<float>()[0] + stored}; })},
      {"trace: expected a function that reads no values on the host, got a pointer to those of a result",
       traced([](auto in) {
         const Tensor y = in[0] + 1;
         return Tensors{in[0] * static_cast<float*>(y.raw_data())[0]};
       })},
      {"trace: expected a function that reads nothing its last call has made, got a read of float32 [2]",
       traced([&](auto in) { return Tensors{state = state * 0.5 + in[0]}; })},
      {"trace: expected the same calls every time, got add and then sub as number 0",
       traced([&](auto in) { return Tensors{++calls % 2 ? in[0] + 1 : in[0] - 1}; })},
      {"trace: expected the same calls every time, got", traced([&](auto in) { return Tensors{in[0] + ++calls}; })},
      {"trace: expected the same values from the host in every call, got others in float32 [2]", traced([&](auto in) {
         return Tensors{in[0] + tensor({1.0f, float(++calls)})};
       })},
      {"trace: uniform: expected draws one after the other, got a generator that was moved",
       traced([&](auto in) { return manual_seed(3), Tensors{in[0] + rand({2})}; })},
      {"trace: expected tensors as results, got an undefined one", traced([](auto) { return Tensors{Tensor()}; })},
  });
  Generator own(3);
  EXPECT_EQ(error_of<ValueError>(traced([&](auto in) {
              return Tensors{dropout(in[0], 0.5), rand({2}, {.generator = &own})};
            })),
            "trace: uniform: expected numbers of the default generator, got another one");
}
TEST(Trace, MemoryWithoutValuesMayBeOverwritten) {
  const auto f = [](auto in) {
    Tensor y = Tensor::empty(Spec::dense(float32, Shape{2})), z = Tensor::empty(Spec::dense(float32, Shape{2}));
    y.fill_(3.0), mul_out(z, in[0], 2), mul_(y, z);
    return Tensors{y, z};
  };
  const Program p = trace(f, {{ones({2})}});
  for (int i = 0; i < 2; ++i) expect_same(run(p, {{full({2}, 5.0)}})[0], full({2}, 30.0));
}
TEST(Trace, AFunctionThatThrowsLeavesNoTrace) {
  const Tensor x = ones({2});
  EXPECT_EQ(error_of<IndexError>([&] { trace([](auto) -> Tensors { throw IndexError("mine"); }, {{x}}); }), "mine");
  EXPECT_EQ(trace([](auto in) { return Tensors{in[0] + 1}; }, {{x}}).nodes.size(), 1u);
}
TEST(Trace, ProgramsOfOtherOptimizersCountOn) {
  const auto make = [] {
    manual_seed(1);
    return std::make_unique<nn::Linear>(3, 2);
  };
  const auto eager = make(), traced = make();
  optim::Adam a(eager->parameters(), {.lr = 0.1}), b(traced->parameters(), {.lr = 0.1});
  optim::lr_scheduler::StepLR slower_a(a, 2), slower_b(b, 2);
  const auto step = [](nn::Linear& net, optim::Optimizer& o, const Tensor& x) {
    o.zero_grad();
    const Tensor loss = square(net(x)).mean();
    loss.backward(), o.step();
    return loss.detach();
  };
  const Tensor x = sample({4, 3});
  int calls = 0;
  const Program p = trace([&](auto in) { return ++calls, Tensors{step(*traced, b, in[0])}; }, {{x}});
  for (int i = 0; i < calls; ++i) step(*eager, a, x);
  for (int i = 0; i < 6; ++i) {
    expect_same(run(p, {{x}})[0], step(*eager, a, x));
    slower_a.step(), slower_b.step();
  }
  expect_same(traced->weight, eager->weight);
}
TEST(Trace, WithoutItsOptimizerAProgramDoesNotStep) {
  const Tensor x = sample({4, 3});
  nn::Linear net(3, 2);
  optim::SGD sgd(net.parameters(), {.lr = 0.1});
  const Program p = trace(
      [&](auto in) {
        sgd.zero_grad();
        net(in[0]).sum().backward(), sgd.step();
        return Tensors{};
      },
      {{x}});
  const Program read = graph::parse(str(p, true));
  EXPECT_EQ(error_of<NotImplementedError>([&] { run(read, {{x}}); }),
            "sgd_step: expected numbers that vary from run to run, got a program from a text, which has none; trace it "
            "again");
}

}  // namespace
}  // namespace neura::test
