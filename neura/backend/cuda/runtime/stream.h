// The stream on which this thread works, one for each device.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

namespace neura::cuda {

inline constexpr int kDevices = 16;
int device_count();                      // 0 without driver or device
cudaStream_t current_stream(int index);  // the device's own until set_stream
void set_stream(int index, cudaStream_t);
// What a launch that is being captured adds to the offset of its random draw when it is replayed: a number in the
// device's memory. Null outside of a capture: nothing is added.
const std::uint64_t* replay_offset(int index);

}  // namespace neura::cuda
