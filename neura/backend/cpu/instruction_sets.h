// The instruction sets the kernels are compiled for. Tests run all that the machine has; NEURA_CPU=<name> (the start of
// it, in lower case: avx2, avx3, scalar) forces one.
#pragma once

namespace neura {

int cpu_targets();                // how many this machine can run, best first
const char* use_cpu_target(int);  // kernels of that one from now on; returns its name. -1: the best again
void apply_cpu_setting();         // as NEURA_CPU says

}  // namespace neura
