// Optimizers on CUDA against the CPU: every rule, several steps, more tensors than one launch takes, of odd sizes.
#include "neura/cuda/graph.h"
#include "neura/nn/clip.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/random/random.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/training/loss_scale.h"
#include "tests/cuda/device.h"
#include "tests/optim/kinds.h"

namespace neura::test {
namespace {

using optim::Value;
struct Variant {
  const char* kind;
  std::vector<std::pair<std::string, Value>> options;
};
const std::vector<Variant>& variants() {
  static const auto* all = [] {
    auto* v = new std::vector<Variant>;
    for (const optim::Kind& k : optim::kKinds) v->push_back({k.name, {}});
    v->push_back({"SGD", {{"momentum", 0.9}, {"dampening", 0.1}, {"weight_decay", 0.1}}});
    v->push_back({"SGD", {{"momentum", 0.9}, {"nesterov", true}, {"maximize", true}}});
    v->push_back({"Adam", {{"amsgrad", true}, {"weight_decay", 0.1}, {"maximize", true}}});
    v->push_back({"RMSprop", {{"momentum", 0.9}, {"weight_decay", 0.1}}});
    v->push_back({"RMSprop", {{"centered", true}, {"eps_inside_sqrt", true}}});
    v->push_back({"RMSprop", {{"centered", true}, {"momentum", 0.9}}});
    v->push_back({"Adagrad", {{"lr_decay", 0.1}, {"initial_accumulator_value", 0.5}}});
    return v;
  }();
  return *all;
}

struct Side {  // one optimizer with its parameters
  std::vector<Tensor> params;
  std::unique_ptr<optim::Optimizer> optimizer;
  Side(const Variant& v, std::vector<Tensor> p) : params(std::move(p)) {
    optim::ParamGroup group(params);
    for (const auto& [name, value] : v.options) group.options[name] = value;
    for (const optim::Kind& k : optim::kKinds)
      if (k.name == std::string(v.kind)) optimizer = k.make({group});
  }
};
Tensor leaf(const Tensor& t) { return t.detach().requires_grad_(); }

void expect_alike(const Side& there_, const Side& here, Tolerance t) {
  for (std::size_t i = 0; i < here.params.size(); ++i) {
    SCOPED_TRACE(i);
    expect_close(back(there_.params[i].detach()), here.params[i].detach(), t);
  }
  const optim::StateDict got = there_.optimizer->state_dict(), want = here.optimizer->state_dict();
  ASSERT_EQ(got.state.size(), want.state.size());
  for (std::size_t i = 0; i < want.state.size(); ++i)
    for (const auto& [name, value] : want.state[i].second.items) {
      SCOPED_TRACE(name);
      const Value* other = got.state[i].second.find(name);
      ASSERT_TRUE(other);
      const Tensor& w = *value.get<Tensor>();
      const Tensor& its = *other->get<Tensor>();
      expect_close(its.to(Device()), w, its.device().is_cpu() ? Tolerance{} : t);  // numbers are the host's
    }
}
void expect_steps(const Variant& v, const std::vector<Tensor>& here, const std::vector<Tensor>& there_) {
  std::vector<Tensor> h, d;
  for (const Tensor& t : here) h.push_back(leaf(t));
  for (const Tensor& t : there_) d.push_back(leaf(t));
  Side a(v, d), b(v, h);
  for (int step = 0; step < 3; ++step) {
    for (std::size_t i = 0; i < h.size(); ++i) {
      if (step == 1 && i % 7 == 3) {  // its count of steps falls after
        h[i].set_grad({}), d[i].set_grad({});
        continue;
      }
      const Tensor g = randn(h[i].shape(), {.dtype = h[i].dtype()});
      h[i].set_grad(g), d[i].set_grad(there(g));
    }
    a.optimizer->step(), b.optimizer->step();
  }
  expect_alike(a, b, tolerance(h[0].dtype()).times(16));
}

using CudaOptimizers = CudaTest;

TEST_F(CudaOptimizers, ManyTensorsOfOddSizes) {
  manual_seed(3);
  for (const Variant& v : variants())
    for (const DType d : {float32, float64, bfloat16, float16, complex64}) {
      SCOPED_TRACE(std::string(v.kind) + " " + name(d));
      std::vector<Tensor> h, g;
      for (const std::int64_t n : {1, 2, 3, 7, 8, 255, 4095, 4097, 20011, 0})
        for (int k = 0; k < 7; ++k) h.push_back(randn({n}, {.dtype = d}));
      h.push_back(randn({}, {.dtype = d})), h.push_back(randn({37, 53}, {.dtype = d}).t());
      for (const Tensor& t : h) g.push_back(there(t));
      expect_steps(v, h, g);
    }
}

TEST_F(CudaOptimizers, ParametersThatLieAnywhere) {
  manual_seed(4);
  for (const Variant& v : variants()) {
    SCOPED_TRACE(v.kind);
    const Tensor flat = randn({30000}), far = there(flat);
    std::vector<Tensor> h, g;
    for (const auto& [begin, end] : {std::pair{0, 5}, {5, 9000}, {9000, 9003}, {9003, 29999}})
      h.push_back(flat.slice(0, begin, end)), g.push_back(far.slice(0, begin, end));
    const Tensor wide = randn({40, 30}), wide_there = there(wide);
    h.push_back(wide.slice(1, 1, 30, 2)), g.push_back(wide_there.slice(1, 1, 30, 2));  // not dense
    expect_steps(v, h, g);
  }
}

TEST_F(CudaOptimizers, GroupsWithRatesOfTheirOwn) {
  std::vector<optim::ParamGroup> here, far;
  for (int i = 0; i < 11; ++i) {
    Tensor h = leaf(randn({100 + i})), d = leaf(there(h.detach()));
    const Tensor g = randn({100 + i});
    h.set_grad(g), d.set_grad(there(g));
    here.push_back({{h}, {{"lr", 0.1 / (i + 1)}}}), far.push_back({{d}, {{"lr", 0.1 / (i + 1)}}});
  }
  optim::AdamW a(here), b(far);
  for (int i = 0; i < 2; ++i) a.step(), b.step();
  for (std::size_t i = 0; i < here.size(); ++i)
    expect_close(back(far[i].params[0].detach()), here[i].params[0].detach(), tolerance(float32).times(16));
}

void expect_steps_in_a_graph(const Variant& v, bool before) {
  std::vector<Tensor> h, d;
  for (const DType dtype : {float32, float64})
    for (const std::int64_t n : {1, 300, 4097}) {
      h.push_back(leaf(randn({n}, {.dtype = dtype}))), d.push_back(leaf(there(h.back().detach())));
      d.back().set_grad(there(zeros({n}, {.dtype = dtype})));
    }
  Side a(v, d), b(v, h);
  const auto give_gradients = [&] {
    for (std::size_t i = 0; i < h.size(); ++i) {
      const Tensor g = randn(h[i].shape(), {.dtype = h[i].dtype()});
      h[i].set_grad(g), d[i].grad().detach().copy_(there(g));
    }
  };
  give_gradients();
  if (before) a.optimizer->step(), b.optimizer->step();
  cuda::Graph graph;
  graph.capture([&] { a.optimizer->step(); });
  for (int i = 0; i < 4; ++i) {
    give_gradients();
    if (i == 2)
      for (Side* side : {&a, &b}) side->optimizer->param_groups()[0].set_lr(0.005);
    graph.replay(), b.optimizer->step();
  }
  expect_alike(a, b, tolerance(float32).times(16));
}
TEST_F(CudaOptimizers, StepsInAGraphGoOnAsWithoutOne) {
  manual_seed(5);
  for (const Variant& v : variants())
    for (const bool before : {true, false}) {  // was there a step before the capture, that made the state?
      SCOPED_TRACE(std::string(v.kind) + (before ? ", after a step" : ""));
      expect_steps_in_a_graph(v, before);
    }
}

// The state lies in memory that was free when it was made, but not in the graph's, which replays write.
TEST_F(CudaOptimizers, StateThatACaptureMakesIsNotInItsMemory) {
  const auto parameter = [] {
    manual_seed(7);
    Tensor p = leaf(there(randn({1000})));
    p.set_grad(there(randn({1000})));
    return p;
  };
  Tensor p = parameter(), q = parameter(), y;
  const Tensor x = there(randn({1000}));
  optim::AdamW captured({p}), eager({q});
  cuda::Graph graph;
  graph.capture([&] {
    for (int i = 0; i < 8; ++i) y = x * double(i) + 3;  // blocks that come free
    y = {};
    captured.step();
  });
  for (int i = 0; i < 3; ++i) graph.replay(), eager.step();
  expect_close(back(p.detach()), back(q.detach()), tolerance(float32).times(4));
}

TEST_F(CudaOptimizers, AReplayNeedsTheOptimizer) {
  Tensor p = leaf(there(randn({10})));
  p.set_grad(there(randn({10})));
  auto optimizer = std::make_unique<optim::AdamW>(std::vector<Tensor>{p});
  cuda::Graph graph;
  graph.capture([&] { optimizer->step(); });
  graph.replay();
  optimizer.reset();
  const std::string gone = error_of<ValueError>([&] { graph.replay(); });
  EXPECT_NE(gone.find("to live as long as its graph"), gone.npos) << gone;
}

TEST_F(CudaOptimizers, GradientsAreClipped) {
  std::vector<Tensor> h, d;
  for (const std::int64_t n : {1, 1000, 70001}) {
    h.push_back(leaf(randn({n}))), d.push_back(leaf(there(h.back().detach())));
    const Tensor g = randn({n});
    h.back().set_grad(g), d.back().set_grad(there(g));
  }
  expect_close(back(nn::utils::clip_grad_norm_(d, 1)), nn::utils::clip_grad_norm_(h, 1), tolerance(float32).times(16));
  for (std::size_t i = 0; i < h.size(); ++i) expect_close(back(d[i].grad()), h[i].grad(), tolerance(float32).times(16));
}

// Gradients of every dtype and size: packs, single elements, an odd address, several launches, several tiles of a
// block.
std::vector<Tensor> gradients_of_every_kind(Device device) {
  std::vector<Tensor> g;
  std::uint64_t seed = 1;
  for (const DType d : {float32, bfloat16, float16, float64, complex64, complex128})
    for (const std::int64_t n : {0, 1, 3, 8, 31, 1024, 4097, 70001}) {
      manual_seed(seed++);
      g.push_back(randn({n + 1}, {.dtype = d}).to(device).slice(0, n % 3 == 1 ? 1 : 0, n % 3 == 1 ? n + 1 : n));
    }
  for (int i = 0; i < 200; ++i) manual_seed(seed++), g.push_back(randn({i % 7, 5}).to(device));
  manual_seed(seed), g.push_back(randn({17, 300}).to(device).t());
  return g;
}
std::vector<Tensor> with_gradients(const std::vector<Tensor>& gradients) {
  std::vector<Tensor> p;
  for (const Tensor& g : gradients) p.push_back(leaf(zeros_like(g))), p.back().set_grad(g);
  return p;
}

TEST_F(CudaOptimizers, ManyGradientsAreClippedTogether) {
  for (const double max_norm : {1.0, 1e9}) {
    const auto h = gradients_of_every_kind(Device()), d = gradients_of_every_kind(kCuda);
    const Tensor want = nn::utils::clip_grad_norm_(with_gradients(h), max_norm);
    const Tensor got = nn::utils::clip_grad_norm_(with_gradients(d), max_norm);
    EXPECT_EQ(got.dtype(), float64);
    expect_close(back(got), want, {0, 1e-6});
    for (std::size_t i = 0; i < h.size(); ++i) {
      const Tolerance t = tolerance(h[i].dtype() == bfloat16 || h[i].dtype() == float16 ? h[i].dtype() : float32);
      expect_close(back(d[i]), h[i], t);
      if (max_norm > 1) expect_same(back(d[i]), gradients_of_every_kind(Device())[i]);
    }
  }
}

TEST_F(CudaOptimizers, TheNormOfManyIsTheSameEachTimeAndOverflowsNowhere) {
  const auto g = gradients_of_every_kind(kCuda);
  const Tensor first = back(nn::utils::get_total_norm(g));
  for (int i = 0; i < 3; ++i) expect_same(back(nn::utils::get_total_norm(g)), first);
  const Tensor large = there(full({5}, 1e30, {.dtype = bfloat16}));  // its squares are no floats
  expect_close(back(nn::utils::get_total_norm({large, large})), full({}, 1e30 * std::sqrt(10), {.dtype = bfloat16}));
  Tensor many = there(ones({1 << 25}));  // 128 MiB: eight tiles a block
  many.slice(0, 5, 6).fill_(3);
  expect_close(back(nn::utils::get_total_norm({many})), full({}, std::sqrt((1 << 25) + 8.0)), {0, 1e-7});
}

TEST_F(CudaOptimizers, ManyGradientsAreUnscaledTogether) {
  for (const bool bad : {false, true}) {
    const auto h = gradients_of_every_kind(Device()), d = gradients_of_every_kind(kCuda);
    if (bad) Tensor(h.back()).fill_(INFINITY), Tensor(d.back()).fill_(INFINITY);
    Tensor found = zeros({}), found_there = there(zeros({}));
    unscale_gradients(h, full({}, 0.125), found);
    unscale_gradients(d, there(full({}, 0.125)), found_there);
    expect_same(back(found_there), full({}, bad ? 1.0 : 0.0));
    expect_same(found, full({}, bad ? 1.0 : 0.0));
    for (std::size_t i = 0; i < h.size(); ++i) expect_same(back(d[i]), h[i]);
  }
}

TEST_F(CudaOptimizers, WhatIsNotFiniteScalesByNaNOrZero) {
  for (const double bad : {double(INFINITY), -double(INFINITY), double(NAN)}) {
    const Tensor a = there(ones({9})), b = there(ones({2000}));
    b.slice(0, 1999, 2000).fill_(bad);
    nn::utils::clip_grad_norm_(with_gradients({a, b}), 1);
    const Tensor h = ones({9}), k = ones({2000});
    k.slice(0, 1999, 2000).fill_(bad);
    nn::utils::clip_grad_norm_(with_gradients({h, k}), 1);
    expect_same(back(a), h), expect_same(back(b), k);
  }
  const Tensor a = there(full({3}, NAN));
  EXPECT_THROW(nn::utils::clip_grad_norm_(with_gradients({a}), 1, {.error_if_nonfinite = true}), ValueError);
}

TEST_F(CudaOptimizers, ClippingIsCapturedInAGraph) {
  const auto g = gradients_of_every_kind(kCuda), p = with_gradients(g), want = gradients_of_every_kind(kCuda);
  Tensor total;
  cuda::Graph graph;
  graph.capture([&] { total = nn::utils::clip_grad_norm_(p, 2); });
  for (std::size_t i = 0; i < g.size(); ++i) Tensor(g[i]).copy_(want[i] * 2);
  graph.replay();
  const Tensor norm = nn::utils::get_total_norm(want) * 2;
  expect_close(back(total), back(norm));
  for (std::size_t i = 0; i < g.size(); ++i) {
    const Tolerance t = tolerance(g[i].dtype() == bfloat16 || g[i].dtype() == float16 ? g[i].dtype() : float32);
    expect_close(back(g[i]), back(want[i]) * 2 * (2 / (back(norm).item<double>() + 1e-6)), t.times(4));
  }
}

TEST_F(CudaOptimizers, GradientsThatShareMemoryAreClippedOneByOne) {
  const Tensor whole = there(full({4}, 3.0));
  const std::vector<Tensor> parts = {whole.slice(0, 0, 3), whole.slice(0, 1, 4)};
  nn::utils::clip_grad_norm_(with_gradients(parts), 1);
  const double f = 1 / (std::sqrt(54) + 1e-6);
  expect_close(back(whole), {3 * f, 3 * f * f, 3 * f * f, 3 * f});
}

}  // namespace
}  // namespace neura::test
