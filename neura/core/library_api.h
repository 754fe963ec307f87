// Libraries of a device: those that its kernels come from, and programs' own kernels, compiled while the program runs.
#pragma once
#include "neura/core/device_api.h"

namespace neura {

struct LaunchShape {
  unsigned grid[3], block[3];
  std::size_t shared;  // bytes of a block's shared memory besides what the kernel declares
};

struct LibraryApi {
  bool (*version)(const char* name, int parts[3]);  // of "cuBLAS", "cuDNN"; false where it is not there
  // A kernel of compiled code. It serves every device, and is never unloaded: when the last launch has run is not
  // known.
  Failed (*load)(const void* code, std::size_t bytes, const char* name, void** kernel);
  Failed (*launch)(int index, void* kernel, const LaunchShape&, void** arguments);  // on the current stream
};

}  // namespace neura
