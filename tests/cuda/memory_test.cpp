// The allocator of a real device: what it keeps, joins, tells and refuses.
#include "neura/cuda/memory.h"

#include <dlfcn.h>

#include <random>

#include "neura/cuda/stream.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "tests/cuda/device.h"

namespace neura::test {
namespace {

Tensor bytes(std::int64_t n) { return Tensor::empty(Spec::dense(uint8, Shape{n}, kCuda)); }
constexpr std::int64_t MiB = 1 << 20;

// With NEURA_SANITIZER=leaks everything kept is given back at the end, and the device's context ends: what is left then
// is what compute-sanitizer reports. Elsewhere the process ends with caches full, as the driver may be gone before
// them.
class LeaveNothing : public ::testing::Environment {
  void TearDown() override {
    if (!sanitized() || std::getenv("NEURA_SANITIZER") != std::string("leaks")) return;
    cuda::empty_cache();
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!driver) return;
    if (void* const reset = dlsym(driver, "cuDevicePrimaryCtxReset_v2")) reinterpret_cast<int (*)(int)>(reset)(0);
  }
};
[[maybe_unused]] const ::testing::Environment* const leave_nothing =
    ::testing::AddGlobalTestEnvironment(new LeaveNothing);

class CudaMemory : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (!IsSkipped()) cuda::empty_cache();
  }
  void check_snapshot() {
    std::size_t size = 0, used = 0;
    for (const cuda::MemorySegment& s : cuda::memory_snapshot()) {
      size += s.size, used += s.used;
      std::size_t inside = 0;
      const char* at = static_cast<const char*>(s.data);
      for (const auto& b : s.blocks) {
        EXPECT_EQ(b.data, at);
        at += b.size, inside += b.size;
      }
      EXPECT_EQ(inside, s.size);
    }
    const cuda::MemoryStats m = cuda::memory_stats();
    EXPECT_EQ(size, m.reserved);
    EXPECT_EQ(used, m.allocated + m.waiting);
  }
};

TEST_F(CudaMemory, ASecondAllocationOfASizeIsAHit) {
  bytes(3 * MiB);
  const cuda::MemoryStats before = cuda::memory_stats();
  for (int i = 0; i < 100; ++i) bytes(3 * MiB);
  const cuda::MemoryStats after = cuda::memory_stats();
  EXPECT_EQ(after.hits, before.hits + 100);
  EXPECT_EQ(after.misses, before.misses);
  EXPECT_EQ(after.reserved, before.reserved);
  EXPECT_GE(after.largest_free, std::size_t(3 * MiB));
  check_snapshot();
}

TEST_F(CudaMemory, NeighboursAreJoined) {
  // Alternating sizes: without joining, what is left of the small ones could not hold the large one.
  const cuda::StreamGuard own{cuda::Stream(kCuda)};  // nobody else's blocks are free there
  const std::size_t before = cuda::memory_stats().reserved;
  std::vector<Tensor> small;
  for (int i = 0; i < 10; ++i) small.push_back(bytes(2 * MiB));
  const std::size_t held = cuda::memory_stats().reserved - before;
  check_snapshot();
  small.clear();
  const Tensor large = bytes(20 * MiB);
  EXPECT_EQ(cuda::memory_stats().reserved - before, held);
  EXPECT_EQ(held, std::size_t(20 * MiB));
  check_snapshot();
}

TEST_F(CudaMemory, ALimitIsKept) {
  const std::size_t total = cuda::memory_stats().total, now = cuda::memory_stats().reserved;
  cuda::set_per_process_memory_fraction(double(now + 200 * std::size_t(MiB)) / double(total));
  {
    const Tensor x = bytes(100 * MiB);
    bytes(90 * MiB);
    bytes(95 * MiB);  // only after what is kept has been given back
    const std::string said = error_of<OutOfMemoryError>([] { bytes(150 * MiB); });
    EXPECT_EQ(said.find("allocate: expected 150.00 MiB on cuda:0, got none; "), 0u) << said;
    EXPECT_NE(said.find("are in tensors (the largest: "), said.npos) << said;
    EXPECT_NE(said.find("100.00 MiB"), said.npos) << said;
    EXPECT_NE(said.find("; this process may take "), said.npos) << said;
    EXPECT_GE(cuda::memory_stats().retries, 1);
  }
  cuda::set_per_process_memory_fraction(1);
  bytes(150 * MiB);
  EXPECT_THROW(cuda::set_per_process_memory_fraction(1.5), ValueError);
  EXPECT_THROW(cuda::set_per_process_memory_fraction(0), ValueError);
}

TEST_F(CudaMemory, RandomSizesOnSeveralStreamsLeaveNothing) {
  const std::size_t before = cuda::memory_stats().allocated;
  std::mt19937 random(7);
  const std::vector<cuda::Stream> streams{cuda::current_stream(), cuda::Stream(kCuda), cuda::Stream(kCuda)};
  std::vector<Tensor> alive;
  for (int i = 0; i < 3000; ++i) {
    const cuda::StreamGuard on(streams[random() % 3]);
    if (alive.size() > 50 || (random() % 2 && !alive.empty())) {
      const std::size_t at = random() % alive.size();
      if (random() % 4 == 0) cuda::record_stream(alive[at], streams[random() % 3]);
      std::swap(alive[at], alive.back()), alive.pop_back();
    } else {
      alive.push_back(bytes(1 + random() % (random() % 3 ? 100000 : 30 * MiB)));
    }
    if (i % 500 == 0) check_snapshot();
  }
  alive.clear();
  cuda::synchronize();
  check_snapshot();
  cuda::empty_cache(kCuda);
  EXPECT_EQ(cuda::memory_stats().allocated, before);
  EXPECT_EQ(cuda::memory_stats().waiting, 0u);
  check_snapshot();
}

TEST_F(CudaMemory, ASecondReleaseChangesNothing) {
  const DeviceApi& api = device_api(kCuda);
  void* data = nullptr;
  std::size_t capacity = 0;
  ASSERT_EQ(api.allocate(0, 1000, &data, &capacity), nullptr);
  EXPECT_GE(capacity, 1000u);
  api.release(0, data);
  const cuda::MemoryStats once = cuda::memory_stats();
  api.release(0, data), api.release(0, &capacity);
  EXPECT_EQ(cuda::memory_stats().allocated, once.allocated);
  check_snapshot();
}

TEST_F(CudaMemory, TheSummaryHasTheFigures) {
  const Tensor x = bytes(64 * MiB);
  const std::string text = cuda::memory_summary();
  EXPECT_EQ(text.find("Memory of cuda:0\n"), 0u) << text;
  for (const char* line : {"in tensors", "taken from the device", "free on the device", "from what was kept"})
    EXPECT_NE(text.find(line), text.npos) << text;
}

}  // namespace
}  // namespace neura::test
