// Fourier transforms on CUDA: not there yet.
#include "neura/backend/kernels/fft.h"

#include "neura/backend/cuda/failure.h"

namespace neura::cuda {
namespace {

void absent(Context& c, View, View, const FftShape&) {
  c.fail(fail(DeviceFailure::absent, "expected a tensor on the cpu, got one on cuda; move it with .to(\"cpu\")"));
}

}  // namespace

const fft_kernels* fft() {
  static constexpr fft_kernels table{.complex = absent, .real = absent, .real_inverse = absent};
  return &table;
}

}  // namespace neura::cuda
