// Arenas: what is cut from one, what is not, and what becomes of tensors that outlive their scope.
#include "neura/core/arena.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

#include "neura/autograd/autograd.h"
#include "neura/core/memory.h"
#include "neura/core/storage.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace neura {
namespace {

using test::error_of;
constexpr std::size_t kMiB = std::size_t{1} << 20;
const char* bytes_of(const Tensor& t) { return static_cast<const char*>(t.impl()->storage->data); }

TEST(Arena, CutsTensorsOneBehindTheOtherAndAgainInTheNextScope) {
  Arena arena(kMiB);
  const char* first = nullptr;
  for (const std::int64_t n : {10000, 5001, 20000}) {
    const ArenaScope scope(arena);
    const Tensor x = full({n}, 1.0), y = x + 1, small = zeros({10});
    if (!first) first = bytes_of(x);
    EXPECT_EQ(bytes_of(x), first);
    EXPECT_EQ(bytes_of(y), first + x.impl()->storage->capacity);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes_of(y)) % 64, 0u);
    EXPECT_GE(x.impl()->storage->capacity, x.nbytes());
    EXPECT_EQ(arena.stats().used, 2 * x.impl()->storage->capacity);  // the small one has lists of its own
    EXPECT_EQ(y.to_vector<float>(), std::vector<float>(std::size_t(n), 2));
  }
  const ArenaStats s = arena.stats();
  EXPECT_EQ(s.bytes, kMiB);
  EXPECT_EQ(s.used, 0u);
  EXPECT_EQ(s.peak, 160000u);
  EXPECT_EQ(s.cut, 6);
  EXPECT_EQ(s.missed + s.escaped, 0);
}

TEST(Arena, WhatDoesNotFitComesFromElsewhere) {
  Arena arena(101000);
  const ArenaScope scope(arena);
  const Tensor x = full({20000}, 3.0), large = x + x, y = zeros({5000});
  EXPECT_EQ(arena.stats().cut, 2);
  EXPECT_EQ(arena.stats().missed, 1);
  EXPECT_EQ(arena.stats().peak, 80000u + 80000u + 20032u);
  EXPECT_EQ(sum(large).item<float>(), 120000);
  // Addresses of 32 bits have no such size.
  using Refusal = std::conditional_t<sizeof(void*) == 8, OutOfMemoryError, ValueError>;
  EXPECT_THROW(zeros({std::int64_t{1} << 50}), Refusal);
}

TEST(Arena, TensorsThatOutliveTheirScopeStayWhatTheyAre) {
  const std::size_t before = memory_allocated();
  {
    Tensor kept, copied;
    {
      Arena arena(kMiB);
      for (int round = 1; round <= 3; ++round) {
        const ArenaScope scope(arena);
        const Tensor x = full({10000}, double(round)), y = x * 2;
        if (round == 1) kept = y.slice(0, 0, 7);  // a view
        const NoArena outside;
        copied = y.clone();
      }
      EXPECT_EQ(arena.stats().escaped, 1);
      EXPECT_EQ(arena.stats().cut, 6);
    }
    EXPECT_EQ(kept.to_vector<float>(), std::vector<float>(7, 2));
    EXPECT_EQ(sum(copied).item<float>(), 60000);
    EXPECT_GE(memory_allocated(), before + kMiB);  // the block of `kept`
    kept = {};
    EXPECT_LT(memory_allocated(), before + kMiB);
  }
  EXPECT_EQ(memory_allocated(), before);
}

