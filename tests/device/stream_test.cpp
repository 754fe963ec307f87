// Streams, events, pinned memory and the current device, on the device for tests.
#include "neura/cuda/stream.h"

#include <functional>
#include <thread>

#include "neura/cuda/graph.h"
#include "neura/cuda/memory.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/create/to.h"
#include "tests/device/device.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

TEST(DeviceStreams, EachThreadHasACurrentOneForEachDevice) {
  const cuda::Stream own = cuda::current_stream(kDevice), other = cuda::current_stream(kOther), side(kDevice, -3);
  EXPECT_TRUE(own == cuda::default_stream(kDevice) && own != other && own != side);
  EXPECT_TRUE(side.priority() == -3 && side.device() == kDevice && cuda::Stream(kOther, -99).priority() == -5);
  {
    const cuda::StreamGuard on(side);
    EXPECT_TRUE(cuda::current_stream(kDevice) == side && cuda::current_stream(kOther) == other);
    EXPECT_EQ(cuda::current_stream(kDevice).priority(), -3) << "it is the same, not only a name of it";
    std::thread([&] { EXPECT_TRUE(cuda::current_stream(kDevice) == own); }).join();
    expect_there(ones({3}, {.device = kDevice}) * 2, full({3}, 2.0));
  }
  EXPECT_TRUE(cuda::current_stream(kDevice) == own);
  cuda::set_stream(cuda::Stream(kDevice));  // nobody but the thread holds it
  EXPECT_TRUE(cuda::current_stream(kDevice) != own && cuda::current_stream(kDevice).query());
  cuda::set_stream(own);
  own.synchronize(), own.wait_stream(side);
}

TEST(DeviceEvents, AreDoneUntilTheyAreRecorded) {
  cuda::Event a({.enable_timing = true}), b({.enable_timing = true}), c;
  EXPECT_TRUE(a.query() && !a.recorded() && !a.handle());
  a.synchronize(), a.wait(cuda::current_stream(kDevice));
  EXPECT_EQ(error_of<ValueError>([&] { a.elapsed_time(b); }),
            "elapsed_time: expected two recorded events, got one that is not; call record() on both before");
  EXPECT_EQ(error_of<ValueError>([&] { a.elapsed_time(c); }),
            "elapsed_time: expected two events that measure time, got one that does not; make both with enable_timing");
  a.record(cuda::current_stream(kOther)), b.record(cuda::current_stream(kOther));
  EXPECT_GE(a.elapsed_time(b), 0);
  EXPECT_LE(b.elapsed_time(a), 0);
  const std::string said = error_of<ValueError>([&] { a.record(cuda::current_stream(kDevice)); });
  EXPECT_EQ(said,
            "record: expected a stream of cuda:1, where the event was recorded first, got one of cuda:0; use an event "
            "for each device");
  b.record(cuda::current_stream(kOther));  // again: it moves
  const cuda::Event d = cuda::Stream(kDevice).record_event();
  EXPECT_TRUE(d.recorded() && d.query());
}

TEST(DeviceCurrent, IsWhatItsNameMeansToThisThread) {
  EXPECT_EQ(cuda::device_count(), 2);
  EXPECT_EQ(cuda::current_device(), kDevice);
  {
    const cuda::DeviceGuard on(kOther);
    EXPECT_TRUE(cuda::current_device() == kOther && Device("cuda") == kOther && Device("cuda:0") == kDevice);
    EXPECT_EQ(ones({2}, {.device = "cuda"}).device(), kOther);
    EXPECT_EQ(cuda::current_stream().device(), kOther);
    std::thread([] { EXPECT_EQ(cuda::current_device(), kDevice); }).join();
    EXPECT_THROW(cuda::set_device("cuda:2"), DeviceError);
    EXPECT_EQ(error_of<ValueError>([] { cuda::set_device(Device()); }),
              "set_device: expected a device of CUDA, got cpu");
    EXPECT_EQ(cuda::current_device(), kOther);
  }
  EXPECT_EQ(Device("cuda"), kDevice);
}

