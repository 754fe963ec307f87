// Compiled functions: what waits, what is computed when, and that nobody sees a difference.
#include "neura/graph/window.h"

#include <thread>

#include "neura/core/pending.h"
#include "neura/graph/trace.h"
#include "neura/neura.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

constexpr graph::WindowOptions kAll{.least = 1};

Tensor ramp(std::int64_t n = 6) { return to(arange(n), float32) * 0.5 - 1.0; }

class Window : public testing::Test {
 protected:
  void SetUp() override { graph::reset_explanation(); }
  graph::Explanation seen() const { return graph::explanation(); }
};

TEST_F(Window, MakesOneCallOfAChain) {
  const Tensor a = ramp(), b = ramp() + 1.0, c = ramp() * 2.0;
  const auto f = [](const Tensor& x, const Tensor& y, const Tensor& z) { return gelu(x * y + z) * sigmoid(z) - x; };
  const Tensor y = graph::compile(f, kAll)(a, b, c);
  EXPECT_FALSE(is_promise(y.impl()->storage));  // the end of the function
  expect_same(y, f(a, b, c));
  EXPECT_EQ(seen().waited, 6);
  EXPECT_EQ(seen().ran, 1);
  EXPECT_EQ(seen().fused, 1);
  EXPECT_EQ(seen().plans, 1);
  graph::compile(f, kAll)(a, b, c);
  EXPECT_EQ(seen().plans, 1);
  EXPECT_EQ(seen().found, 1);
}

TEST_F(Window, MakesOneCallOfRowsAndColumns) {
  const Tensor x = ramp(60).view({3, 4, 5}), bias = ramp(5), column = ramp(4).view({4, 1}),
               each = ramp(3).view({3, 1, 1});
  const auto f = [&] { return relu((x * each + bias) * column) - x.slice(0, 1, 2).expand({3, 4, 5}); };
  expect_same(graph::compile(f, kAll)(), f());
  EXPECT_EQ(seen().waited, 5);
  EXPECT_EQ(seen().ran, 1);
}

TEST_F(Window, MakesOneCallWithItsConversions) {
  const Tensor x = to(ramp(), bfloat16), w = ramp();
  const auto f = [&] {
    const Tensor y = to(x, float32) * w;
    return to(tanh(y), bfloat16) * x;
  };
  expect_same(graph::compile(f, kAll)(), f());
  EXPECT_EQ(seen().waited, 5);
  EXPECT_EQ(seen().ran, 1);
  const auto g = [&] { return to(x, float16) + 1; };  // of another dtype by the same calls
  const auto h = [&] { return to(x, float64) + 1; };
  expect_same(graph::compile(g, kAll)(), g());
  expect_same(graph::compile(h, kAll)(), h());
  EXPECT_EQ(seen().plans, 3);
}

TEST_F(Window, MakesOneCallOfForwardAndBackward) {
  const auto f = [](const Tensor& w) {
    const Tensor a = w.clone().requires_grad_(), b = (w + 0.25).requires_grad_();
    const Tensor y = tanh(a * b) * sigmoid(b);
    y.backward(ones(w.shape()));
    return std::vector{y, a.grad(), b.grad()};
  };
  const Tensor w = ramp(40).view({4, 10});
  const std::vector<Tensor> want = f(w), got = graph::compile(f, kAll)(w);
  for (std::size_t i = 0; i < want.size(); ++i) expect_same(got[i], want[i]);
  EXPECT_EQ(seen().ran, 1);
}

TEST_F(Window, MakesWhatBackwardReadsInTheSamePass) {
  const auto f = [](const Tensor& a, const Tensor& b) { return tanh(a * b) * sigmoid(b); };
  const Tensor w = ramp(40), a = w.clone().requires_grad_(), b = (w + 0.25).requires_grad_();
  const Tensor y = graph::compile(f, kAll)(a, b);
  EXPECT_EQ(seen().waited, 4);
  EXPECT_EQ(seen().unread, 1);  // the product
  EXPECT_EQ(seen().ran, 1);
  y.backward(ones({40}));
  const Tensor ga = a.grad().clone(), gb = b.grad().clone();
  Tensor(a).set_grad({}), Tensor(b).set_grad({});
  f(a, b).backward(ones({40}));
  expect_same(ga, a.grad()), expect_same(gb, b.grad());
}

TEST_F(Window, GivesConvertedLeavesTheirGradients) {
  const auto f = [](const Tensor& w) {
    Tensor a = w.clone().requires_grad_();
    const Tensor y = tanh(to(a, float16) * to(w, float16));
    y.backward(ones(w.shape(), {.dtype = float16}));
    return a.grad();
  };
  expect_same(graph::compile(f, kAll)(ramp()), f(ramp()));
}

