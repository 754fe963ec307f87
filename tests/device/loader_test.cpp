// Loaders whose batches go to a device: pinned, copied on a stream of their own, in order and whole, whatever the
// number of workers, with errors and early ends. The device's copies are as late as they may be (host_streams.h).
#include "neura/data/loader.h"

#include <chrono>
#include <map>
#include <thread>

#include "neura/cuda/memory.h"
#include "neura/cuda/stream.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/reduce/reduce.h"
#include "tests/device/device.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

using data::DataLoader;
using data::DataLoaderOptions;

data::TensorDataset<2> numbers(std::int64_t n) {
  return data::TensorDataset<2>(arange(n * 8).reshape({n, 8}), arange(n) * 3);
}
std::vector<DataLoaderOptions> ways(Device device) {
  std::vector<DataLoaderOptions> all;
  for (const int workers : {0, 1, 4})
    all.push_back({.batch_size = 7, .shuffle = true, .num_workers = workers, .seed = 5, .device = device});
  all.push_back(all.back());
  all.back().persistent_workers = true;
  return all;
}

TEST(DeviceLoader, BatchesArriveWholeAndInOrder) {
  const auto set = numbers(100);
  for (const DataLoaderOptions& o : ways(kDevice)) {
    SCOPED_TRACE(o.num_workers);
    DataLoaderOptions on_the_cpu = o;
    on_the_cpu.device = Device();
    DataLoader want(set, on_the_cpu), got(set, o);
    for (int epoch = 0; epoch < 3; ++epoch) {
      auto w = want.begin();
      std::int64_t batches = 0;
      for (const auto& [x, y] : got) {
        ASSERT_NE(w, want.end());
        expect_there(x, (*w)[0]);
        expect_there(y, (*w)[1]);
        ++w, ++batches;
      }
      EXPECT_EQ(batches, got.size());
      EXPECT_EQ(w, want.end());
    }
  }
  EXPECT_EQ(host_device().pinned, 0);
}

// What stands in a queue until it is waited for can only be right where the loader has the consumer's stream wait.
TEST(DeviceLoader, TheConsumersStreamWaitsForACopyAndTheHostDoesNot) {
  DataLoader loader(numbers(8), {.batch_size = 4, .device = kDevice});
  const cuda::Stream mine(kDevice);
  const cuda::StreamGuard on(mine);
  const std::int64_t waits = host_device().waits, shared = host_device().shared;
  std::int64_t sum = 0;
  for (const auto& [x, y] : loader) sum += (x.sum() + y.sum()).item<std::int64_t>();
  EXPECT_EQ(sum, 64 * 63 / 2 + 3 * 28);
  EXPECT_EQ(host_device().waits - waits, 2);    // one for each batch
  EXPECT_EQ(host_device().shared - shared, 4);  // each tensor is told of the second stream that uses it
}

TEST(DeviceLoader, TheNextBatchIsOnItsWayWhileOneIsUsed) {
  const std::int64_t before = host_device().to_device;
  DataLoader loader(numbers(40), {.batch_size = 4, .num_workers = 1, .device = kDevice});
  auto batch = loader.begin();
  const auto copies = [&] { return host_device().to_device - before; };
  for (int i = 0; i < 20000 && copies() < 4; ++i)  // two tensors of each batch; those of the second without asking
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GE(copies(), 4);
  EXPECT_EQ((*batch)[1].sum().item<std::int64_t>(), 3 * 6);
}

TEST(DeviceLoader, PinnedBatchesStayOnTheCpu) {
  for (DataLoaderOptions o : ways(Device())) {
    o.pin_memory = true;
    SCOPED_TRACE(o.num_workers);
    DataLoader loader(numbers(20), o);
    for (const auto& [x, y] : loader) {
      EXPECT_TRUE(cuda::is_pinned(x) && cuda::is_pinned(y));
      EXPECT_EQ(x.device(), Device());
      expect_same(x.select(1, 0) * 3, y * 8);
    }
  }
  EXPECT_EQ(host_device().pinned, 0);
}
TEST(DeviceLoader, WithoutTheOptionNothingIsPinned) {
  DataLoader loader(numbers(4), {.batch_size = 2});
  for (const auto& [x, y] : loader) EXPECT_FALSE(cuda::is_pinned(x) || cuda::is_pinned(y));
}

