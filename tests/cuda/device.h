// Tests that need a CUDA device: they are skipped, with the reason, where there is none.
#pragma once
#include <cstdlib>

#include "neura/backend/plugin.h"
#include "tests/support/close.h"

namespace neura::test {

// Under compute-sanitizer, as tools/gpu_check.sh says, the device computes a hundred times slower, one kernel after the
// other: nothing can be said of what runs beside what.
inline bool sanitized() { return std::getenv("NEURA_SANITIZER"); }
inline constexpr const char* kOneByOne = "under compute-sanitizer kernels run one by one";

class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = unavailable(DeviceType::cuda); !why.empty()) GTEST_SKIP() << why;
  }
};
inline const Device kCuda = Device("cuda");
inline Tensor there(const Tensor& t) { return t.to(kCuda); }
inline Tensor back(const Tensor& t) {
  EXPECT_EQ(t.device(), kCuda);
  return t.to(Device());
}

}  // namespace neura::test
