// The stream on which this thread works, one for each device.
#pragma once
#include <cuda_runtime_api.h>

namespace neura::cuda {

inline constexpr int kDevices = 16;
int device_count();                      // 0 without driver or device
cudaStream_t current_stream(int index);  // the device's own until set_stream
void set_stream(int index, cudaStream_t);

}  // namespace neura::cuda
