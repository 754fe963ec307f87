// CUDA graphs: replays are what eager mode computes, random numbers continue, and what cannot be captured is refused.
#include "neura/cuda/graph.h"

#include <chrono>
#include <functional>
#include <thread>

#include "neura/autograd/autograd.h"
#include "neura/cuda/memory.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/loss/loss.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"
#include "tests/cuda/device.h"

namespace neura::test {
namespace {

using CudaGraph = CudaTest;

TEST_F(CudaGraph, ReplaysWithNewInputs) {
  Tensor x = zeros({100, 50}, {.device = kCuda});
  const Tensor w = there(randn({50, 20}));
  Tensor y;
  cuda::Graph graph;
  EXPECT_FALSE(graph.captured());
  graph.capture([&] {
    EXPECT_TRUE(cuda::is_current_stream_capturing());
    y = tanh(matmul(x * 2 + 1, w)).sum(0);
  });
  EXPECT_FALSE(cuda::is_current_stream_capturing());
  for (int i = 0; i < 5; ++i) {
    const Tensor next = there(randn({100, 50}));
    x.copy_(next), graph.replay();
    expect_same(back(y), back(tanh(matmul(next * 2 + 1, w)).sum(0)));
  }
}

// One step of gradient descent, in place.
struct Step {
  std::vector<Tensor> weights;
  Tensor x, target, loss;
  Step() {
    manual_seed(1);
    for (const Shape& s : {Shape{32, 64}, Shape{64}, Shape{64, 10}, Shape{10}})
      weights.push_back(there(randn(s) * 0.1).requires_grad_());
    x = zeros({16, 32}, {.device = kCuda}), target = zeros({16}, {.dtype = int64, .device = kCuda});
  }
  void run() {
    for (Tensor& w : weights) w.set_grad({});
    const Tensor h = relu(matmul(x, weights[0]) + weights[1]);
    loss = cross_entropy(matmul(h, weights[2]) + weights[3], target);
    loss.backward();
    const NoGrad off;
    for (Tensor& w : weights) w -= w.grad() * 0.5;
  }
};

TEST_F(CudaGraph, ATrainingStepReplaysAsItRuns) {
  Step eager, captured;
  captured.run();  // once, so that handles and kernels are there
  for (std::size_t i = 0; i < 4; ++i) {
    const NoGrad off;
    captured.weights[i].copy_(eager.weights[i]);
  }
  cuda::Graph graph;
  graph.capture([&] { captured.run(); });
  manual_seed(5);
  for (int i = 0; i < 20; ++i) {
    const Tensor x = there(randn({16, 32})), target = there(randint(10, {16}));
    eager.x.copy_(x), eager.target.copy_(target), eager.run();
    captured.x.copy_(x), captured.target.copy_(target), graph.replay();
    expect_close(back(captured.loss.detach()), back(eager.loss.detach()), tolerance(float32));
  }
  for (std::size_t i = 0; i < 4; ++i)
    expect_close(back(captured.weights[i].detach()), back(eager.weights[i].detach()), tolerance(float32).times(4));
  EXPECT_LT(eager.loss.item<float>(), 10);
}

TEST_F(CudaGraph, AStepOfManyLaunchesIsFasterAndTakesNoMemory) {
  Step step;
  for (int i = 0; i < 3; ++i) step.run();
  cuda::synchronize();
  const auto time = [](const std::function<void()>& f) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 100; ++i) f();
    cuda::synchronize();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / 100;
  };
  const std::int64_t misses = cuda::memory_stats().misses;
  const double eager = time([&] { step.run(); });
  EXPECT_EQ(cuda::memory_stats().misses, misses) << "after the first steps all memory is what was kept";
  cuda::Graph graph;
  graph.capture([&] { step.run(); });
  graph.replay();
  const std::int64_t allocations = cuda::memory_stats().allocations;
  const double replayed = time([&] { graph.replay(); });
  EXPECT_EQ(cuda::memory_stats().allocations, allocations);
  EXPECT_LT(replayed, eager);
  RecordProperty("eager_us", int(eager)), RecordProperty("graph_us", int(replayed));
}

