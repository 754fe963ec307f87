// Kernels of a program's own: given as text, compiled while the program runs, launched like any operation.
#pragma once
#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "neura/cuda/device.h"

namespace neura::cuda {

struct Extent {  // as CUDA's dim3
  std::int64_t x = 1, y = 1, z = 1;
};
struct LaunchSize {
  Extent grid = {}, block = {};  // blocks, and threads of a block; a grid of 0 blocks does nothing
  std::int64_t shared = 0;       // bytes of a block's shared memory, besides what the kernel declares
};

// What a kernel is called with: a tensor, of which it gets the address of the first element; a number, which is
// converted to the parameter's type where that loses nothing but digits of a fraction; or an address in the device's
// memory.
struct KernelArgument {
  enum Kind : std::uint8_t { tensor, boolean, integer, natural, floating, address } kind;
  Tensor t;
  union {
    std::int64_t i;
    std::uint64_t u;
    double d;
    void* p;
  };
  KernelArgument(const Tensor& x) : kind(tensor), t(x), p(nullptr) {}
  template <std::same_as<bool> B> KernelArgument(B b) : kind(boolean), i(b) {}
  template <std::signed_integral T> KernelArgument(T x) : kind(integer), i(x) {}
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) KernelArgument(T x) : kind(natural), u(x) {}
  template <std::floating_point T> KernelArgument(T x) : kind(floating), d(double(x)) {}
  KernelArgument(void* x) : kind(address), p(x) {}
};

//     const cuda::Kernel scale(R"(
//       extern "C" __global__ void scale(float* x, float by, int n) {
//         const int i = blockIdx.x * blockDim.x + threadIdx.x;
//         if (i < n) x[i] *= by;
//       })", "scale");
//     scale({.grid = {(n + 255) / 256}, .block = {256}}, x, 2.5, n);
//
// It runs on the current stream of its tensors' device, or of the current device. What it does is not seen by autograd:
// tensors must need no gradient, and what it writes is not known to have changed. Compiled kernels are kept
// (compile.h). Copies are the same kernel.
class Kernel {
 public:
  // Compiles for the current device. options: NVRTC's, such as "--use_fast_math" or "-I...". CudaError with the
  // compiler's words; DeviceError where there is no CUDA.
  Kernel(std::string source, std::string name, std::vector<std::string> options = {});

  template <std::convertible_to<KernelArgument>... A>
  void operator()(const LaunchSize& size, const A&... arguments) const {
    const KernelArgument all[] = {KernelArgument(arguments)..., KernelArgument(false)};
    launch(size, {all, sizeof...(A)});
  }
  // ValueError, DTypeError, DeviceError, AutogradError: what does not fit is refused before anything is done.
  void launch(const LaunchSize&, std::span<const KernelArgument>) const;
  const std::string& name() const;

 private:
  struct Parts;
  std::shared_ptr<Parts> parts_;
};

}  // namespace neura::cuda
