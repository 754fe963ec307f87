#include "tests/on_device/automatic_replay.h"

#include <atomic>
#include <chrono>
#include <cstdio>

#include "neura/cuda/graph.h"
#include "neura/op/launch.h"
#include "tests/cuda/device.h"
#include "tests/on_device/replayed_windows.h"

namespace neura::test {
namespace {

using namespace repeats;

class CudaAutomaticReplay : public CudaTest {
  const Replayed on_;
};
TEST_F(CudaAutomaticReplay, ATrainingStepIsReplayedFromItsThirdTimeOn) {
  expect_training_repeats(kCuda);
  const graph::ReplayCounts c = graph::replay_counts();
  EXPECT_EQ(c.replays, 9) << "the optimizer makes its states in the first step, two are seen";
  EXPECT_LE(c.captures, 3) << "batches are elsewhere in each step";
  EXPECT_GE(c.moved, 8) << "the losses that are kept";
}
TEST_F(CudaAutomaticReplay, ReadsBranchesAndWritesAreWhatTheyWere) { expect_changes_are_seen(kCuda); }
TEST_F(CudaAutomaticReplay, ValuesThatAreNeededEarlyAreThere) { expect_early_values(kCuda); }
TEST_F(CudaAutomaticReplay, AddressesThatAreAskedForAreThere) { expect_addresses_early(kCuda); }
TEST_F(CudaAutomaticReplay, WhatAWindowRunsIsThere) { expect_windows(kCuda); }
TEST_F(CudaAutomaticReplay, OperandsMayBePartsOfMore) { expect_any_storage(kCuda); }
TEST_F(CudaAutomaticReplay, StretchesThatBeginAlikeAreToldApart) { expect_beginnings_are_shared(kCuda); }
TEST_F(CudaAutomaticReplay, AnotherThreadReadsAResultThatWaits) { expect_other_threads_read(kCuda); }
TEST_F(CudaAutomaticReplay, ErrorsAreRaisedWhereTheyWere) { expect_errors(kCuda); }
TEST_F(CudaAutomaticReplay, InPlaceWritesInvalidateWhatAutogradHasSaved) { expect_versions(kCuda); }
TEST_F(CudaAutomaticReplay, CompiledFunctionsAndAccumulationGoOn) { expect_compiled_and_accumulated(kCuda); }

TEST_F(CudaAutomaticReplay, AThousandStepsAreThoseOfAProgramWithout) {
  const auto start = std::chrono::steady_clock::now();
  const auto want = trained(kCuda, false, 1000);
  const auto middle = std::chrono::steady_clock::now();
  const auto got = trained(kCuda, true, 1000);
  const auto end = std::chrono::steady_clock::now();
  expect_equal(got, want);
  const auto us = [](auto t) { return std::chrono::duration<double, std::micro>(t).count() / 1000; };
  std::printf("automatic replay: a step in %.1f us, %.1f us without\n", us(end - middle), us(middle - start));
}

TEST_F(CudaAutomaticReplay, ResultsWhoseAddressIsKnownStayWhereTheyAre) {
  const Tensor x = there(sample({8, 8}));
  std::vector<Tensor> kept;
  std::vector<void*> where;
  const auto f = [&](double a) {
    Tensor y = x * a;
    for (int k = 0; k < 6; ++k) y = tanh(y + 0.5);
    launch_boundary();  // as the end of a step
    return y;
  };
  for (int i = 0; i < 8; ++i) {
    kept.push_back(f(1.0));
    if (i % 2) where.push_back(kept.back().raw_data());
  }
  const Tensor want = back(kept[0]);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    expect_same(back(kept[i]), want);
    if (i % 2) EXPECT_EQ(kept[i].raw_data(), where[i / 2]);
  }
  EXPECT_GT(graph::replay_counts().replays, 2);
}

TEST_F(CudaAutomaticReplay, StreamsAndGraphsOfTheProgramGoOn) {
  const Tensor x = there(sample({32, 32}));
  const auto chain = [&](Tensor y) {
    for (int k = 0; k < 8; ++k) y = sigmoid(matmul(y, x));
    return y;
  };
  const Tensor want = back(chain(x));
  for (int i = 0; i < 6; ++i) {
    const cuda::Stream side;
    side.wait_stream(cuda::current_stream());
    Tensor y;
    {
      const cuda::StreamGuard there(side);
      y = chain(x);
    }
    cuda::current_stream().wait_stream(side);
    cuda::record_stream(y, cuda::current_stream());
    expect_same(back(y), want);
    cuda::Graph graph;
    Tensor z;
    graph.capture([&] { z = chain(x); });
    graph.replay();
    expect_same(back(z), want);
    expect_same(back(chain(x)), want);
  }
}

TEST_F(CudaAutomaticReplay, ThreadsReplayBesideEachOther) {
  const Tensor x = there(sample({16, 16}));
  Tensor y = x;
  for (int k = 0; k < 8; ++k) y = tanh(matmul(y, x));
  const double alone = y.sum().item<double>();
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        Tensor z = x;
        for (int k = 0; k < 8; ++k) z = tanh(matmul(z, x));
        wrong += z.sum().item<double>() != alone;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(graph::replay_counts().replays, 400);
}

}  // namespace
}  // namespace neura::test
