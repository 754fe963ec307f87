// Compiled functions on a device: what waits there, for what it runs, and that nobody sees a difference.
#include "neura/graph/window.h"

#include <thread>

#include "neura/core/pending.h"
#include "neura/cuda/device.h"
#include "neura/cuda/event.h"
#include "neura/cuda/stream.h"
#include "tests/device/device.h"
#include "tests/support/window_functions.h"

namespace neura::test {
namespace {

class DeviceWindow : public testing::Test {
 protected:
  void SetUp() override { graph::reset_explanation(); }
};
bool is_waiting(const Tensor& t) { return is_promise(t.impl()->storage); }

TEST_F(DeviceWindow, GivesTheBitsOfEager) {
  for (const WindowFunction& f : window_functions()) {
    const auto want = f.run(kDevice), got = compiled(f.run)(kDevice);
    ASSERT_EQ(got.size(), want.size()) << f.name;
    for (std::size_t i = 0; i < want.size(); ++i)
      expect_same(got[i].to(Device()), want[i].to(Device()), f.name, int(i));
  }
  EXPECT_GT(graph::explanation().fused, 5);
}

TEST_F(DeviceWindow, GivesTheBitsOfEagerOfRandomFunctions) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto want = random_chain(kDevice, seed),
               got = compiled([&](Device d) { return random_chain(d, seed); })(kDevice);
    ASSERT_EQ(got.size(), want.size()) << seed;
    for (std::size_t i = 0; i < want.size(); ++i)
      expect_same(got[i].to(Device()), want[i].to(Device()), "seed", int(seed));
  }
}

TEST_F(DeviceWindow, RunsBeforeWhatIsAskedOfStreamsAndEvents) {
  const Tensor x = sample_on(kDevice, {40});
  const cuda::Stream side(kDevice);
  const auto after = [&](const char* what, const std::function<void()>& ask) {
    graph::compile([&] {
      const Tensor y = exp(x) * 2.0;
      EXPECT_TRUE(is_waiting(y)) << what;
      ask();
      EXPECT_FALSE(is_waiting(y)) << what;
    })();
  };
  after("another stream", [&] { const cuda::StreamGuard on(side); });
  after("an event", [] { cuda::Event().record(cuda::current_stream(kDevice)); });
  after("a wait", [] { cuda::synchronize(kDevice); });
  after("a stream's wait", [&] { side.wait_stream(cuda::current_stream(kDevice)); });
  EXPECT_EQ(graph::explanation().flushes.at("a stream is asked"), 4);
}

TEST_F(DeviceWindow, MovesNoMemoryThatItReads) {
  Tensor x = sample_on(kDevice, {40});
  const void* const at = x.impl()->data();
  const Tensor was = x.clone();
  Tensor y;
  graph::compile([&] {
    y = exp(x) * 2.0;
    add_(x, 1.0);
  })();
  EXPECT_EQ(x.impl()->data(), at);
  expect_same(y.to(Device()), (exp(was) * 2.0).to(Device()));
  expect_same(x.to(Device()), (was + 1.0).to(Device()));
}

// What has read it waits still: the other thread's write goes to memory of its own.
TEST_F(DeviceWindow, KeepsValuesThatAnotherThreadOverwrites) {
  Tensor x = sample_on(kDevice, {40});
  const Tensor was = x.clone();
  Tensor y;
  graph::compile([&] {
    y = exp(x) * 2.0;
    std::thread([&] { x.fill_(0.0); }).join();
    EXPECT_TRUE(is_waiting(y));
  })();
  expect_same(y.to(Device()), (exp(was) * 2.0).to(Device()));
  expect_same(x.to(Device()), zeros({40}));
}

TEST_F(DeviceWindow, LeavesOperandsOfTwoDevicesToTheDoor) {
  const Tensor x = sample_on(kDevice, {40}), y = sample_on(kOther, {40});
  const auto f = [&] { return exp(x) + y; };
  EXPECT_EQ(error_of<DeviceError>(graph::compile(f)), error_of<DeviceError>(f));
}

TEST_F(DeviceWindow, LeavesNoMemoryBehind) {
  const Tensor x = sample_on(kDevice, {1000});
  const std::size_t before = memory_allocated(kDevice);
  for (int i = 0; i < 3; ++i) graph::compile([&] { return gelu(x * 2.0 + 1.0); })();
  EXPECT_EQ(memory_allocated(kDevice), before);
}

}  // namespace
}  // namespace neura::test
