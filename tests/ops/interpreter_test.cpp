// What the house owes the language that calls it: the lock is let go for long work alone, and the last handle of a
// tensor whose object the language keeps is handed over once, whatever the threads do.
#include "neura/core/interpreter.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "neura/autograd/autograd.h"
#include "neura/core/warning.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/sort/sort.h"

namespace neura {
namespace {

struct Fake {
  std::mutex lock;
  std::vector<TensorImpl*> handles;
  int unlocked = 0, locked = 0;
  std::string said;
} fake;
const Interpreter kFake{[]() -> void* { return ++fake.unlocked, &fake; }, [](void*) { ++fake.locked; },
                        [](TensorImpl* t) {
                          std::lock_guard held(fake.lock);
                          fake.handles.push_back(t);
                        },
                        [](const char* text) { fake.said += text; }};

struct InterpreterTest : testing::Test {
  InterpreterTest() { interpreter = &kFake, fake.unlocked = fake.locked = 0; }
  ~InterpreterTest() override { interpreter = nullptr; }
  template <class F> static int unlocks(F&& work) {
    const int before = fake.unlocked;
    work();
    EXPECT_EQ(fake.unlocked, fake.locked);
    return fake.unlocked - before;
  }
};

TEST_F(InterpreterTest, LongWorkLetsGoOfTheLockAndSmallWorkDoesNot) {
  const Tensor small = ones({8}), square = ones({8, 8}), large = ones({1 << 18}), matrix = ones({256, 256});
  Tensor out = zeros({1 << 18});
  EXPECT_EQ(unlocks([&] { small + small; }), 0);
  EXPECT_EQ(unlocks([&] { sum(small), matmul(square, square), sort(small), small[2]; }), 0);
  EXPECT_EQ(unlocks([&] { large + large; }), 1);
  EXPECT_EQ(unlocks([&] { add_(out, large); }), 1);
  EXPECT_EQ(unlocks([&] { mul_out(out, large, 2); }), 1);
  EXPECT_EQ(unlocks([&] { sum(large); }), 1);
  EXPECT_EQ(unlocks([&] { matmul(matrix, matrix); }), 1);
  EXPECT_EQ(unlocks([&] { sort(large); }), 1);
  EXPECT_EQ(unlocks([&] { zeros({1 << 18}); }), 1);
  EXPECT_EQ(unlocks([&] { large.view({512, 512}); }), 0);
}

TEST_F(InterpreterTest, HearsEachWarning) {
  fake.said.clear();
  warn("once, "), warn("twice, "), warn("twice");
  EXPECT_EQ(fake.said, "once, twice, twice");
}

TEST_F(InterpreterTest, BackwardAndErrorsTakeTheLockAgain) {
  Tensor x = ones({8}).requires_grad_();
  const Tensor y = sum(x * x);
  EXPECT_GE(unlocks([&] { y.backward(); }), 1);
  const Tensor large = ones({1 << 18});
  EXPECT_EQ(unlocks([&] { EXPECT_THROW(large.backward(), AutogradError); }), 1);
}

TEST_F(InterpreterTest, ThreadsHandTheLastHandleOverOnce) {
  for (int round = 0; round < 300; ++round) {
    Tensor t = ones({4});
    TensorImpl* p = t.impl();
    p->hosted = true;
    std::thread first([h = t]() mutable { h = {}; });
    std::thread second([h = t]() mutable {
      const Tensor again = h;
      h = {};
    });
    t = {};
    first.join(), second.join();
    ASSERT_GE(fake.handles.size(), 1u);
    EXPECT_EQ(p->count.load(), fake.handles.size());  // each is still counted
    EXPECT_EQ(p->spec.numel, 4);
    int freed = 0;
    for (TensorImpl* handle : std::exchange(fake.handles, {}))
      if (handle->count.fetch_sub(1) == 1) TensorImpl::free(handle), ++freed;
    EXPECT_EQ(freed, 1);
  }
}

}  // namespace
}  // namespace neura