TEST_F(Window, WaitsUntilAValueIsRead) {
  const Tensor x = ramp();
  graph::compile(
      [&] {
        const Tensor y = exp(x) + 1.0, view = y.view({2, 3});
        EXPECT_TRUE(is_promise(y.impl()->storage));
        EXPECT_EQ(y.to_vector<float>()[2], 2.0f);
        EXPECT_FALSE(is_promise(y.impl()->storage));
        EXPECT_EQ(view[0][2].item<float>(), 2.0f);
      },
      kAll)();
  EXPECT_EQ(seen().flushes.at("a value is read"), 1);
}

TEST_F(Window, RunsNothingThatNobodyReads) {
  const Tensor x = ramp();
  graph::compile([&] { exp(x) + 1.0; }, kAll)();
  EXPECT_EQ(seen().waited, 2);
  EXPECT_EQ(seen().unread, 2);
  EXPECT_EQ(seen().ran, 0);
}

TEST_F(Window, ReadsMemoryAsItWasAtTheCall) {
  for (const std::int64_t n : {6, 50000}) {  // copied, lazily shared
    Tensor x = ramp(n);
    const Tensor was = x.clone();
    Tensor y, z;
    graph::compile(
        [&] {
          y = x * 2.0;
          x.data<float>()[0] = 100;  // by a pointer, which no call sees
          z = x * 3.0;
        },
        kAll)();
    expect_same(y, was * 2.0);
    expect_same(z, x * 3.0);
    EXPECT_EQ(x.data<float>()[0], 100.0f);
  }
}

TEST_F(Window, KnowsWritesInPlace) {
  Tensor x = ramp();
  Tensor y, w;
  graph::compile(
      [&] {
        y = x * 2.0;
        x.copy_(zeros({6}));
        w = y + x;
        Tensor part = y.slice(0, 0, 2);
        part.fill_(7.0);
      },
      kAll)();
  EXPECT_EQ(w.to_vector<float>()[5], 3.0f);
  EXPECT_EQ(y.to_vector<float>()[1], 7.0f);
  EXPECT_EQ(y.to_vector<float>()[5], 3.0f);
}

TEST_F(Window, WaitsInPlace) {
  const Tensor x = ramp();
  const auto f = [&] {
    Tensor y = exp(x);
    const Tensor before = y * 2.0, same = y.detach();
    const std::uint32_t version = y.version();
    add_(y, 1.0);
    mul_(y, y);
    EXPECT_EQ(y.version(), version + 2);
    return std::vector{y, before, same + 0.0, same};
  };
  const std::vector<Tensor> want = f(), got = graph::compile(f, kAll)();
  for (std::size_t i = 0; i < want.size(); ++i) expect_same(got[i], want[i]);
  EXPECT_EQ(seen().waited, 5);
  EXPECT_EQ(seen().flushes.size(), 1u);
}

TEST_F(Window, RecordsWritesInPlace) {
  const auto f = [&](Tensor w) {
    Tensor y = w * 2.0;
    add_(y, w);
    tanh_(y);
    (y * y).sum().backward();
    return w.grad();
  };
  expect_same(graph::compile(f, kAll)(ramp().clone().requires_grad_()), f(ramp().clone().requires_grad_()));
}

// A number, a flag, memory from outside, a rebound tensor: what replays have been seen to keep from the first call.
TEST_F(Window, SeesWhatChangedSinceTheLastCall) {
  struct {
    double scale = 2;
    bool adds = false;
    Tensor weight = ramp();
  } self;
  const Tensor x = ramp();
  const auto plain = [&](const Tensor& t) {
    Tensor y = t * self.scale * self.weight;
    return self.adds ? y + self.weight : y;
  };
  auto f = graph::compile(plain, kAll);
  expect_same(f(x), plain(x));
  self.scale = 3;
  expect_same(f(x), plain(x));
  self.adds = true;
  expect_same(f(x), plain(x));
  self.weight.fill_(5.0);
  expect_same(f(x), plain(x));
  self.weight = ramp() + 10.0;
  expect_same(f(x), plain(x));
  const Tensor other = ramp(50).view({5, 10});
  self.weight = ones({5, 10}, {.dtype = float64});
  expect_same(f(other), plain(other));
}

TEST_F(Window, LeavesResultsOfEarlierCallsAlone) {
  const Tensor x = ramp(), x2 = x + 1.0;
  auto f = graph::compile([](const Tensor& t) { return exp(t) * 2.0; }, kAll);
  const Tensor first = f(x), was = first.clone();
  const Tensor second = f(x2);
  expect_same(first, was);
  expect_same(second, exp(x2) * 2.0);
}

TEST_F(Window, HasTheGradientsOfEager) {
  const Tensor x = ramp(40).view({4, 10});
  const auto grads = [&](auto wrap) {
    Tensor w = (ramp(40).view({4, 10}) + 0.25).clone().requires_grad_();
    wrap([&] {
      Tensor loss = (gelu(x * w) * sigmoid(w) + tanh(w * 2.0)).sum();
      loss.backward();
      return loss;
    })();
    return w.grad();
  };
  const Tensor eager = grads([](auto f) { return f; });
  expect_same(grads([](auto f) { return graph::compile(f, kAll); }), eager);
}

