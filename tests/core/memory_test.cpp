// What a program can see of its memory, and give back.
#include "neura/core/memory.h"

#include <gtest/gtest.h>

#include <thread>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/shape/view.h"
#include "tests/support/close.h"

namespace neura {
namespace {

TEST(Memory, AllocatedGrowsAndShrinksWithTensors) {
  for (const std::int64_t n : {10, 1000, 100000, 3000000}) {
    const std::size_t before = memory_allocated();
    Tensor x = zeros({n});
    const std::size_t with = memory_allocated();
    EXPECT_GE(with - before, x.nbytes());
    EXPECT_LE(with - before, x.nbytes() + x.nbytes() / 4 + (std::size_t{2} << 20) * (n > 200000) + 1024);
    const Tensor view = x.slice(0, 0, 5);  // a view, not a copy
    EXPECT_LE(memory_allocated() - with, 512u);
    EXPECT_EQ(view.impl()->storage->bytes, x.nbytes());
    x = {};
    EXPECT_GT(memory_allocated(), before);  // the view keeps its bytes
  }
}

TEST(Memory, EverythingComesBack) {
  const std::size_t before = memory_allocated();
  {
    Tensor x = zeros({50000}).requires_grad_(), y = x * x + 1;
    EXPECT_GT(memory_allocated(), before + 2 * x.nbytes());
    std::thread([t = y.detach()]() mutable { t = t + 1; }).join();  // blocks that another thread takes and returns
  }
  EXPECT_EQ(memory_allocated(), before);
}

TEST(Memory, PeakReservedAndCache) {
  const Tensor small = zeros({8});  // small tensors have pages of their own, which the first one takes
  empty_cache();
  reset_peak_memory_stats();
  const std::size_t allocated = memory_allocated(), reserved = memory_reserved(), peak = max_memory_allocated();
  EXPECT_GE(reserved, allocated);
  EXPECT_GE(peak, allocated);
  { const Tensor x = zeros({8 << 20}); }  // 32 MiB
  EXPECT_EQ(memory_allocated(), allocated);
  EXPECT_EQ(max_memory_allocated(), peak + (std::size_t{32} << 20));
  EXPECT_EQ(memory_reserved(), reserved + (std::size_t{32} << 20));  // kept for the next tensor
  empty_cache();
  EXPECT_EQ(memory_reserved(), reserved);
  reset_peak_memory_stats();
  EXPECT_EQ(max_memory_allocated(), peak);
}

TEST(Memory, OfADeviceThatIsNotThere) {
  const std::string said = test::error_of<DeviceError>([] { (void)memory_allocated("cuda:99"); });
  EXPECT_EQ(said.find("device: expected "), 0u) << said;
  EXPECT_NE(said.find("cuda:99"), said.npos) << said;
  EXPECT_THROW((void)memory_reserved("cuda:99"), DeviceError);
  EXPECT_THROW((void)max_memory_allocated("cuda:99"), DeviceError);
  EXPECT_THROW(reset_peak_memory_stats("cuda:99"), DeviceError);
}

}  // namespace
}  // namespace neura
