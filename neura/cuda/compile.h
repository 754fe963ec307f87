// CUDA C++ to machine code while the program runs, by NVRTC: a library of the CUDA toolkit that is loaded when
// something is first compiled. Used by kernels of a program's own (kernel.h); it needs no device.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace neura::cuda {

struct CompiledKernel {
  std::string name;             // in the code: mangled, if it is a template's
  std::vector<int> parameters;  // see ParameterKind
  std::string code;             // what a device loads
};

// Numbers in the code of a parameter: a kind and a size in bytes, and kPointer more for a pointer to that.
struct ParameterKind {
  static constexpr int other = 0, boolean = 1, integer = 32, natural = 64, floating = 96, pointer = 1000;
};

// The kernel `name` of the source (a template's with its arguments: "scale<float>") for an architecture such as
// "sm_90", unless `options` (of NVRTC) choose another one. headers: what the source may include by name. What was
// compiled before is found in memory, or in a file (kernel_file.h); code that includes files of the program's own is
// not kept in one, since these may change. Threads compile different kernels at one time, and wait for equal ones.
// CudaError with the compiler's words, or where there is no NVRTC.
struct KernelHeader {
  const char *name, *text;
};
std::shared_ptr<const CompiledKernel> compile_kernel(const std::string& source, const std::string& name,
                                                     const std::vector<std::string>& options,
                                                     const std::string& architecture,
                                                     std::span<const KernelHeader> headers = {});

struct CompileCounts {
  std::int64_t compiled, remembered, read;  // so far: by NVRTC; found in memory; found in a file
};
CompileCounts compile_counts();
std::string nvrtc_version();  // "13.0"; empty if it cannot be loaded

}  // namespace neura::cuda