TEST(PinnedMemory, IsKnownAndShared) {
  const Tensor h = sample({5, 7});
  EXPECT_FALSE(cuda::is_pinned(h));
  const std::size_t before = cuda::pinned_memory().allocated;
  {
    const Tensor p = cuda::pin_memory(h);
    EXPECT_TRUE(p.device().is_cpu() && cuda::is_pinned(p) && cuda::is_pinned(p.slice(0, 1)));
    EXPECT_TRUE(cuda::pin_memory(p).is_same(p) && !cuda::is_pinned(p.clone()));
    EXPECT_GT(cuda::pinned_memory().allocated, before);
    expect_same(p, h);
    expect_same(cuda::pin_memory(h.t()), h.t());
    EXPECT_EQ(cuda::pin_memory(zeros({0, 3})).shape(), (Shape{0, 3}));
  }
  EXPECT_EQ(cuda::pinned_memory().allocated, before);
  {
    const cuda::PinnedRange range(h);
    EXPECT_TRUE(cuda::is_pinned(h));
    EXPECT_THROW(cuda::PinnedRange again(h), CudaError);
  }
  EXPECT_FALSE(cuda::is_pinned(h));
  EXPECT_EQ(
      error_of<DeviceError>([&] { cuda::pin_memory(h.to(kDevice)); }),
      "pin_memory: expected a tensor on the cpu, got float32 [5, 7] on cuda:0; memory of a device needs no pinning");
}

TEST(PinnedMemory, CopiesNeedNotWaitWhereNothingOfTheCopyGoesAway) {
  const Tensor p = cuda::pin_memory(sample({4, 6}));
  const auto non_blocking = [](const std::function<void()>& f) {
    const std::int64_t before = host_device().non_blocking;
    f();
    return host_device().non_blocking - before;
  };
  Tensor d;
  EXPECT_EQ(non_blocking([&] { d = p.to(kDevice); }), 0);
  EXPECT_EQ(non_blocking([&] { d = to(p, {.device = kDevice, .non_blocking = true}); }), 1);
  expect_there(d, p);
  EXPECT_EQ(non_blocking([&] { d = cuda::to(p, kDevice, cuda::Stream(kDevice)); }), 1);
  Tensor into = cuda::empty_pinned({4, 6});
  EXPECT_EQ(non_blocking([&] { copy_(into, d, true); }), 1);
  expect_same(into, p);
  // What is packed or converted on the host for the copy would be gone before it is read.
  EXPECT_EQ(non_blocking([&] { d = to(p.slice(1, 0, 6, 2), {.device = kDevice, .non_blocking = true}); }), 0);
  EXPECT_EQ(non_blocking([&] { copy_(into, p.to(kDevice).to(float64), true); }), 1) << "converted on the device";
  EXPECT_EQ(non_blocking([&] {
              Tensor t = into.t();
              copy_(t, p.t().contiguous().to(kDevice), true);
            }),
            0);
}

TEST(HostNumbers, GoToADeviceWithoutACopy) {
  const std::int64_t before = host_device().to_device;
  const Tensor x = full({3}, 2.5, {.device = kDevice});
  Tensor y = zeros({2, 2}, {.dtype = int64, .device = kDevice});
  y.fill_(7);
  EXPECT_EQ(host_device().to_device, before);
  expect_there(x, full({3}, 2.5));
  expect_there(y, full({2, 2}, 7, {.dtype = int64}));
  expect_there(full({}, 2.5).to(kDevice), full({}, 2.5));
  expect_there(full({1, 1}, 3.0).to(kDevice), full({1, 1}, 3.0));
}

TEST(DeviceGraphs, AreRefusedWhereADeviceComesWithout) {
  EXPECT_EQ(error_of<NotImplementedError>([] { cuda::Graph graph(kDevice); }),
            "graphs: expected a device that has them, got cuda:0 without; use it as it is");
  EXPECT_EQ(error_of<ValueError>([] { cuda::Stream stream{Device()}; }), "streams: expected a device of CUDA, got cpu");
}

}  // namespace
}  // namespace neura::test
