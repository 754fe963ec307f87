// Devices of CUDA: how many there are, which one this thread means by "cuda", and waiting for one.
#pragma once
#include "neura/core/current_device.h"
#include "neura/core/tensor.h"

namespace neura::cuda {

bool is_available();                          // a device can be used; unavailable() says why not
int device_count();                           // 0 where none can be used
Device current_device();                      // what "cuda" means to this thread
void set_device(Device);                      // DeviceError where it does not exist
void synchronize(Device = current_device());  // until all its work is done

class DeviceGuard {  // makes a device current for this thread, and the old one again
 public:
  explicit DeviceGuard(Device d) : before_(current_device()) { set_device(d); }
  DeviceGuard(const DeviceGuard&) = delete;
  ~DeviceGuard() { set_current_cuda_index(before_.index); }

 private:
  Device before_;
};

}  // namespace neura::cuda
