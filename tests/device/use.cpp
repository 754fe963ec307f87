// The tests of this folder run with the device for tests as their CUDA back end.
#include <cstdlib>

[[maybe_unused]] static const bool used = (setenv("NEURA_CUDA_LIBRARY", NEURA_HOST_DEVICE, 1), true);
