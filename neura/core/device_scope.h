// The device of tensors that are made without one: that of this thread's innermost DeviceScope, else its default
// device, else the cpu.
//     const DeviceScope on("cuda");
//     nn::Linear layer(784, 10);  // its parameters are on cuda:0
#pragma once
#include <optional>
#include <utility>

#include "neura/core/device.h"

namespace neura {

Device default_device();                // the innermost scope's, else the one that was set, else the cpu
std::optional<Device> chosen_device();  // the same, where a scope or a set default chose it
// Where this thread makes tensors outside of its scopes; none: on the cpu again.
void set_default_device(std::optional<Device>);

// Scopes of a thread end in the order opposite to that in which they began.
class DeviceScope {
 public:
  explicit DeviceScope(Device);
  DeviceScope(const DeviceScope&) = delete;
  ~DeviceScope();

 private:
  std::optional<Device> before_;
};

// What fn() returns, called within a scope.
template <class F> decltype(auto) with_device(Device device, F&& fn) {
  const DeviceScope on(device);
  return std::forward<F>(fn)();
}

}  // namespace neura