TEST_F(Window, RaisesAtTheCallWhatDoesNotFit) {
  const Tensor x = ramp(), y = ramp(5);
  int after = 0;
  const auto f = [&] {
    const Tensor z = exp(x) + y;
    ++after;
    return z;
  };
  const std::string eager = error_of<ShapeError>(f);
  EXPECT_EQ(eager.find("add: expected shapes that broadcast, got [6] and [5]"), 0u) << eager;
  EXPECT_EQ(error_of<ShapeError>(graph::compile(f, kAll)), eager);
  EXPECT_EQ(after, 0);
}

TEST_F(Window, GivesItsValuesAfterAnException) {
  const Tensor x = ramp();
  Tensor kept;
  auto f = graph::compile(
      [&] {
        kept = exp(x) * 2.0;
        throw std::runtime_error("stop");
      },
      kAll);
  EXPECT_THROW(f(), std::runtime_error);
  expect_same(kept, exp(x) * 2.0);
  expect_same(x * 1.0, x);  // and nothing waits any more
}

TEST_F(Window, RefusesSavedValuesThatWereOverwritten) {
  Tensor w = ramp().clone().requires_grad_();
  auto f = graph::compile(
      [&] {
        Tensor y = w * 2.0;
        const Tensor z = exp(y) * y;
        NoGrad no;
        y.fill_(0.0);
        return z.sum();
      },
      kAll);
  Tensor loss = f();
  EXPECT_THROW(loss.backward(), AutogradError);
}

TEST_F(Window, TakesOneInsideOfAnother) {
  const Tensor x = ramp();
  auto inner = graph::compile([](const Tensor& t) { return t * 2.0; }, kAll);
  auto outer = graph::compile([&](const Tensor& t) { return inner(exp(t)) + 1.0; }, kAll);
  expect_same(outer(x), exp(x) * 2.0 + 1.0);
  EXPECT_EQ(seen().ran, 1);
}

TEST_F(Window, LetsATraceBeginInside) {
  const Tensor x = ramp();
  const Tensor y = graph::compile(
      [&] {
        const Tensor a = exp(x);
        const graph::Program p =
            graph::trace([](std::span<const Tensor> in) { return std::vector{in[0] * 2.0}; }, {{a}});
        return graph::run(p, {{a}})[0] + 1.0;
      },
      kAll)();
  expect_same(y, exp(x) * 2.0 + 1.0);
}

TEST_F(Window, GivesOtherThreadsItsValues) {
  const Tensor x = ramp(100);
  const Tensor y = graph::compile(
      [&] {
        const Tensor a = exp(x);
        Tensor b;
        std::thread([&] { b = a.slice(0, 0, 3) + 1.0; }).join();
        std::thread([&] {
          Tensor same = a;
          add_(same, b[0]);
        }).join();
        return a;
      },
      kAll)();
  expect_same(y, exp(x) + (exp(x)[0] + 1.0));
}

TEST_F(Window, LetsThreadsReadAtTheSameTime) {
  const Tensor x = ramp(1000), expected = exp(x) + 1.0;
  graph::compile(
      [&] {
        for (int round = 0; round < 50; ++round) {
          const Tensor a = exp(x) + 1.0;
          std::vector<std::thread> threads;
          std::atomic<int> wrong = 0;
          for (int i = 0; i < 3; ++i) threads.emplace_back([&] { wrong += !equal(a, expected); });
          for (auto& t : threads) t.join();
          EXPECT_EQ(wrong, 0);
        }
      },
      kAll)();
}

TEST_F(Window, DrawsTheNumbersOfEager) {
  const Tensor x = ramp(64);
  const auto f = [&] { return dropout(exp(x) * 2.0, 0.5) + rand({64}) * x; };
  manual_seed(3);
  const Tensor eager = f();
  manual_seed(3);
  expect_same(graph::compile(f, kAll)(), eager);
}

TEST_F(Window, TakesOnlyLargeCallsByDefault) {
  const Tensor x = ramp();
  const Tensor y = graph::compile([&] { return exp(x) + 1.0; })();
  EXPECT_EQ(seen().waited, 0);
  expect_same(y, exp(x) + 1.0);
}

TEST_F(Window, KeepsBytesOfADeadOperand) {
  Tensor y;
  graph::compile(
      [&] {
        Tensor x = ramp(50000) + 0.0;
        Tensor sum = x.sum();  // x has bytes
        y = x * 2.0;
        x = {};
        const Tensor other = zeros({50000});  // which may lie where x was
      },
      kAll)();
  expect_same(y, ramp(50000) * 2.0);
}

}  // namespace
}  // namespace neura::test
