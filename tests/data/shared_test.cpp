#include "neura/data/shared.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "tests/support/close.h"

namespace neura::data {
namespace {

using test::error_of;
using Numbers = std::vector<std::pair<std::int64_t, bool>>;

TEST(SharedBlock, IsSeenByTheProcessThatOpensItsFile) {
  const SharedBlock mine = SharedBlock::create(4096);
  Tensor there = mine.tensor(128, float32, {2, 3});
  const int file = dup(mine.file());
  const pid_t child = fork();
  if (!child) {
    Returns returns;
    const SharedBlock block = SharedBlock::open(file, returns, 5);
    Tensor t = block.tensor(128, float32, {2, 3});
    for (int i = 0; i < 6; ++i) t.data<float>()[i] = float(i);
    _exit(block.size() == 4096 && block.file() == -1 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  close(file);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(there.to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 4, 5}));
}

TEST(SharedBlock, LivesAsLongAsItsTensors) {
  Tensor t;
  {
    const SharedBlock block = SharedBlock::create(4096);
    EXPECT_TRUE(block.idle());
    t = block.tensor(0, int64, {512});
    EXPECT_FALSE(block.idle());
    EXPECT_EQ(block.offset_of(t), 0);
    EXPECT_EQ(block.offset_of(block.tensor(192, uint8, {3})), 192);
    EXPECT_EQ(block.offset_of(Tensor::empty(Spec::dense(uint8, Shape{3}))), -1);
  }
  t.data<std::int64_t>()[511] = 7;
  EXPECT_EQ(t.to_vector<std::int64_t>()[511], 7);
}

TEST(SharedBlock, RefusesTensorsThatEndOutside) {
  const SharedBlock block = SharedBlock::local(256);
  EXPECT_EQ(block.tensor(192, uint8, {64}).numel(), 64);
  EXPECT_EQ(block.tensor(256, float32, {0, 3}).numel(), 0);
  EXPECT_EQ(error_of<ValueError>([&] { block.tensor(192, uint8, {65}); }),
            "DataLoader: expected a tensor within 256 bytes of shared memory, got 65 bytes at 192");
  for (std::size_t offset : {std::size_t{8}, std::size_t{320}, ~std::size_t{63}})
    EXPECT_NE(error_of<ValueError>([&] { block.tensor(offset, uint8, {1}); }), "no error") << offset;
  Returns returns;
  EXPECT_NE(error_of<IoError>([&] { SharedBlock::open(dup(0), returns, 1); }), "no error");
}

TEST(SharedBlock, ReturnsWithItsLastTensorOnce) {
  Returns returns;
  const SharedBlock made = SharedBlock::create(4096);
  const SharedBlock block = SharedBlock::open(dup(made.file()), returns, 3);
  for (int round = 0; round < 3; ++round) {
    Tensor a = block.tensor(0, uint8, {10}), b = a;
    const Tensor view = a.select(0, 2);
    a = b = Tensor();
    EXPECT_TRUE(returns.take().empty());
    const_cast<Tensor&>(view) = Tensor();
    EXPECT_EQ(returns.take(), (Numbers{{3, true}}));
    EXPECT_TRUE(returns.take().empty());
  }
}

TEST(SharedBlock, IsNotFilledAgainAfterAFork) {
  Returns returns;
  const SharedBlock made = SharedBlock::create(4096);
  const SharedBlock block = SharedBlock::open(dup(made.file()), returns, 3);
  Tensor t = block.tensor(0, uint8, {10});
  const pid_t child = fork();
  if (!child) _exit(0);
  waitpid(child, nullptr, 0);
  t = Tensor();
  EXPECT_EQ(returns.take(), (Numbers{{3, false}}));
}

TEST(SharedBlock, TensorsOutliveWhoeverTakesTheReturns) {
  Tensor kept, waiting;
  {
    Returns returns;
    const SharedBlock made = SharedBlock::create(4096);
    kept = SharedBlock::open(dup(made.file()), returns, 1).tensor(0, uint8, {1});
    waiting = SharedBlock::open(dup(made.file()), returns, 2).tensor(0, uint8, {1});
    waiting = Tensor();  // stays in the stack until that goes
  }
  kept.data<std::uint8_t>()[0] = 9;
  EXPECT_EQ(kept.to_vector<std::uint8_t>()[0], 9);
}

TEST(SharedBlock, ComesBackFromManyThreads) {
  Returns returns;
  std::vector<SharedBlock> blocks;
  const SharedBlock made = SharedBlock::create(4096);
  for (int i = 0; i < 16; ++i) blocks.push_back(SharedBlock::open(dup(made.file()), returns, i));
  std::vector<int> seen(16);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> threads;
    for (int w = 0; w < 4; ++w) {
      std::vector<Tensor> mine;
      for (const SharedBlock& b : blocks) mine.push_back(b.tensor(std::size_t(w) * 64, uint8, {8}));
      threads.emplace_back([mine = std::move(mine)]() mutable { mine.clear(); });
    }
    for (std::thread& t : threads) t.join();
    for (const auto& [number, again] : returns.take()) ++seen[std::size_t(number)];
  }
  for (int n : seen) EXPECT_TRUE(n >= 20) << n;  // tensors are made while others go: a block may come back early
}

}  // namespace
}  // namespace neura::data