TEST(Arena, TakesItsBlockFromTheCacheAndGivesItBack) {
  const Tensor small = zeros({8});  // small tensors have pages of their own, which the first one takes
  empty_cache();
  const std::size_t before = memory_allocated(), reserved = memory_reserved();
  {
    Arena arena(6 * kMiB);
    const std::size_t with = memory_allocated();
    EXPECT_EQ(with, before + 6 * kMiB);
    const ArenaScope scope(arena);
    const Tensor x = zeros({1 << 20});
    EXPECT_LT(memory_allocated(), with + 4096);
  }
  EXPECT_EQ(memory_allocated(), before);
  EXPECT_EQ(memory_reserved(), reserved + 6 * kMiB);  // kept, for this one
  const Arena again(6 * kMiB);
  EXPECT_EQ(memory_reserved(), reserved + 6 * kMiB);
}

TEST(Arena, ScopesNestAndBelongToTheirThread) {
  Arena outer(kMiB), inner(kMiB);
  const ArenaScope first(outer);
  const Tensor a = zeros({5000});
  {
    const ArenaScope second(inner);
    const Tensor b = zeros({5000});
    const NoArena none;
    const Tensor c = zeros({5000});
  }
  std::thread([] { const Tensor d = zeros({5000}); }).join();
  const Tensor e = zeros({5000});
  EXPECT_EQ(outer.stats().cut, 2);
  EXPECT_EQ(inner.stats().cut, 1);
}

TEST(Arena, RefusesWhatItCannotKeep) {
  EXPECT_EQ(error_of<ValueError>([] { Arena{0}; }), "Arena: expected a size of at least one byte, got 0");
  EXPECT_THROW(Arena{SIZE_MAX}, OutOfMemoryError);
  Arena arena(kMiB);
  {
    const ArenaScope scope(arena);
    EXPECT_EQ(error_of<ValueError>([&] { const ArenaScope twice(arena); }),
              "ArenaScope: expected an arena that is in no scope, got one that is; give each its own");
    const Tensor x = zeros({5000});  // the scope is what it was
    EXPECT_EQ(arena.stats().cut, 1);
  }
  const ArenaScope later(arena);
}

TEST(Arena, GradientsViewsAndWritesAreAsEver) {
  const Tensor w = test::sample({80, 70}), x = test::sample({90, 80}, float32, {.seed = 2});
  const auto step = [&] {
    Tensor leaf = w.clone().requires_grad_(), h = matmul(x, leaf);
    h = h.clone(), add_(h, 1);
    Tensor lazy = lazy_clone(h);
    lazy.select(0, 0).zero_();
    sum(h * h + lazy.detach()).backward();
    return std::pair{h.detach(), leaf.grad()};
  };
  const auto [want, want_grad] = step();
  Arena arena(kMiB);
  for (int round = 0; round < 3; ++round) {
    const ArenaScope scope(arena);
    const auto [got, got_grad] = step();
    test::expect_same(got, want);
    test::expect_same(got_grad, want_grad);
  }
  EXPECT_GT(arena.stats().cut, 15);
  EXPECT_EQ(arena.stats().missed + arena.stats().escaped, 0);
}

// Each thread has its arena; tensors end on another thread.
TEST(Arena, ThreadsEndEachOthersTensors) {
  std::vector<Tensor> made(4);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&made, i] {
      Arena arena(kMiB);
      for (int round = 0; round < 50; ++round) {
        const ArenaScope scope(arena);
        const Tensor x = full({6000}, double(i));
        if (round == 49) made[std::size_t(i)] = x + x;
      }
    });
  for (std::thread& t : threads) t.join();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(made[std::size_t(i)].select(0, 5999).item<float>(), 2 * float(i));
}

#if defined(__SANITIZE_ADDRESS__)
TEST(Arena, BytesAreClosedAfterTheirScope) {
  Arena arena(kMiB);
  const char* data = nullptr;
  {
    const ArenaScope scope(arena);
    const Tensor x = zeros({5000});
    data = bytes_of(x);
    EXPECT_FALSE(__asan_address_is_poisoned(data));
    EXPECT_TRUE(__asan_address_is_poisoned(data + 20032));  // not cut yet
  }
  EXPECT_TRUE(__asan_address_is_poisoned(data));
}
#endif

}  // namespace
}  // namespace neura
