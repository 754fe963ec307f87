// What the program runs on.
#pragma once
#include <string>

#include "neura/core/device.h"

namespace neura::cli {

std::string processor_name();
std::string instruction_set();    // that the kernels use here
std::string device_name(Device);  // as its maker calls it

}  // namespace neura::cli
