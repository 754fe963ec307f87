// Streams, events and copies that do not wait, on a real device.
#include "neura/cuda/stream.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>

#include "neura/cuda/graph.h"
#include "neura/cuda/memory.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/create/to.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"
#include "tests/cuda/device.h"

namespace neura::test {
namespace {

// Some tens of milliseconds of work on the current stream.
Tensor busy() {
  static const Tensor w = [] {
    const std::int64_t n = sanitized() ? 256 : 4096;
    Tensor made = full({n, n}, 1.0 / double(n), {.device = kCuda});
    cuda::synchronize();  // for whatever stream
    return made;
  }();
  Tensor x = w;
  for (int i = 0; i < 20; ++i) x = matmul(x, w);
  return x;
}

using CudaStreams = CudaTest;

TEST_F(CudaStreams, WorkGoesToTheCurrentOneAndDoesNotWaitForOthers) {
  if (sanitized()) GTEST_SKIP() << kOneByOne;
  const cuda::Stream own = cuda::current_stream(), side(kCuda);
  EXPECT_TRUE(own == cuda::default_stream() && own != side && side.query());
  busy(), full({1000}, 3.0, {.device = kCuda}) * 2;  // once: kernels are loaded
  cuda::synchronize();
  bool overtaken = false;
  Tensor late;
  for (int works = 2; works <= 32 && !overtaken; works *= 2) {  // others may use the device, too
    for (int i = 0; i < works; ++i) late = busy();
    EXPECT_FALSE(own.query()) << "operations return when they are queued";
    const cuda::StreamGuard on(side);
    EXPECT_TRUE(cuda::current_stream() == side);
    const Tensor x = full({1000}, 3.0, {.device = kCuda});
    expect_same(back(x * 2), full({1000}, 6.0));  // waits for the side stream alone
    overtaken = !own.query();
    std::thread([&] { EXPECT_TRUE(cuda::current_stream() == own); }).join();
  }
  EXPECT_TRUE(overtaken);
  EXPECT_TRUE(cuda::current_stream() == own);
  own.synchronize();
  EXPECT_TRUE(own.query());
  EXPECT_NEAR(late.select(0, 0).select(0, 0).item<float>(), 1.0 / 4096, 1e-6);
}

TEST_F(CudaStreams, AnEventOrdersTwoOfThemAndMeasures) {
  if (sanitized()) GTEST_SKIP() << kOneByOne;
  const cuda::Stream a(kCuda), b(kCuda, -1);
  EXPECT_EQ(a.priority(), 0);
  EXPECT_EQ(b.priority(), -1);
  EXPECT_EQ(cuda::Stream(kCuda, 99).priority(), 0);
  Tensor x = zeros({1 << 20}, {.device = kCuda});
  cuda::synchronize();
  cuda::Event begin({.enable_timing = true}), end({.enable_timing = true});
  const auto start = std::chrono::steady_clock::now();
  {
    const cuda::StreamGuard on(a);
    begin.record();
    busy();
    x.fill_(7.0);
    end.record();
  }
  EXPECT_FALSE(end.query());
  Tensor y;
  {
    const cuda::StreamGuard on(b);
    b.wait_event(end);
    y = x + 1;
    EXPECT_FALSE(b.query());
    expect_same(back(y), full({1 << 20}, 8.0));
  }
  EXPECT_TRUE(end.query());
  const double host = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  const double measured = begin.elapsed_time(end);
  EXPECT_GT(measured, 0);
  EXPECT_LE(measured, host);
}

TEST_F(CudaStreams, WorkOfAHigherPriorityOvertakes) {
  if (sanitized()) GTEST_SKIP() << kOneByOne;
  const cuda::Priorities range = cuda::stream_priorities(kCuda);
  if (range.least == range.greatest) GTEST_SKIP() << "the device has no priorities";
  const cuda::Stream low(kCuda, range.least), high(kCuda, range.greatest);
  EXPECT_EQ(low.priority(), range.least);
  EXPECT_EQ(high.priority(), range.greatest);
  const auto work = [](const cuda::Stream& s) {  // as many blocks as keep the device full, again and again
    const cuda::StreamGuard on(s);
    busy();
    return s.record_event({.enable_timing = true});
  };
  work(low), work(high);  // once: libraries and memory
  cuda::synchronize();
  const cuda::Event start = low.record_event({.enable_timing = true});
  const cuda::Event last = work(low), first = work(high);  // the same work, given later
  last.synchronize(), first.synchronize();
  const double a = start.elapsed_time(first), b = start.elapsed_time(last);
  std::printf("priority: queued second, the stream of priority %d is done after %.1f ms, the other one after %.1f ms\n",
              range.greatest, a, b);
  EXPECT_LT(a, b);
}

TEST_F(CudaStreams, DestroyedOnesAreGivenOutAgain) {
  std::set<void*> handles;
  for (int i = 0; i < 500; ++i) {
    const cuda::Stream s(kCuda);
    const cuda::StreamGuard on(s);
    handles.insert(s.handle());
    const Tensor x = ones({100}, {.device = kCuda}) * 2;
  }
  EXPECT_LE(handles.size(), 32u);
}

TEST_F(CudaStreams, BlocksThatAnotherOneReadsAreNotGivenAgainBefore) {
  const cuda::Stream a(kCuda), b(kCuda);
  constexpr int n = 1 << 20;
  Tensor wrong = zeros({}, {.dtype = int64, .device = kCuda});
  cuda::synchronize();
  for (int round = 0; round < 60; ++round) {
    Tensor x;
    {
      const cuda::StreamGuard on(a);
      x = full({n}, double(round), {.device = kCuda});
    }
    b.wait_stream(a);
    Tensor y;
    {
      const cuda::StreamGuard on(b);
      if (round % 20 == 0) busy();
      y = x + 1;
      cuda::record_stream(x, b);
      wrong += sum(y != double(round + 1));
    }
    x = {};
    const cuda::StreamGuard on(a);
    for (int i = 0; i < 3; ++i) full({n}, -1.0, {.device = kCuda});  // would take the block of x
  }
  b.synchronize();
  EXPECT_EQ(wrong.item<std::int64_t>(), 0);
}

TEST_F(CudaStreams, EveryThreadHasItsOwn) {
  std::vector<std::thread> all;
  std::vector<double> got(8);
  for (int t = 0; t < 8; ++t)
    all.emplace_back([t, &got] {
      const cuda::DeviceGuard device(kCuda);
      const cuda::StreamGuard on{cuda::Stream(kCuda)};
      Tensor x = zeros({10000}, {.device = "cuda"});
      for (int i = 0; i < 200; ++i) x += double(t);
      got[std::size_t(t)] = x.sum().item<double>();
    });
  for (std::thread& t : all) t.join();
  for (int t = 0; t < 8; ++t) EXPECT_EQ(got[std::size_t(t)], 2e6 * t);
}

[[noreturn]] void use_all_and_exit() {
  static const cuda::Stream side(kCuda);
  static cuda::Graph graph;
  static Tensor x, pinned = cuda::pin_memory(ones({1000}));
  static const cuda::Event event = [] {
    const cuda::StreamGuard on(side);
    x = to(pinned, {.device = kCuda, .non_blocking = true});
    cuda::record_stream(x, cuda::default_stream());
    return side.record_event();
  }();
  graph.capture([] { x = x * 2; });
  graph.replay();
  std::thread([] { cuda::set_stream(cuda::Stream(kCuda)); }).join();
  std::exit(0);
}
TEST_F(CudaStreams, TheProcessEndsCleanlyWithAllOfThemAlive) {
  if (sanitized()) GTEST_SKIP() << "compute-sanitizer does not follow new processes";
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // in a new process: one that forks cannot use the device
  EXPECT_EXIT(use_all_and_exit(), testing::ExitedWithCode(0), "");
}

TEST_F(CudaStreams, MistakesSayWhatWouldBeRight) {
  cuda::Event a, b({.enable_timing = true});
  EXPECT_TRUE(a.query());
  a.record();
  EXPECT_EQ(error_of<ValueError>([&] { a.elapsed_time(b); }),
            "elapsed_time: expected two events that measure time, got one that does not; make both with enable_timing");
  const Tensor h = ones({2});
  const std::string said = error_of<DeviceError>([&] { cuda::record_stream(h, cuda::current_stream()); });
  EXPECT_EQ(said, "record_stream: expected a tensor on cuda:0, where the stream is, got float32 [2]");
  EXPECT_THROW(cuda::set_device("cuda:99"), DeviceError);
  EXPECT_THROW(cuda::Stream(Device("cuda:99")), DeviceError);
}

using CudaCopies = CudaTest;

TEST_F(CudaCopies, OfEverySizeInEveryDirection) {
  for (const std::int64_t n : {0, 1, 3, 511, 4096, 100003, 1 << 22, 1 << 26}) {
    SCOPED_TRACE(n);
    const Tensor h = arange(n, {.dtype = int32}), p = cuda::pin_memory(h);
    for (const bool non_blocking : {false, true})
      for (const Tensor& from : {h, p}) {
        const Tensor d = to(from, {.device = kCuda, .non_blocking = non_blocking});
        const Tensor e = d.clone();
        Tensor back_there = cuda::empty_pinned({n}, int32);
        copy_(back_there, e, non_blocking);
        cuda::current_stream().synchronize();
        expect_same(back_there, h);
        expect_same(e.to("cpu"), h);
      }
  }
}

TEST_F(CudaCopies, OfAGibibyteKeepEveryByte) {
  const std::int64_t n = 1 << 28;
  const Tensor h = arange(n, {.dtype = int32}), back_here = h.to(kCuda).clone().to(Device());
  EXPECT_EQ(std::memcmp(back_here.const_raw_data(), h.const_raw_data(), h.nbytes()), 0);
}

TEST_F(CudaCopies, FromPinnedMemoryReturnBeforeTheyAreDone) {
  if (sanitized()) GTEST_SKIP() << kOneByOne;
  const cuda::Stream side(kCuda);
  const Tensor p = cuda::pin_memory(arange(1 << 22, {.dtype = float32}));
  Tensor got = cuda::empty_pinned({1 << 22}, float32);
  const cuda::StreamGuard on(side);
  busy();
  const Tensor d = to(p, {.device = kCuda, .non_blocking = true});
  EXPECT_FALSE(side.query());
  copy_(got, d, true);
  EXPECT_FALSE(side.query());
  side.synchronize();
  expect_same(got, p);
  const Tensor e = cuda::to(p, kCuda, side);
  side.synchronize();
  expect_same(back(e), p);
}

TEST_F(CudaCopies, RunBesideWorkOnAnotherStream) {
  if (sanitized()) GTEST_SKIP() << kOneByOne;
  const cuda::EventOptions timed{.enable_timing = true};
  const cuda::Stream compute(kCuda), copies(kCuda);
  const Tensor p = cuda::pin_memory(full({1 << 25}, 1.5));
  Tensor got = cuda::empty_pinned({1 << 25});
  busy();
  cuda::synchronize();
  const cuda::Event start = compute.record_event(timed);
  std::vector<cuda::Event> marks;
  {
    const cuda::StreamGuard on(compute);
    busy();
  }
  const cuda::Event end = compute.record_event(timed);
  {
    const cuda::StreamGuard on(copies);
    marks.push_back(copies.record_event(timed));
    const Tensor d = to(p, {.device = kCuda, .non_blocking = true});
    marks.push_back(copies.record_event(timed));
    copy_(got, d, true);
    marks.push_back(copies.record_event(timed));
  }
  cuda::synchronize();
  expect_same(got, p);
  std::vector<double> at;  // milliseconds after the work began
  for (const cuda::Event& e : marks) at.push_back(start.elapsed_time(e));
  const double done = start.elapsed_time(end);
  std::printf("overlap: work from 0 to %.2f ms, copies there from %.2f to %.2f and back to %.2f ms\n", done, at[0],
              at[1], at[2]);
  EXPECT_LT(at[2], done);
}

TEST_F(CudaCopies, TheSourceMayBeWrittenAfterOneThatIsNotAskedToReturnEarly) {
  for (const bool pinned : {false, true}) {
    SCOPED_TRACE(pinned);
    for (const std::int64_t n : {16, 10000, 1 << 22}) {
      Tensor h = full({n}, 1.0);
      if (pinned) h = cuda::pin_memory(h);
      busy();
      const Tensor d = h.to(kCuda);
      h.fill_(2.0);
      expect_same(back(d), full({n}, 1.0));
    }
  }
  Tensor h = full({1000}, 1.0);  // not pinned: as if non_blocking were not asked for
  busy();
  const Tensor d = to(h, {.device = kCuda, .non_blocking = true});
  h.fill_(2.0);
  expect_same(back(d), full({1000}, 1.0));
}

TEST_F(CudaCopies, ConvertAndGatherWithoutWaitingToo) {
  const Tensor p = cuda::pin_memory(arange(60, {.dtype = float64}).reshape({3, 4, 5}));
  for (const Tensor& from : {p, p.transpose(0, 2), p.slice(1, 0, 4, 2)}) {
    const Tensor d = to(from, {.dtype = float32, .device = kCuda, .non_blocking = true});
    cuda::synchronize();
    expect_same(back(d), from.to(float32));
    Tensor into = cuda::pin_memory(zeros({5, 4, 3}, {.dtype = float64})).transpose(0, 2);
    if (from.shape() == into.shape()) copy_(into, d, true), cuda::synchronize(), expect_same(into, from);
  }
}

TEST_F(CudaCopies, APinnedBlockIsGivenAgainOnlyWhenItsCopyIsDone) {
  std::vector<Tensor> all;
  for (int i = 0; i < 30; ++i) {  // each is let go of while its copy waits after the work before
    if (i % 10 == 0) busy();
    Tensor p = cuda::empty_pinned({1 << 18}, float32);
    p.fill_(double(i));
    all.push_back(to(p, {.device = kCuda, .non_blocking = true}));
  }
  for (int i = 0; i < 30; ++i) expect_same(back(all[std::size_t(i)]), full({1 << 18}, double(i)));
  const std::int64_t taken = cuda::pinned_memory().taken;
  for (int i = 0; i < 10; ++i) cuda::empty_pinned({1 << 18}, float32);
  EXPECT_EQ(cuda::pinned_memory().taken, taken) << "blocks are kept";
}

TEST_F(CudaCopies, KnowWhatIsPinned) {
  const Tensor h = arange(5000, {.dtype = float32});
  EXPECT_FALSE(cuda::is_pinned(h));
  const Tensor p = cuda::pin_memory(h);
  EXPECT_TRUE(cuda::is_pinned(p) && cuda::is_pinned(p.slice(0, 10)) && cuda::pin_memory(p).is_same(p));
  expect_same(p, h);
  EXPECT_FALSE(cuda::is_pinned(p.clone()));
  const Tensor big = zeros({1 << 20});
  {
    const cuda::PinnedRange range(big);
    EXPECT_TRUE(cuda::is_pinned(big));
    EXPECT_THROW(cuda::PinnedRange again(big), CudaError);
    const Tensor d = to(big, {.device = kCuda, .non_blocking = true});
    expect_same(back(d), big);
  }
  EXPECT_FALSE(cuda::is_pinned(big));
  EXPECT_THROW(cuda::pin_memory(there(h)), DeviceError);
}

}  // namespace
}  // namespace neura::test