TEST_F(CudaGraph, ABadIndexIsReportedAfterAReplay) {
  const Tensor x = there(arange(10, {.dtype = float32}));
  Tensor at = zeros({3}, {.dtype = int64, .device = kCuda}), y;
  cuda::Graph graph;
  graph.capture([&] { y = index_select(x, 0, at); });
  graph.replay();
  cuda::synchronize();
  at.fill_(10);
  graph.replay();
  EXPECT_EQ(error_of<IndexError>([] { cuda::synchronize(); }), "index_select: expected indices from 0 to 9, got 10");
  at.fill_(7), graph.replay();
  expect_same(back(y), full({3}, 7.0));
}

TEST_F(CudaGraph, RandomNumbersGoOnAsWithoutOne) {
  const auto draw = [] {
    return std::vector<Tensor>{rand({1000}, {.device = kCuda}), randn({500}, {.device = kCuda})};
  };
  std::vector<Tensor> got;
  cuda::Graph graph;
  manual_seed(3);
  graph.capture([&] { got = draw(); });
  for (const std::uint64_t seed : {3, 4}) {  // also of another seed than the capture's
    manual_seed(seed);
    std::vector<std::vector<Tensor>> want;
    for (int i = 0; i < 4; ++i) {
      want.push_back(draw());
      if (i == 1) rand({3}, {.device = kCuda});
    }
    manual_seed(seed);
    for (int i = 0; i < 4; ++i) {
      graph.replay();
      for (std::size_t k = 0; k < 2; ++k) expect_same(back(got[k]), back(want[std::size_t(i)][k]));
      if (i == 1) rand({3}, {.device = kCuda});
    }
  }
}

TEST_F(CudaGraph, WhatWaitsIsRefusedAndTheProcessLivesOn) {
  const Tensor x = ones({10}, {.device = kCuda}), h = ones({10});
  Tensor p = cuda::pin_memory(h);
  cuda::Graph graph;
  const auto refused = [&](const std::function<void()>& f) {
    Tensor y;
    const std::string said = error_of<CudaError>([&] {
      graph.capture([&] {
        y = x * 2;
        f();
      });
    });
    EXPECT_FALSE(graph.captured());
    EXPECT_FALSE(cuda::is_current_stream_capturing());
    expect_same(back(x * 3), full({10}, 3.0));
    return said;
  };
  const std::string reads =
      ": expected nothing that waits for the device or reads its values while a graph is captured, got ";
  const std::string host = ": expected a copy from or to pinned memory while a graph is captured";
  EXPECT_EQ(refused([&] { x.sum().item<float>(); }).find("to_device" + host), 0u);
  EXPECT_EQ(refused([&] { x.to("cpu"); }).find("to_device" + host), 0u);
  EXPECT_EQ(refused([&] { h.to(kCuda); }).find("to_device" + host), 0u);
  EXPECT_EQ(refused([&] { p.to(kCuda); }).find("to_device" + reads + "a copy from the cpu"), 0u);
  EXPECT_EQ(refused([] { cuda::synchronize(); }).find("synchronize" + reads + "a wait"), 0u);
  EXPECT_EQ(refused([] { cuda::current_stream().synchronize(); }).find("synchronize" + reads + "a wait"), 0u);
  EXPECT_NE(refused([] {
              cuda::Graph inner;
              inner.capture([] {});
            }).find("expected no other capture in this thread"),
            std::string::npos);
  EXPECT_EQ(error_of<ValueError>([&] { graph.replay(); }),
            "replay: expected a graph with a capture, got one without; capture first");
  EXPECT_EQ(error_of<CudaError>([&] {
              graph.capture_begin();
            }).find("capture_begin: expected another stream than the default one"),
            0u);
  Tensor y;
  graph.capture([&] { y = to(p, kCuda, true) + x; });  // from pinned memory: each replay reads it again
  p.fill_(5.0), graph.replay();
  expect_same(back(y), full({10}, 6.0));
  EXPECT_THROW(graph.capture([] {}), ValueError);
  graph.reset();
  graph.capture([&] { y = x + 7; });
  graph.replay();
  expect_same(back(y), full({10}, 8.0));
}

