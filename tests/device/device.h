// What the tests on the device for tests share.
#pragma once
#include "neura/core/tensor.h"
#include "tests/device/host_device.h"
#include "tests/support/close.h"

namespace neura::test {

inline const Device kDevice = Device("cuda:0"), kOther = Device("cuda:1");
inline std::vector<Tensor> moved(const std::vector<Tensor>& all, Device to = kDevice) {
  std::vector<Tensor> there;
  for (const Tensor& t : all) there.push_back(t ? t.to(to) : t);
  return there;
}
// The same bits as `want` has on the cpu, on the device.
inline void expect_there(const Tensor& got, const Tensor& want, const char* file = __builtin_FILE(),
                         int line = __builtin_LINE()) {
  EXPECT_EQ(got.device(), kDevice) << file << ':' << line;
  expect_same(got.detach().to(Device()), want.detach(), file, line);
}

}  // namespace neura::test
