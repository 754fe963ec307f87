// lazy_clone: bytes that two storages share until one of them is written. That every operation which writes moves them
// first is shown by the contract tests (ALazyCloneKeepsItsValues).
#include <thread>

#include "neura/core/random.h"
#include "neura/ops/nn/embedding.h"
#include "neura/ops/nn/norm.h"
#include "neura/ops/random/random.h"
#include "tests/support/close.h"
#include "tests/support/engine.h"

namespace neura {
namespace {

using test::expect_same;

const Shape kBig = {64, 100};
Tensor big(double value) { return full(kBig, value); }
bool shared(const Tensor& a, const Tensor& b) { return a.const_raw_data() == b.const_raw_data(); }
bool all_are(const Tensor& t, double value) {
  const Tensor difference = sub(t.detach(), value);
  return amax(abs(difference)).item<double>() == 0;
}

TEST(LazyClone, SharesBytesUntilEitherIsWritten) {
  for (const bool first : {true, false}) {
    Tensor x = big(1), y = lazy_clone(x);
    EXPECT_TRUE(shared(x, y));
    EXPECT_FALSE(x.is_same(y));
    Tensor& written = first ? x : y;
    const void* before = x.const_raw_data();
    written += 1;
    EXPECT_TRUE(all_are(x, first ? 2 : 1) && all_are(y, first ? 1 : 2));
    EXPECT_NE(written.const_raw_data(), before);
    EXPECT_EQ((first ? y : x).const_raw_data(), before);
    EXPECT_EQ(x.version(), first ? 1u : 0u);  // each side has a version of its own
    EXPECT_EQ(y.version(), first ? 0u : 1u);
  }
}

TEST(LazyClone, TheLastSideWritesWithoutACopy) {
  Tensor x = big(1), y = lazy_clone(x), z = lazy_clone(y);
  const void* before = x.const_raw_data();
  EXPECT_TRUE(shared(x, y) && shared(y, z));
  x = {};
  y += 1;
  EXPECT_NE(y.const_raw_data(), before);
  const auto blocks = memory::live_blocks();
  z += 2;
  EXPECT_EQ(z.const_raw_data(), before);
  EXPECT_LE(memory::live_blocks(), blocks);
  EXPECT_TRUE(all_are(y, 2) && all_are(z, 3));
  EXPECT_TRUE(shared(z, lazy_clone(z)));  // and may be shared again
}

TEST(LazyClone, ViewsAndDetachedTensorsGoWithTheirSide) {
  Tensor x = big(1), row = x.select(0, 5), plain = x.detach(), y = lazy_clone(x), column = y.select(1, 7);
  row.fill_(2);  // through a view: the base and what was detached from it see it, the clone does not
  EXPECT_TRUE(all_are(x.select(0, 5), 2) && all_are(plain.select(0, 5), 2) && all_are(y, 1));
  plain.select(0, 6).fill_(3);  // detach() shares bytes and version: documented at Tensor::detach
  EXPECT_TRUE(all_are(x.select(0, 6), 3) && all_are(y, 1) && x.version() == plain.version());
  column += 4;
  EXPECT_TRUE(all_are(y.select(1, 7), 5) && all_are(x.select(0, 7), 1));
}

TEST(LazyClone, SavedValuesAreProtected) {
  Tensor x = big(3), w = big(2).requires_grad_(), y = lazy_clone(x);
  Tensor z = sum(w * y);
  x += 1;  // the other side: y's value is still there
  z.backward({}, true);
  EXPECT_TRUE(all_are(w.grad(), 3));
  y += 1;
  EXPECT_ERROR(InplaceError, "add_ changed it in place", z.backward());
  Tensor a = big(3).requires_grad_(), b = a * 1;
  Tensor c = lazy_clone(b);
  mul_(c, c);  // reads what it overwrites: the saved value is a copy of its own
  sum(c).backward();
  EXPECT_TRUE(all_are(a.grad(), 6) && all_are(b, 3));
}

TEST(LazyClone, HasTheGradientOfAClone) {
  Tensor x = big(0.5).requires_grad_(), y = lazy_clone(x);
  EXPECT_STREQ(y.grad_fn(), "lazy_clone");
  EXPECT_TRUE(shared(x, y));
  Tensor g = grad(sum(y * y * y), x, {}, {.create_graph = true});
  EXPECT_TRUE(all_are(g, 0.75));
  EXPECT_TRUE(all_are(grad(sum(g), x), 3));
  mul_(y, 2);  // no leaf: may be written while recording
  sum(y).backward();
  EXPECT_TRUE(all_are(x.grad(), 2) && all_are(x, 0.5));
  NoGrad off;
  EXPECT_FALSE(lazy_clone(x).requires_grad());
}

TEST(LazyClone, CopiesAtOnceWhereAWriteCouldNotBeSeen) {
  const Tensor small = full({8}, 1.0), x = big(1);
  EXPECT_FALSE(shared(small, lazy_clone(small)));
  EXPECT_FALSE(shared(x.select(0, 0), lazy_clone(x.select(0, 0))));  // a window
  const Tensor turned = x.t(), y = lazy_clone(turned);
  EXPECT_TRUE(shared(turned, y) && y.strides() == turned.strides());
  Tensor pointed = big(1);
  float* p = pointed.data<float>();
  const Tensor copy = lazy_clone(pointed);
  p[3] = 9;
  EXPECT_TRUE(all_are(copy, 1));
  static float foreign[6400];
  const Spec spec = Spec::dense(float32, kBig);
  Storage* s = Storage::wrap(
      foreign, sizeof foreign, [](Storage*) {}, nullptr);
  const Tensor wrapped(Ref<TensorImpl>::adopt(TensorImpl::make(spec, s)));
  EXPECT_FALSE(shared(wrapped, lazy_clone(wrapped)));
}

TEST(LazyClone, APointerThatMayBeWrittenThroughIsToBytesOfItsOwn) {
  const Tensor x = big(1), y = lazy_clone(x), z = lazy_clone(x);
  y.data<float>()[0] = 5;
  static_cast<float*>(z.raw_data())[1] = 6;
  EXPECT_TRUE(all_are(x, 1));
  EXPECT_EQ(y.const_data<float>()[0], 5);
  EXPECT_EQ(z.const_data<float>()[1], 6);
}

TEST(LazyClone, WritesThatNoContractTestHas) {
  const Tensor ids = arange(0, 64, 1, {.dtype = int64});
  const auto keeps = [&](auto&& write) {
    Tensor x = big(2), y = lazy_clone(x);
    ASSERT_TRUE(shared(x, y));
    write(x);
    EXPECT_TRUE(all_are(y, 2));
    EXPECT_FALSE(all_are(x, 2));
  };
  keeps([](Tensor& x) { normal_(x); });
  keeps([](Tensor& x) { uniform_(x); });
  keeps([](Tensor& x) { log_normal_(x); });
  keeps([](Tensor& x) { cauchy_(x); });
  keeps([](Tensor& x) { exponential_(x); });
  keeps([](Tensor& x) { geometric_(x, 0.5); });
  keeps([](Tensor& x) { bernoulli_(x); });
  keeps([](Tensor& x) { random_(x, 100); });
  keeps([&](Tensor& x) { embedding(ids, x, {.max_norm = 0.5}); });
  keeps([](Tensor& x) { matmul_out(x, full({64, 3}, 1.0), full({3, 100}, 1.0)); });
  keeps([](Tensor& x) { sum_out(x, full({2, 64, 100}, 2.0), 0); });
  Tensor mean = full({6400}, 2.0), kept = lazy_clone(mean);
  batch_norm(full({3, 6400}, 1.0), mean, full({6400}, 1.0), {}, {}, {.training = true});
  EXPECT_TRUE(all_are(kept, 2) && all_are(mean, 1.9f));
}

TEST(LazyClone, LeavesThatGetTheSameGradientShareItUntilOneIsWritten) {
  Tensor a = big(1).requires_grad_(), b = big(2).requires_grad_();
  (a + b).backward(full(kBig, 4.0));
  EXPECT_TRUE(shared(a.grad(), b.grad()));
  Tensor ga = a.grad();
  ga += 1;
  EXPECT_TRUE(all_are(a.grad(), 5) && all_are(b.grad(), 4));
  (a + b).backward(full(kBig, 1.0));
  EXPECT_TRUE(all_are(a.grad(), 6) && all_are(b.grad(), 5));
}

TEST(LazyClone, NoBlockIsLost) {
  const auto round = [] {
    Tensor x = big(1), y = lazy_clone(x), z = lazy_clone(x), w = lazy_clone(z);
    x += 1, w += 1;
    Tensor u = lazy_clone(x);
    x = {};
    u += 1;
    Tensor huge = full({1 << 19}, 1.0), lazy = lazy_clone(huge);  // 2 MiB: pages of its own
    lazy += 1;
    return all_are(z, 1) && all_are(u, 3) && all_are(huge, 1) && all_are(lazy, 2);
  };
  EXPECT_TRUE(round());
  const auto blocks = memory::live_blocks();
  const auto pages = memory::pages().live;
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(round());
  EXPECT_EQ(memory::live_blocks(), blocks);
  EXPECT_EQ(memory::pages().live, pages);
}

TEST(LazyClone, ThreadsReadAndWriteTheirOwnSide) {
  for (int round = 0; round < 30; ++round) {
    Tensor x = big(1);
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([mine = lazy_clone(x), t, &wrong]() mutable {
        const Tensor again = lazy_clone(mine);
        if (t != 1) mine += t + 1;
        wrong += !all_are(again, 1) + !all_are(mine, t != 1 ? t + 2 : 1);
      });
    mul_(x, 7);
    wrong += !all_are(x, 7);
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(wrong, 0);
  }
}

TEST(LazyClone, ThreadsWriteRowsOfOneTensor) {  // whoever comes first moves the bytes, for all
  for (int round = 0; round < 30; ++round) {
    Tensor x = big(1);
    const Tensor y = lazy_clone(x);
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) threads.emplace_back([row = x.select(0, t), t]() mutable { row.fill_(t + 5); });
    for (std::thread& t : threads) t.join();
    EXPECT_TRUE(all_are(y, 1));
    for (int t = 0; t < 3; ++t) EXPECT_TRUE(all_are(x.select(0, t), t + 5));
  }
}

}  // namespace
}  // namespace neura