TEST_F(CudaGraph, KeepsItsMemoryAndGivesItBack) {
  cuda::empty_cache();
  const Tensor x = ones({1 << 20}, {.device = kCuda});
  const cuda::MemoryStats before = cuda::memory_stats();
  {
    Tensor y;
    cuda::Graph graph;
    graph.capture([&] {
      Tensor t = x;
      for (int i = 0; i < 10; ++i) t = t + 1;  // what is let go of in a capture is used again in it
      y = t;
    });
    const std::size_t private_pool = cuda::memory_stats().reserved - before.reserved;
    EXPECT_GT(private_pool, 0u);
    EXPECT_LE(private_pool, std::size_t{24} << 20);
    cuda::empty_cache();  // takes nothing from a graph
    std::vector<Tensor> others;
    for (int i = 0; i < 10; ++i) others.push_back(full({1 << 20}, -1.0, {.device = kCuda}));
    graph.replay();
    expect_same(back(y), full({1 << 20}, 11.0));
    for (const Tensor& o : others) expect_same(back(o), full({1 << 20}, -1.0));

    cuda::Graph second;  // in turns with the first, in the same memory
    Tensor z;
    second.capture([&] { z = y * 2; }, graph.pool());
    EXPECT_EQ(second.pool(), graph.pool());
    graph.replay(), second.replay();
    expect_same(back(z), full({1 << 20}, 22.0));
  }
  cuda::empty_cache();
  EXPECT_EQ(cuda::memory_stats().allocated, before.allocated);
  EXPECT_EQ(cuda::memory_stats().reserved, before.reserved);
}

TEST_F(CudaGraph, HooksRunBeforeEachReplay) {
  Tensor number = zeros({}, {.device = kCuda}), y;
  int calls = 0;
  cuda::Graph graph;
  graph.capture([&] {
    cuda::on_replay([&] { number.fill_(double(++calls)); });
    y = number * 10;
  });
  EXPECT_EQ(calls, 0);
  for (int i = 1; i <= 3; ++i) {
    const cuda::StreamGuard on(i == 2 ? cuda::Stream(kCuda) : cuda::current_stream());
    graph.replay();
    EXPECT_EQ(back(y).item<double>(), 10.0 * i);
  }
  EXPECT_THROW(cuda::on_replay([] {}), ValueError);
}

TEST_F(CudaGraph, StreamsInsideForkAndJoin) {
  const Tensor x = ones({1000}, {.device = kCuda});
  const cuda::Stream side(kCuda);
  Tensor a, b, y;
  cuda::Graph graph;
  graph.capture([&] {
    const cuda::Stream own = cuda::current_stream();
    side.wait_stream(own);
    {
      const cuda::StreamGuard on(side);
      a = x * 2;
    }
    b = x * 3;
    own.wait_stream(side);
    y = a + b;
  });
  graph.replay();
  expect_same(back(y), full({1000}, 5.0));
}

TEST_F(CudaGraph, AnotherThreadWorksOnMeanwhile) {
  const Tensor x = ones({1000}, {.device = kCuda});
  Tensor y;
  cuda::Graph graph;
  graph.capture([&] {
    y = x + 1;
    std::thread([] {
      Tensor t = zeros({100}, {.device = kCuda});
      for (int i = 0; i < 50; ++i) t += 1.0;
      EXPECT_EQ(t.sum().item<double>(), 5000);
      cuda::synchronize();
      cuda::empty_cache();
    }).join();
    y = y * 2;
  });
  graph.replay();
  expect_same(back(y), full({1000}, 4.0));
}

}  // namespace
}  // namespace neura::test