using Item = std::map<std::string, std::pair<Tensor, std::vector<double>>>;
struct Nested {
  std::int64_t size() const { return 6; }
  Item get(std::int64_t i) const { return {{"a", {full({2}, i), {double(i), 0.5}}}}; }
};
TEST(DeviceLoader, TensorsWithinMapsPairsAndListsGoToo) {
  for (int workers : {0, 2}) {
    DataLoader loader(Nested(), {.batch_size = 3, .num_workers = workers, .device = kDevice});
    std::int64_t first = 0;
    for (const auto& batch : loader) {
      const auto& [x, list] = batch.at("a");
      expect_there(x.select(1, 0), arange(first, first + 3));
      ASSERT_EQ(list.size(), 2u);
      expect_there(list[0], arange(first, first + 3).to(float64));
      expect_there(list[1], full({3}, 0.5, {.dtype = float64}));
      first += 3;
    }
  }
}
struct Own {  // puts batches together by itself, in memory that is not pinned
  Tensor operator()(const std::vector<Tensor>& items) const {
    Tensor sum = zeros({2});
    for (const Tensor& t : items) sum = sum + t;
    return sum;
  }
};
struct Pairs {
  std::int64_t size() const { return 4; }
  Tensor get(std::int64_t i) const { return full({2}, double(i)); }
};
TEST(DeviceLoader, ACollateFunctionOfOnesOwnNeedsNoCare) {
  for (const bool device : {false, true}) {
    DataLoader loader(Pairs(), {.batch_size = 2, .device = device ? kDevice : Device(), .pin_memory = true}, Own());
    std::vector<Tensor> got;
    for (const Tensor& t : loader) {
      EXPECT_EQ(t.device(), device ? kDevice : Device());
      EXPECT_EQ(cuda::is_pinned(t), !device);
      got.push_back(t.to(Device()));
    }
    ASSERT_EQ(got.size(), 2u);
    expect_same(got[0], full({2}, 1.0));
    expect_same(got[1], full({2}, 5.0));
  }
}
TEST(DeviceLoader, ADataSetOnTheDeviceIsGatheredThere) {
  const Tensor x = arange(12).to(kDevice);
  const std::int64_t before = host_device().from_device;
  const data::TensorDataset set(x);
  for (int workers : {0, 2}) {
    DataLoader loader(set, {.batch_size = 5, .num_workers = workers, .device = kDevice});
    std::int64_t sum = 0;
    for (const auto& batch : loader) {
      EXPECT_EQ(batch[0].device(), kDevice);
      sum += batch[0].numel();
    }
    EXPECT_EQ(sum, 12);
  }
  EXPECT_EQ(host_device().from_device, before);
}
struct Count {
  struct Iterator {
    std::int64_t next = 0;
    std::optional<Tensor> operator()() { return next < 10 ? std::optional(full({3}, next++)) : std::nullopt; }
  };
  Iterator stream() const { return {}; }
};
TEST(DeviceLoader, StreamsOfItemsGoThereInOrder) {
  for (int workers : {0, 3}) {
    DataLoader loader(Count(), {.batch_size = 4, .num_workers = workers, .device = kDevice});
    std::int64_t first = 0;
    for (const Tensor& batch : loader) {
      const std::int64_t n = std::min<std::int64_t>(4, 10 - first);
      expect_there(batch.select(1, 0), arange(first, first + n));
      first += n;
    }
    EXPECT_EQ(first, 10);
  }
}

struct Failing {
  std::int64_t size() const { return 10; }
  Tensor get(std::int64_t i) const {
    check<ValueError>(i != 6, [] { return "item six"; });
    return full({2}, i);
  }
};
TEST(DeviceLoader, AnErrorComesWhereItsBatchIsAskedForAndTheNextEpochWorks) {
  for (int workers : {0, 3}) {
    DataLoader loader(Failing(), {.batch_size = 2, .num_workers = workers, .device = kDevice});
    for (int epoch = 0; epoch < 2; ++epoch) {
      auto i = loader.begin();
      ++i, ++i;
      EXPECT_EQ(i->sum().item<std::int64_t>(), 2 * (4 + 5));
      EXPECT_EQ(error_of<ValueError>([&] { ++i; }), "DataLoader at item 6, in batch 3: item six");
    }
  }
  EXPECT_EQ(host_device().pinned, 0);
}
TEST(DeviceLoader, NoMemoryOnTheDeviceIsSaidOfItsBatch) {
  for (int workers : {0, 2}) {
    DataLoader loader(numbers(8), {.batch_size = 4, .num_workers = workers, .device = kDevice});
    host_device().memory_fails = true;
    const std::string said = error_of<OutOfMemoryError>([&] { loader.begin(); });
    host_device().memory_fails = false;
    EXPECT_EQ(said.find("DataLoader while batch 0 was sent to cuda:0: "), 0u) << said;
    std::int64_t batches = 0;
    for (const auto& batch : loader) {
      EXPECT_EQ(batch[0].size(0), 4);
      ++batches;
    }
    EXPECT_EQ(batches, 2);
  }
}
TEST(DeviceLoader, EndsEarlyAndGivesItsMemoryBack) {
  const DeviceApi& api = device_api(kDevice);
  DeviceMemory before{}, after{};
  api.memory(0, &before);
  for (const DataLoaderOptions& o : ways(kDevice))
    for (int round = 0; round < 20; ++round) {
      DataLoader loader(numbers(60), o);
      for (const auto& batch : loader) {
        EXPECT_EQ(batch[0].device(), kDevice);
        break;
      }
    }
  api.memory(0, &after);
  EXPECT_EQ(after.allocated, before.allocated);
  EXPECT_EQ(host_device().pinned, 0);
}
TEST(DeviceLoader, ADeviceThatIsNotThereIsSaidAtTheBeginning) {
  DataLoader loader(numbers(8), {.num_workers = 2, .device = "cuda:7"});
  EXPECT_EQ(error_of<DeviceError>([&] { loader.begin(); }), "device: expected cuda:0 to cuda:1, got cuda:7");
}

}  // namespace
}  // namespace neura::test
