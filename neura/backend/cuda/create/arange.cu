// arange and linspace, bit for bit as on the cpu: products are rounded before sums, without fused multiply-add.
#include "neura/backend/cuda/runtime/failure.h"
#include "neura/backend/cuda/runtime/memory.cuh"
#include "neura/backend/cuda/create/arange.h"
#include "neura/backend/cuda/runtime/stream.h"

namespace neura::cuda {
namespace {

struct Job {
  EvenlySpaced p;
  char* out;
  std::int64_t n;
  DType dtype;
  std::uint8_t bytes;
  bool whole;  // of an integral dtype: fractions are cut off
};

// step i, a complex product with a real number
__device__ complex<double> times(const double (&step)[2], double i) {
  return {__dsub_rn(__dmul_rn(step[0], i), __dmul_rn(step[1], 0.0)),
          __dadd_rn(__dmul_rn(step[0], 0.0), __dmul_rn(step[1], i))};
}
__global__ void __launch_bounds__(kThreads) lay(const __grid_constant__ Job a) {
  const std::int64_t i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= a.n) return;
  const EvenlySpaced& p = a.p;
  char* const to = a.out + i * a.bytes;
  if (p.kind == EvenlySpaced::integers)
    return store_one<int64_t>(to, a.dtype, int64_t(std::uint64_t(p.first) + std::uint64_t(p.by) * std::uint64_t(i)));
  const bool back = i >= p.back;
  const double k = double(back ? a.n - 1 - i : i);
  if (p.kind == EvenlySpaced::complexes) {
    const complex<double> d = times(p.step, k);
    return store_one<complex<double>>(to, a.dtype,
                                      back ? complex<double>(__dsub_rn(p.end[0], d.re), __dsub_rn(p.end[1], d.im))
                                           : complex<double>(__dadd_rn(p.start[0], d.re), __dadd_rn(p.start[1], d.im)));
  }
  const double d = __dmul_rn(p.step[0], k), v = back ? __dsub_rn(p.end[0], d) : __dadd_rn(p.start[0], d);
  if (a.whole) store_one<int64_t>(to, a.dtype, int64_t(v));
  else store_one<double>(to, a.dtype, v);
}

}  // namespace

void arange(Context& c, const EvenlySpaced& p, View out) {
  if (!out.numel()) return;
  const OnDevice on(c.device.index);
  const DType d = out.dtype();
  const bool whole = is_integral(d) && d != DType::boolean;
  const Job a{p, out.data, out.numel(), d, std::uint8_t(size_of(d)), whole};
  const auto blocks = std::uint32_t((a.n + kThreads - 1) / kThreads);
  lay<<<blocks, kThreads, 0, current_stream(c.device.index)>>>(a);
  c.fail(launched(c.device.index));
}

}  // namespace neura::cuda
