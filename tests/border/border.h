// What the tests of the border share. The library of tests/border/npu.c is named by NEURA_BACKENDS (border.cpp).
#pragma once
#include "neura/op/border.h"
#include "tests/support/close.h"

namespace neura::test {

long long kernel_calls();    // of "npu"
void let_npu_fail(bool on);  // memory and kernels

// How often the host computed the operation instead of the device type, since the last reset.
std::int64_t fallbacks(const std::string& device, const std::string& operation);

// A table that a program registers by itself, in ordinary memory.
neura_device_type plain_type(const char* name);
std::string refusal_of(const neura_device_type&);  // what neura_add_device_type says; "" where it takes it

}  // namespace neura::test
