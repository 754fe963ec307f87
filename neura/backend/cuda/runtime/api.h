// The parts of this back end that backend.cpp puts together.
#pragma once
#include "neura/core/device_api.h"

namespace neura {
struct Plan;
struct View;
}  // namespace neura

namespace neura::cuda {
const DeviceApi& api();
}  // namespace neura::cuda
